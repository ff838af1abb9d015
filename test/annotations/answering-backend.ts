import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Backend, startBackend } from '../support/backend.ts';

/** A backend that answers what it received, with the headers that the request asks for. */
export function startAnsweringBackend(name: string): Promise<Backend> {
  return startBackend(name, (request, response) => answer(name, request, response));
}

/** Headers for a request to that backend: each of these stands in its answer, one line for each value. */
export function asksFor(headers: Readonly<Record<string, string | readonly string[]>>): {
  readonly 'x-answer': string;
} {
  return { 'x-answer': JSON.stringify(headers) };
}

function answer(backend: string, { method, url, headers }: IncomingMessage, response: ServerResponse): void {
  const wanted = JSON.parse(String(headers['x-answer'] ?? '{}')) as Record<string, string | string[]>;
  response.setHeader('content-type', 'application/json');
  for (const [name, value] of Object.entries(wanted)) response.setHeader(name, value);
  response.end(JSON.stringify({ backend, method, url, headers, body: '' }));
}
