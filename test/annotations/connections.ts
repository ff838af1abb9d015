/** Keys of the ConfigMap about connections. What can be seen of one key alone has a world of its own. */
import { connect as http2Connect } from 'node:http2';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Exchange, Ports } from '../parity/table.ts';
import { host, isKept, isKeptFor, longHeader, startBodies } from './bodies.ts';
import type { AnnotationCase, AnnotationTable, KeyCases } from './table.ts';

const HOST = 'all.bodies.example.com';
const served: AnnotationCase = { url: `http://${HOST}/`, text: 'try 1' };

const KEYS = [
  'keep-alive',
  'keep-alive-requests',
  'client-header-timeout',
  'client-body-timeout',
  'client-header-buffer-size',
  'large-client-header-buffers',
  'http2-max-concurrent-streams',
  'http2-max-field-size',
  'http2-max-header-size',
  'http2-max-requests',
  'upstream-keepalive-connections',
  'upstream-keepalive-time',
  'upstream-keepalive-timeout',
  'upstream-keepalive-requests',
  'grpc-buffer-size-kb',
] as const;

type Key = (typeof KEYS)[number];

function world(title: string, data: Readonly<Record<string, string>>, keys: Partial<Record<Key, Partial<KeyCases>>>) {
  return {
    title: `connections: ${title}`,
    start: () =>
      startBodies(
        [
          host('all'),
          host('short', { 'proxy-read-timeout': '1', 'proxy-send-timeout': '1' }),
          // What fails there ends no connection that another case counts on.
          host('failing', {}, 'other'),
        ],
        data,
      ),
    keys: Object.fromEntries(
      Object.entries(keys).map(([key, cases]) => [`ConfigMap ${key}`, { good: [], default: [], ...cases }]),
    ),
  } satisfies AnnotationTable;
}

/** How many of three requests a connection takes before it ends. */
function takes(expected: number): Exchange {
  return {
    title: `a connection takes ${expected === 3 ? 'three requests' : expected} `,
    run: async ({ httpPort }: Ports) => {
      const request = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`;
      const socket = connect({ host: '127.0.0.1', port: httpPort });
      let text = '';
      const answers = () => text.split('HTTP/1.1 200').length - 1;
      try {
        for await (const _ of chunks(socket, request, (chunk) => {
          text += chunk;
        }))
          if (answers() === 3) break;
      } catch {
        // It ended while the next request was on its way, which is an end like any other.
      }
      socket.destroy();
      return answers();
    },
    expected,
  };
}

/** Writes a request whenever an answer has come, until the connection ends. */
async function* chunks(socket: ReturnType<typeof connect>, request: string, onText: (text: string) => void) {
  socket.write(request);
  socket.setEncoding('utf8');
  for await (const chunk of socket) {
    onText(String(chunk));
    yield;
    if (String(chunk).includes('try 1')) socket.write(request);
  }
}

/** Whether a connection on which only a part of the headers comes has ended after a while. */
function endsSlowHeaders(expected: boolean): Exchange {
  return {
    title: `headers that do not end ${expected ? 'end the connection' : 'are waited for'}`,
    run: async ({ httpPort }: Ports) => {
      const socket = connect({ host: '127.0.0.1', port: httpPort });
      const ended = new Promise<boolean>((resolve) => {
        socket.on('close', () => resolve(true)).on('error', () => resolve(true));
      });
      socket.resume().write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n`);
      const result = await Promise.race([ended, delay(expected ? 10_000 : 1500, false)]);
      socket.destroy();
      return result;
    },
    expected,
  };
}

/** The status of a request whose body has a pause in it. */
function pausedBody(name: string, pauseMs: number): Exchange {
  return {
    title: `${name}: a pause of ${pauseMs} ms in a body`,
    run: async ({ httpPort }: Ports) => {
      const socket = connect({ host: '127.0.0.1', port: httpPort });
      socket.write(`POST / HTTP/1.1\r\nHost: ${name}.bodies.example.com\r\nContent-Length: 2\r\n\r\nx`);
      await delay(pauseMs);
      socket.setEncoding('utf8').on('error', () => {});
      socket.write('x');
      const [first] = await new Promise<string[]>((resolve) => {
        socket.once('data', (text: string) => resolve(text.split('\r\n'))).once('close', () => resolve([]));
      });
      socket.destroy();
      return first;
    },
    expected: 'HTTP/1.1 200 OK',
  };
}

/** How many requests an HTTP/2 connection may have in flight. */
function streams(expected: number): Exchange {
  return {
    title: `${expected} requests in flight`,
    run: async ({ httpsPort }: Ports) => {
      const session = http2Connect(`https://127.0.0.1:${httpsPort}`, { rejectUnauthorized: false });
      const settings = await new Promise<{ maxConcurrentStreams?: number | undefined }>((resolve, reject) => {
        session.on('remoteSettings', resolve).on('error', reject);
      });
      session.destroy();
      return settings.maxConcurrentStreams;
    },
    expected,
  };
}

/** A request with so many header lines of so many bytes. */
function headers(number: number, bytes: number, status: number, differs?: 'longHeader'): AnnotationCase {
  const lines = Array.from({ length: number }, (_, index) => [`x-long-${index}`, 'x'.repeat(bytes)]);
  return {
    url: `http://${HOST}/`,
    headers: Object.fromEntries(lines),
    status,
    because: `${number} headers of ${bytes} bytes`,
    ...(differs !== undefined && { differs, nginx: { status: 400 } }),
  };
}

const byDefault = (kind: 'bad' | 'default'): Partial<Record<Key, Partial<KeyCases>>> =>
  Object.fromEntries(
    Object.entries({
      'keep-alive': [takes(3)],
      'keep-alive-requests': [takes(3)],
      'client-header-timeout': [endsSlowHeaders(false)],
      'client-body-timeout': [pausedBody('all', 500)],
      'client-header-buffer-size': [headers(1, 3000, 200)],
      'large-client-header-buffers': [headers(1, 12_000, 200, 'longHeader'), headers(5, 8000, 400)],
      'http2-max-concurrent-streams': [streams(128)],
      'http2-max-field-size': [served],
      'http2-max-header-size': [served],
      'http2-max-requests': [served],
      'upstream-keepalive-connections': [isKept('all', true)],
      'upstream-keepalive-time': [isKept('all', true)],
      'upstream-keepalive-timeout': [isKept('all', true)],
      'upstream-keepalive-requests': [isKept('all', true)],
      'grpc-buffer-size-kb': [longHeader('failing', 100_000, 502)],
    }).map(([key, cases]) => [key, { [kind]: cases }]),
  );

export const connections: readonly AnnotationTable[] = [
  world(
    'of clients',
    {
      'keep-alive': '20',
      'keep-alive-requests': '2',
      'client-header-timeout': '1',
      'client-body-timeout': '90',
      'client-header-buffer-size': '4k',
      'large-client-header-buffers': '6 16k',
      'http2-max-concurrent-streams': '7',
      'http2-max-field-size': '8k',
      'http2-max-header-size': '32k',
      'http2-max-requests': '10',
    },
    {
      'keep-alive-requests': { good: [takes(2)] },
      'client-header-timeout': { good: [endsSlowHeaders(true)] },
      'client-body-timeout': { good: [pausedBody('short', 2300)] },
      'client-header-buffer-size': { good: [headers(1, 3000, 200)] },
      'large-client-header-buffers': { good: [headers(5, 12_000, 200), headers(8, 14_000, 400)] },
      'http2-max-concurrent-streams': { good: [streams(7)] },
      'http2-max-field-size': { good: [served] },
      'http2-max-header-size': { good: [served] },
      'http2-max-requests': { good: [served] },
    },
  ),
  world(
    'none is kept',
    { 'keep-alive': '0', 'upstream-keepalive-connections': '0', 'grpc-buffer-size-kb': '128' },
    {
      'keep-alive': { good: [takes(1)] },
      'upstream-keepalive-connections': { good: [isKept('all', false)] },
      'grpc-buffer-size-kb': { good: [longHeader('all', 2000, 200)] },
    },
  ),
  world(
    'one request for each to backends',
    { 'upstream-keepalive-requests': '1' },
    { 'upstream-keepalive-requests': { good: [isKept('all', false)] } },
  ),
  world(
    'to backends rest for a second',
    { 'upstream-keepalive-timeout': '1' },
    { 'upstream-keepalive-timeout': { good: [isKeptFor('all', 1300, false)] } },
  ),
  world(
    'to backends become a second old',
    { 'upstream-keepalive-time': '1s' },
    { 'upstream-keepalive-time': { good: [isKeptFor('all', 1300, false)] } },
  ),
  world('by default', {}, byDefault('default')),
  world('values that nobody can read', Object.fromEntries(KEYS.map((key) => [key, '1 s'])), byDefault('bad')),
];
