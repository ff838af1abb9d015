/** What tables about bodies have in common: a backend that does as the path says. */
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Exchange, Ports, World } from '../parity/table.ts';
import { startBackend } from '../support/backend.ts';
import { configMap, ingress, type Manifest, service } from '../support/manifests.ts';
import { annotated } from './table.ts';

/** @param to the Service: `web` with two endpoints, or `other` with one */
export function host(
  name: string,
  annotations: Readonly<Record<string, string>> = {},
  to: 'web' | 'other' = 'web',
): Manifest {
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: `${name}.bodies.example.com`, paths: [{ path: '/', service: `${to}:80` }] }],
  });
}

/**
 * Three endpoints. `/header/N` has a header of N bytes, `/download/N` a body of N; `/socket` says by which connection it was asked,
 * `/reset/1` ends the connection of the first try of a request; all others say how the body came.
 */
export async function startBodies(
  manifests: readonly Manifest[],
  data?: Readonly<Record<string, string>>,
): Promise<World> {
  const tries = new Map<string, number>();
  const answer = (request: IncomingMessage, response: ServerResponse, bytes: number) => {
    const [, what = '', count = ''] = request.url?.split('/') ?? [];
    const id = String(request.headers['x-request-id']);
    const number = (tries.get(id) ?? 0) + 1;
    tries.set(id, number);
    if (what === 'reset' && number <= Number(count)) request.socket.destroy();
    else if (what === 'header') response.setHeader('x-long', 'x'.repeat(Number(count))).end('long');
    else if (what === 'download') response.end(`${'x'.repeat(Number(count))} end`);
    else if (what === 'socket') response.end(`${request.socket.localPort} ${request.socket.remotePort}`);
    else response.end(`${bytes} bytes, ${request.headers['transfer-encoding'] ?? 'declared'}, try ${number}`);
  };
  const read = (request: IncomingMessage, response: ServerResponse) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => answer(request, response, bytes));
  };
  const endpoints = await Promise.all(['a', 'b', 'c'].map((name) => startBackend(name, read)));
  return {
    ...(data !== undefined && { build: { configMap: 'default/config' } }),
    close: async () => {
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    },
    manifests: [
      service('web'),
      service('other'),
      ...endpoints.map((endpoint, index) => endpoint.slice(index < 2 ? 'web' : 'other')),
      ...(data === undefined ? [] : [configMap('config', data)]),
      ...manifests,
    ],
  };
}

const at = (name: string) => `${name}.bodies.example.com`;

/** The status of an answer with a header of so many bytes. */
export function longHeader(name: string, bytes: number, expected: number): Exchange {
  return {
    title: `${name}: a header of ${bytes} bytes, ${expected}`,
    run: async ({ httpPort }: Ports) => {
      const { status } = await get(httpPort, at(name), `/header/${bytes}`);
      return status;
    },
    expected,
  };
}

/** Whether an answer of so many kilobytes takes longer than a paced one may. */
export function isPaced(name: string, kilobytes: number, expected: boolean): Exchange {
  return {
    title: `${name}: ${kilobytes} kilobytes are ${expected ? '' : 'not '}paced`,
    run: async ({ httpPort }: Ports) => {
      const { milliseconds } = await get(httpPort, at(name), `/download/${kilobytes * 1024}`);
      return milliseconds > 900;
    },
    expected,
  };
}

/** Whether requests one after another come by the same connection. Other cases ask the same endpoints meanwhile. */
export function isKept(name: string, expected: boolean): Exchange {
  return {
    title: `${name}: connections to backends are ${expected ? '' : 'not '}kept`,
    run: async ({ httpPort }: Ports) => {
      const seen = new Set<string>();
      for (let index = 0; index < 30; index++) {
        const { body } = await get(httpPort, at(name), '/socket');
        if (seen.has(body)) return true;
        seen.add(body);
      }
      return false;
    },
    expected,
  };
}

/** Whether a connection is still used after a while. */
export function isKeptFor(name: string, milliseconds: number, expected: boolean): Exchange {
  return {
    title: `${name}: connections to backends are ${expected ? '' : 'not '}kept for ${milliseconds} ms`,
    run: async ({ httpPort }: Ports) => {
      const some = async () => {
        const sockets: string[] = [];
        while (sockets.length < 10) sockets.push((await get(httpPort, at(name), '/socket')).body);
        return sockets;
      };
      const before = new Set(await some());
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
      // nginx ends a connection that is too old after one more request.
      await some();
      return (await some()).some((socket) => before.has(socket));
    },
    expected,
  };
}

function get(port: number, host: string, path: string) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string; milliseconds: number }>();
  const start = performance.now();
  const options = { host: '127.0.0.1', port, path, headers: { host }, agent: false, maxHeaderSize: 1024 ** 2 };
  const outgoing = httpRequest(options, (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    response.on('error', reject);
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, body, milliseconds: performance.now() - start }),
    );
  });
  outgoing.on('error', reject).end();
  return promise;
}
