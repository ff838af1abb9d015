import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import { parseWebhookAddress } from './address.ts';
import type { Reply } from './reviewer.ts';
import { type AdmissionServer, type AdmissionServerOptions, createAdmissionServer } from './server.ts';

const MIB = 1024 * 1024;
const LIMIT = 9 * MIB;

interface Pair {
  readonly chain: string;
  readonly key: string;
}

let first: Pair;
let second: Pair;
let folder: string;
const servers: AdmissionServer[] = [];

beforeAll(async () => {
  [first, second] = await Promise.all([makePair(['localhost']), makePair(['localhost'])]);
});

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
  rmSync(folder, { recursive: true, force: true });
});

function write(pair: Partial<Pair>): { certificatePath: string; keyPath: string } {
  const paths = { certificatePath: join(folder, 'cert.pem'), keyPath: join(folder, 'key.pem') };
  if (pair.chain !== undefined) writeFileSync(paths.certificatePath, pair.chain);
  if (pair.key !== undefined) writeFileSync(paths.keyPath, pair.key);
  return paths;
}

type Overrides = Partial<AdmissionServerOptions>;

const echoLength: AdmissionServerOptions['review'] = (body) =>
  Promise.resolve({ status: 200, body: JSON.stringify({ bytes: body.length }) });

async function start(overrides: Overrides = {}) {
  folder = mkdtempSync(join(tmpdir(), 'webhook-'));
  const logs: string[] = [];
  const server = createAdmissionServer({
    ...write(first),
    host: '127.0.0.1',
    port: 0,
    review: echoLength,
    onLog: (level, message) => logs.push(`${level}: ${message}`),
    reloadIntervalMs: 20,
    ...overrides,
  });
  servers.push(server);
  const { port } = await server.listen();
  return { server, port, logs };
}

interface PostOptions {
  readonly method?: string;
  readonly path?: string;
  readonly pair?: Pair;
  readonly chunked?: boolean;
  readonly agent?: Agent;
}

function post(port: number, body: string | Buffer, options: PostOptions = {}): Promise<Reply> {
  const { method = 'POST', path = '/networking/v1/ingresses', pair = first, chunked = false, agent } = options;
  // Without either header Node would tell the length by itself.
  const length = chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...{ host: '127.0.0.1', port, method, path, ca: pair.chain, servername: 'localhost' },
        ...{ headers: { 'content-type': 'application/json', ...length }, agent: agent ?? new Agent() },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('it did not happen within 20 s');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const connectRaw = async (port: number): Promise<TLSSocket> => {
  const socket = connect({ host: '127.0.0.1', port, ca: first.chain, servername: 'localhost' });
  await once(socket, 'secureConnect');
  socket.on('error', () => {});
  return socket;
};

describe('requests', () => {
  it.each(['/', '/networking/v1/ingresses?timeout=10s', '/../../etc/passwd', '/%2e%2e/%00'])(
    'are answered on any path: %s',
    async (path) => {
      const { port } = await start();
      expect(await post(port, '{}', { path })).toEqual({ status: 200, body: '{"bytes":2}' });
    },
  );

  it('of other methods are refused', async () => {
    const { port } = await start();
    expect((await post(port, '', { method: 'GET' })).status).toBe(405);
    expect((await post(port, '', { method: 'DELETE' })).status).toBe(405);
  });

  it.each([
    ['one byte below the limit', LIMIT - 1, 200],
    ['the limit', LIMIT, 413],
    ['one byte above', LIMIT + 1, 413],
    ['three times the limit', 3 * LIMIT, 413],
  ])('%s', async (_, length, status) => {
    const { port } = await start();
    const body = Buffer.alloc(length, ' ');
    expect((await post(port, body)).status).toBe(status);
    expect((await post(port, body, { chunked: true })).status).toBe(status);
    expect((await post(port, '{}')).status).toBe(200);
  });

  it('of an announced length beyond all measure are refused before anything is read', async () => {
    const { port } = await start();
    const socket = await connectRaw(port);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n');
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1\.1 413 /);
    await once(socket, 'close');
  });

  it('on one connection, one after another', async () => {
    const { port } = await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const replies = await Promise.all(Array.from({ length: 30 }, () => post(port, '{}', { agent })));
    expect(replies.every(({ status }) => status === 200)).toBe(true);
    agent.destroy();
  });

  it('in parallel', async () => {
    const { port } = await start();
    const replies = await Promise.all(Array.from({ length: 60 }, (_, index) => post(port, ' '.repeat(index))));
    expect(replies.map(({ body }) => JSON.parse(body).bytes)).toEqual(Array.from({ length: 60 }, (_, index) => index));
  });
});

describe('clients that do harm', () => {
  it('slow ones are cut off, and nobody waits for them', async () => {
    const { port } = await start({ requestTimeoutMs: 300 });
    const slow = await Promise.all(Array.from({ length: 20 }, () => connectRaw(port)));
    for (const socket of slow) {
      socket.on('data', () => {});
      socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{');
    }
    expect((await post(port, '{}')).status).toBe(200);
    await Promise.all(slow.map((socket) => socket.closed || once(socket, 'close')));
  });

  it('what large bodies hold together is bounded, and given back', async () => {
    const { port } = await start();
    const almost = LIMIT - 1024;
    const holders = await Promise.all(Array.from({ length: 7 }, () => connectRaw(port)));
    const part = Buffer.alloc(almost, ' ');
    const head = `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${almost + 1}\r\n\r\n`;
    await Promise.all(
      holders.map(
        (socket) =>
          new Promise<void>((resolve) => socket.write(Buffer.concat([Buffer.from(head), part]), () => resolve())),
      ),
    );
    await eventually(async () => (await post(port, part)).status === 503);
    expect((await post(port, '{}')).status).toBe(200);
    for (const socket of holders) socket.destroy();
    await eventually(async () => (await post(port, part)).status === 200);
  });

  it('large bodies one after another are all taken', async () => {
    const { port } = await start();
    const part = Buffer.alloc(LIMIT - 1, ' ');
    for (let count = 0; count < 8; count++) expect((await post(port, part)).status).toBe(200);
  });

  it('a client that leaves ends its review', async () => {
    const started = Promise.withResolvers<AbortSignal>();
    const review: AdmissionServerOptions['review'] = (_, signal) => {
      started.resolve(signal);
      return new Promise(() => {});
    };
    const { port } = await start({ review });
    const socket = await connectRaw(port);
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}');
    const signal = await started.promise;
    expect(signal.aborted).toBe(false);
    socket.destroy();
    await eventually(() => signal.aborted);
  });

  it('many requests on one connection before the first is answered', async () => {
    let reviews = 0;
    const review: AdmissionServerOptions['review'] = () => {
      reviews++;
      return new Promise(() => {});
    };
    const { port } = await start({ review });
    const socket = await connectRaw(port);
    const closed = once(socket, 'close');
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}'.repeat(1000));
    await closed;
    expect(reviews).toBeLessThanOrEqual(8);
  });

  it('no TLS, broken HTTP', async () => {
    const { port, logs } = await start();
    const socket = await connectRaw(port);
    socket.write('NONSENSE\r\n\r\n');
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1\.1 400 /);
    await expect(post(port, '{}', { pair: second })).rejects.toThrow();
    await eventually(() => logs.some((line) => line.startsWith('warn: a TLS handshake with the webhook failed')));
    expect((await post(port, '{}')).status).toBe(200);
  });

  it('a review that fails is an answer that breaks off, and no more', async () => {
    const { port } = await start({ review: () => Promise.reject(new Error('planted')) });
    await expect(post(port, '{}')).rejects.toThrow();
    await expect(post(port, '{}')).rejects.toThrow();
  });
});

describe('the certificate', () => {
  const presents = (port: number, pair: Pair) =>
    post(port, '{}', { pair }).then(
      () => true,
      () => false,
    );

  it('is renewed while requests go on, only as a pair', async () => {
    const { port, logs } = await start();
    const agent = new Agent({ keepAlive: true });
    expect((await post(port, '{}', { agent })).status).toBe(200);
    write({ chain: second.chain });
    await eventually(() => logs.length > 0);
    expect(logs).toEqual([
      expect.stringMatching(/^warn: the webhook keeps its certificate: the key in .*key\.pem does not belong/),
    ]);
    expect(await presents(port, first)).toBe(true);
    write({ key: second.key });
    await eventually(() => presents(port, second));
    expect(logs.filter((line) => line.includes('certificate in'))).toEqual([
      `info: the webhook uses the new certificate in ${join(folder, 'cert.pem')}`,
    ]);
    // A connection that is open goes on.
    expect((await post(port, '{}', { agent })).status).toBe(200);
    agent.destroy();
  });

  it('is followed through the symbolic links of a mounted Secret', async () => {
    folder = mkdtempSync(join(tmpdir(), 'webhook-'));
    const mount = (name: string, pair: Pair) => {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'cert'), pair.chain);
      writeFileSync(join(folder, name, 'key'), pair.key);
      symlinkSync(name, join(folder, 'data_tmp'));
      renameSync(join(folder, 'data_tmp'), join(folder, '..data'));
    };
    mount('..one', first);
    for (const name of ['cert', 'key']) symlinkSync(join('..data', name), join(folder, name));
    const server = createAdmissionServer({
      ...{ certificatePath: join(folder, 'cert'), keyPath: join(folder, 'key'), host: '127.0.0.1', port: 0 },
      ...{ review: echoLength, onLog: () => {}, reloadIntervalMs: 20 },
    });
    servers.push(server);
    const { port } = await server.listen();
    expect(await presents(port, first)).toBe(true);
    mount('..two', second);
    rmSync(join(folder, '..one'), { recursive: true });
    await eventually(() => presents(port, second));
  });

  it('stays when its files are gone or broken, which is said once', async () => {
    const { port, logs } = await start();
    rmSync(join(folder, 'key.pem'));
    await eventually(() => logs.length > 0);
    write({ key: 'no key' });
    await eventually(() => logs.length > 1);
    write({ chain: 'no certificate', key: first.key });
    await eventually(() => logs.length > 2);
    expect(logs.map((line) => line.replaceAll(folder, ''))).toEqual([
      'warn: the webhook keeps its certificate: /key.pem cannot be read (ENOENT)',
      'warn: the webhook keeps its certificate: /key.pem holds no private key in PEM, or an encrypted one',
      'warn: the webhook keeps its certificate: /cert.pem holds no certificate in PEM',
    ]);
    expect(await presents(port, first)).toBe(true);
  });

  it.each([
    ['is missing', () => ({ certificatePath: '/nowhere/cert.pem' }), '/nowhere/cert.pem cannot be read (ENOENT)'],
    ['is of another key', () => write({ key: second.key }), /does not belong to/],
  ])('at the start: %s', async (_, files, message) => {
    folder = mkdtempSync(join(tmpdir(), 'webhook-'));
    const paths = { ...write(first), ...files() };
    const server = createAdmissionServer({ ...paths, host: '127.0.0.1', port: 0, review: echoLength, onLog: () => {} });
    await expect(server.listen()).rejects.toThrow(message);
    await server.close();
  });
});

describe('the address', () => {
  it.each([
    [':8443', { port: 8443 }],
    ['127.0.0.1:8443', { host: '127.0.0.1', port: 8443 }],
    ['[::1]:8443', { host: '::1', port: 8443 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
  ])('%s', (text, address) => {
    expect(parseWebhookAddress(text)).toEqual(address);
  });

  it.each(['', '8443', 'x:', ':65536', ':-1', '::1:8443', 'https://x:8443', ':8443/path'])('%j is none', (text) => {
    expect(() => parseWebhookAddress(text)).toThrow(/is no address such as/);
  });

  it('that is taken is said', async () => {
    const { port } = await start();
    const server = createAdmissionServer({
      ...write(first),
      host: '127.0.0.1',
      port,
      review: echoLength,
      onLog: () => {},
    });
    await expect(server.listen()).rejects.toThrow(`port ${port} is already in use`);
    await server.close();
  });
});

describe('the end', () => {
  it('waits for what is under way, within its grace', async () => {
    const asked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<Reply>();
    const { server, port } = await start({
      review: () => {
        asked.resolve();
        return release.promise;
      },
    });
    const agent = new Agent({ keepAlive: true });
    const reply = post(port, '{}', { agent });
    await asked.promise;
    const closing = server.close({ graceMs: 20_000 });
    await expect(post(port, '{}')).rejects.toThrow();
    release.resolve({ status: 200, body: '{}' });
    expect((await reply).status).toBe(200);
    agent.destroy();
    await closing;
  });

  it('does not wait for ever', async () => {
    const asked = Promise.withResolvers<void>();
    const { server, port } = await start({
      review: () => {
        asked.resolve();
        return new Promise(() => {});
      },
    });
    const reply = post(port, '{}').catch(() => 'broken off');
    await asked.promise;
    await server.close({ graceMs: 10 });
    expect(await reply).toBe('broken off');
  });
});
