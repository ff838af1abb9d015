import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../../test/support/command.ts';
import { makePair } from '../../test/support/pki.ts';
import { type CompareArguments, compare } from './compare.ts';
import { argumentsFrom } from './flags/arguments.ts';
import { compareFlags } from './flags/tool-flags.ts';
import { UsageError } from './flags.ts';

interface Proxy {
  readonly url: string;
  readonly asked: string[];
  close(): void;
}

let folder: string;
let old: Proxy;
let same: Proxy;
let other: Proxy;
let secure: Proxy;
let resetting: Proxy;

const standard: RequestListener = (request, response) => {
  if (request.url === '/moved') {
    response.statusCode = 301;
    response.setHeader('location', `http://${request.headers.host}/new`);
  }
  response.setHeader('x-trace', String(Math.random()));
  response.end(`${request.headers.host} ${request.url}`);
};

async function listen(server: Server, scheme: string, asked: string[]): Promise<Proxy> {
  server.on('request', ({ method, url, headers }: IncomingMessage) => asked.push(`${method} ${headers.host} ${url}`));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `${scheme}://127.0.0.1:${port}`, asked, close: () => server.close() };
}

const plain = (listener: RequestListener) => listen(createServer(listener), 'http', []);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'compare-'));
  const { chain: cert, key } = await makePair(['shop.example.com']);
  [old, same, other, resetting, secure] = await Promise.all([
    plain(standard),
    plain(standard),
    plain((request, response) => {
      if (request.url === '/a') response.statusCode = 404;
      response.setHeader('x-trace', '\u001b[2J'.slice(1));
      standard(request, response);
    }),
    plain((request) => request.socket.resetAndDestroy()),
    listen(createTlsServer({ cert, key }, standard) as unknown as Server, 'https', []),
  ]);
});
afterAll(async () => {
  for (const proxy of [old, same, other, resetting, secure]) proxy?.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  for (const { asked } of [old, same, other, resetting, secure]) asked.length = 0;
});

async function file(...lines: string[]): Promise<string> {
  const name = join(folder, 'requests.txt');
  await writeFile(name, lines.join('\n'));
  return name;
}

/** As the command line would give them. */
function argumentsOf(first: string, second: string, given: Partial<CompareArguments>): CompareArguments {
  const defaults = Object.entries(compareFlags).map(([name, flag]) => [
    name,
    'default' in flag ? flag.default : undefined,
  ]);
  const args = argumentsFrom(Object.fromEntries(defaults), compareFlags);
  return { ...args, first, second, ...given } as CompareArguments;
}

/** Exit code and output; what is thrown is the output with code 1. */
async function run(first: string, second: string, given: Partial<CompareArguments>) {
  let output = '';
  try {
    const code = await compare(argumentsOf(first, second, given), (text) => {
      output += text;
    });
    return { code, output };
  } catch (error) {
    return { code: error instanceof UsageError ? 2 : 1, output: (error as Error).message };
  }
}

const NAMED = { host: 'shop.example.com', ignoreHeader: ['X-Trace'] };

async function compared(first: Proxy, second: Proxy, lines: string[], more: Partial<CompareArguments> = {}) {
  return run(first.url, second.url, { requests: await file(...lines), ...NAMED, ...more });
}

describe('compare', () => {
  test('sends each request to both, once, and follows no redirect', async () => {
    const outcome = await compared(old, same, ['GET /a', 'GET /a', 'HEAD /b Host: b.example.com', 'GET /moved']);
    expect(outcome).toEqual({ code: 0, output: '3 equal, 0 different\n' });
    const expected = ['GET shop.example.com /a', 'GET shop.example.com /moved', 'HEAD b.example.com /b'];
    expect([old.asked.toSorted(), same.asked.toSorted()]).toEqual([expected, expected]);
  });

  test('shows what differs, in the order of the requests, and exits with 1', async () => {
    const outcome = await compared(old, other, ['GET /x', 'GET /a', 'GET /y']);
    expect(outcome).toEqual({
      code: 1,
      output: ['GET /a', '  status: 200 | 404', '2 equal, 1 different', ''].join('\n'),
    });
  });

  test('as JSON', async () => {
    const { code, output } = await compared(old, other, ['GET /a', 'POST /a'], { output: 'json' });
    expect(code).toBe(1);
    expect(JSON.parse(output)).toEqual({
      equal: 0,
      different: [{ method: 'GET', path: '/a', differences: [{ what: 'status', first: '200', second: '404' }] }],
      skipped: { 'may change something, see --all-methods': 1 },
    });
  });

  test('sends nothing that changes something, unless told to', async () => {
    const lines = ['POST /a', 'DELETE /a', 'GET /x'];
    expect((await compared(old, same, lines)).output).toBe(
      '1 equal, 0 different; not sent: 2 (may change something, see --all-methods)\n',
    );
    expect(old.asked).toEqual(['GET shop.example.com /x']);
    expect((await compared(old, same, lines, { allMethods: true })).output).toBe('3 equal, 0 different\n');
  });

  test('takes the access log of ingress-nginx', async () => {
    const log = await file(
      '10.0.0.1 - - [29/Nov/2026:20:00:00 +0000] "GET /1 HTTP/1.1" 200 6 "-" "a" 9 0.001 [b] [] 10.0.0.2:80 6 0.1 200 f0',
      '10.0.0.1 - - [29/Nov/2026:20:00:00 +0000] "" 400 0 "-" "-" 0 0.001 [] [] - - - - f1',
    );
    const { output } = await run(old.url, same.url, { accessLog: log, ...NAMED });
    expect(output).toBe('1 equal, 0 different; not sent: 1 (no request in the line)\n');
    expect(old.asked).toEqual(['GET shop.example.com /1']);
  });

  test('trusts a certificate only where it is told to', async () => {
    const refused = await compared(
      old,
      secure,
      Array.from({ length: 50 }, (_, index) => `GET /${index}`),
    );
    expect(refused.code).toBe(1);
    expect(refused.output).toMatch(
      /127\.0\.0\.1:\d+ does not answer: its certificate is self-signed \(see --insecure\)/,
    );
    expect(await compared(old, secure, ['GET /a'], { insecure: true })).toEqual({
      code: 0,
      output: '1 equal, 0 different\n',
    });
  });

  test('says of a dead side that it is dead, and asks no further', async () => {
    const lines = Array.from({ length: 500 }, (_, index) => `GET /${index}`);
    const gone = { ...old, url: 'http://127.0.0.1:1' };
    expect(await compared(old, gone, lines)).toEqual({
      code: 1,
      output: '127.0.0.1:1 does not answer: connection refused',
    });
    expect(old.asked.length).toBeLessThan(20);
    const { output } = await compared(old, resetting, lines);
    expect(output).toMatch(/^\S+ does not answer: connection ended without an answer$/);
  });

  test('a single request without an answer is a difference', async () => {
    const { code, output } = await compared(old, resetting, ['GET /a', 'GET /b']);
    expect([code, output.split('\n')[1]]).toEqual([1, '  answer: status 200 | connection ended without an answer']);
  });

  test('shows nothing that a terminal would obey', async () => {
    const requests = await file('GET /a');
    const { output } = await run(old.url, other.url, { requests });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    expect(output).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
  });

  test.each([
    ['http://a', {}, /give --requests or --access-log/],
    ['http://a', { requests: 'FILE', accessLog: 'FILE' }, /give --requests or --access-log/],
    ['http://a', { requests: '/nowhere' }, /\/nowhere: ENOENT/],
    ['a', { requests: 'FILE' }, /first=a: must be http:/],
    ['http://a/x', { requests: 'FILE' }, /paths belong into the requests/],
    ['http://a', { requests: 'BAD' }, /bad\.txt:2: "a" is no path/],
    ['http://a', { requests: 'FILE', concurrency: 65 }, /--concurrency=65/],
    ['http://a', { requests: 'FILE', maxRequests: 0 }, /--max-requests=0/],
    ['http://a', { requests: 'FILE', requestTimeout: 0 }, /--request-timeout/],
    ['http://a', { requests: 'FILE', header: ['x'] }, /--header=x: must be NAME: VALUE/],
    ['http://a', { requests: 'FILE', header: ['Host: x'] }, /give --host/],
    ['http://a', { requests: 'FILE', header: ['X: \u4e2d'] }, /the value of X/],
    ['http://a', { requests: 'FILE', host: 'a b' }, /--host=a b/],
    ['http://a', { requests: 'EMPTY' }, /no request to send/],
  ] satisfies [string, Partial<CompareArguments>, RegExp][])('%s with %j is refused', async (first, given, message) => {
    const texts: Readonly<Record<string, string>> = { FILE: 'GET /', BAD: 'GET /\nGET a', EMPTY: '# nothing' };
    const { requests = '' } = given as { requests?: string };
    const path = join(folder, `${requests.toLowerCase()}.txt`);
    const text = texts[requests];
    if (text !== undefined) await writeFile(path, text);
    const outcome = await run(first, 'http://b', { ...given, ...(text !== undefined && { requests: path }) });
    expect(outcome).toEqual({ code: 2, output: expect.stringMatching(message) });
  });

  test('is a command', async () => {
    const requests = await file('GET /a');
    const flags = ['--requests', requests, '--ignore-header', 'x-trace', '--header', 'X-A: b', '--ignore-body'];
    expect(await runCommand(['compare', old.url, other.url, ...flags])).toEqual({
      code: 1,
      output: 'GET /a\n  status: 200 | 404\n0 equal, 1 different\n',
    });
  });
});
