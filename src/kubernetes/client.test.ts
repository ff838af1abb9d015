import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import { createKubernetesClient, type KubernetesClient } from './client.ts';
import { KubernetesStatusError, KubernetesUnreachable } from './errors.ts';
import { FakeApiServer } from './testing.ts';

let api: FakeApiServer;
let folder: string;

beforeEach(async () => {
  api = new FakeApiServer();
  await api.listen();
  folder = await mkdtemp(join(tmpdir(), 'kubernetes-client-'));
});

afterEach(async () => {
  await api.close();
  await rm(folder, { recursive: true });
});

interface ConfigParts {
  readonly server?: string;
  readonly cluster?: object;
  readonly user?: object;
  readonly context?: string;
}

/** A kubeconfig file; YAML is JSON too. */
async function writeConfig({ server, cluster, user, context = 'here' }: ConfigParts): Promise<string> {
  const path = join(folder, 'config');
  const config = {
    'current-context': context,
    clusters: [{ name: 'c', cluster: { server: server ?? api.url, ...cluster } }],
    users: [{ name: 'u', user: user ?? {} }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
  };
  await writeFile(path, JSON.stringify(config));
  return path;
}

function fromConfig(kubeconfig: string): KubernetesClient {
  return createKubernetesClient({ kubeconfig, userAgent: 'test' });
}

async function collect(documents: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const document of documents) all.push(document);
  return all;
}

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/a/leases/b';

describe('a request', () => {
  it('carries query, body and headers, and resolves for every status', async () => {
    api.answer = () => ({ status: 409, body: { kind: 'Status', reason: 'Conflict' } });
    const query = { dryRun: 'All', limit: 5, force: true, left: undefined };
    const body = { metadata: { name: 'b' } };
    const contentType = 'application/merge-patch+json';
    const answer = await api.client().request('PATCH', LEASE, { query, body, contentType });
    expect(answer).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
    expect(answer.headers['content-type']).toBe('application/json');
    const [request] = api.requests;
    expect(request).toMatchObject({
      method: 'PATCH',
      path: LEASE,
      query: { dryRun: 'All', limit: '5', force: 'true' },
    });
    expect(JSON.parse(request?.body ?? '')).toEqual(body);
    expect(request?.headers).toMatchObject({ 'content-type': contentType, 'user-agent': 'test' });
    expect(request?.query).not.toHaveProperty('left');
  });

  it('goes to a server below a path', async () => {
    const client = fromConfig(await writeConfig({ server: `${api.url}/k8s/clusters/c-1` }));
    await client.request('GET', '/version');
    expect(api.requests[0]?.path).toBe('/k8s/clusters/c-1/version');
  });

  it.each([
    ['the connection breaks', 'reset', 'not reachable'],
    ['half of the answer comes', 'truncate', 'not reachable'],
    ['the answer is no JSON', { raw: '{"a":' }, '5 characters that are not JSON'],
    ['no answer comes in time', 'hang', 'no answer within 100 ms'],
  ] as const)('rejects when %s', async (_, misbehaviour, message) => {
    api.misbehave = () => misbehaviour;
    const request = api.client().request('GET', '/version', { timeoutMs: 100 });
    await expect(request).rejects.toThrow(KubernetesUnreachable);
    await expect(request).rejects.toThrow(message);
  });

  it('rejects when it is given up, and when nothing listens', async () => {
    const client = api.client();
    api.misbehave = () => 'hang';
    const controller = new AbortController();
    const request = client.request('GET', '/version', { signal: controller.signal });
    controller.abort();
    await expect(request).rejects.toThrow('given up');
    await api.close();
    await expect(client.request('GET', '/version')).rejects.toThrow(
      /127\.0\.0\.1:\d+ is not reachable: .*ECONNREFUSED/,
    );
    await api.listen();
  });

  it('survives that the server closed an idle connection, without sending a change twice', async () => {
    const sockets = new Set<unknown>();
    let received = 0;
    const server = http.createServer((request, response) => {
      received += 1;
      // The second request on a connection never gets an answer.
      if (sockets.has(request.socket)) response.destroy();
      else response.end('fine');
      sockets.add(request.socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const client = createKubernetesClient({ apiserverHost: `http://127.0.0.1:${port}`, userAgent: 'test' });
    await client.request('GET', '/version');
    expect(await client.request('GET', '/version')).toMatchObject({ status: 200, body: 'fine' });
    expect(received).toBe(3);
    await expect(client.request('PUT', '/version', { body: {} })).rejects.toThrow(KubernetesUnreachable);
    expect(received).toBe(4);
    server.closeAllConnections();
    server.close();
  });
});

describe('a watch', () => {
  const options = { query: { watch: true }, signal: new AbortController().signal, idleMs: 5_000 };
  const path = '/api/v1/services';

  it('yields each document, whatever the pieces in which they come, and ends with the server', async () => {
    const text = '{"type":"ADDED","object":{"a":"é"}}\n\n{"type":"BOOKMARK"}\n';
    const server = http.createServer(async (_, response) => {
      for (const byte of Buffer.from(text)) {
        response.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const client = createKubernetesClient({ apiserverHost: `http://127.0.0.1:${port}`, userAgent: 'test' });
    let opened = 0;
    const documents = await collect(client.watch(path, { ...options, onOpen: () => (opened += 1) }));
    expect(documents).toEqual([{ type: 'ADDED', object: { a: 'é' } }, { type: 'BOOKMARK' }]);
    expect(opened).toBe(1);
    server.closeAllConnections();
    server.close();
  });

  it('ends without an error when it is given up', async () => {
    const controller = new AbortController();
    const watching = collect(
      api.client().watch(path, { ...options, signal: controller.signal, onOpen: () => controller.abort() }),
    );
    expect(await watching).toEqual([]);
  });

  it.each([
    ['ends in the middle of a document', { raw: '{"type":"ADDED"}\n{"type"' }, 'in the middle of an event'],
    ['sends no JSON', { raw: 'secret-value\n' }, '12 characters that are not JSON'],
    ['breaks', 'reset', 'not reachable'],
    ['does not begin', 'hang', 'no answer within 200 ms'],
  ] as const)('throws when it %s', async (_, misbehaviour, message) => {
    api.misbehave = () => misbehaviour;
    const watching = collect(api.client().watch(path, { ...options, idleMs: 200 }));
    await expect(watching).rejects.toThrow(KubernetesUnreachable);
    await expect(watching).rejects.toThrow(message);
  });

  it('throws after silence', async () => {
    await expect(collect(api.client().watch(path, { ...options, idleMs: 100 }))).rejects.toThrow('silent for 100 ms');
  });

  it('tells why it is refused, and for how long', async () => {
    api.misbehave = () => ({
      status: 429,
      reason: 'TooManyRequests',
      message: 'slow down',
      headers: { 'Retry-After': '7' },
    });
    const error = await collect(api.client().watch(path, options)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(KubernetesStatusError);
    expect(error).toMatchObject({
      status: 429,
      reason: 'TooManyRequests',
      retryAfterMs: 7000,
      message: 'The API server answered 429: slow down',
    });
  });
});

describe('credentials', () => {
  /** Only this token is valid. */
  const accept = (token: string) => {
    api.misbehave = ({ headers }) => (headers.authorization === `Bearer ${token}` ? undefined : { status: 401 });
    api.answer = () => ({ status: 200, body: {} });
  };

  it('that are no longer valid are read again, and the request is repeated once', async () => {
    const client = fromConfig(await writeConfig({ user: { token: 'first' } }));
    accept('first');
    expect(await client.request('GET', LEASE)).toMatchObject({ status: 200 });
    await writeConfig({ user: { token: 'second' } });
    accept('second');
    expect(await client.request('GET', LEASE)).toMatchObject({ status: 200 });
    expect(api.requests).toHaveLength(3);
    accept('third');
    expect(await client.request('GET', LEASE)).toMatchObject({ status: 401 });
    expect(api.requests).toHaveLength(5);
    await writeConfig({ user: { token: 'third' } });
    const controller = new AbortController();
    const query = { watch: true };
    await collect(
      client.watch('/api/v1/services', {
        query,
        signal: controller.signal,
        idleMs: 1000,
        onOpen: () => controller.abort(),
      }),
    );
    expect(api.requests).toHaveLength(7);
  });

  it('come from token files that are replaced', async () => {
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'first\n');
    const client = fromConfig(await writeConfig({ user: { tokenFile } }));
    accept('first');
    expect(await client.request('GET', LEASE)).toMatchObject({ status: 200 });
    await writeFile(tokenFile, 'second\n');
    accept('second');
    expect(await client.request('GET', LEASE)).toMatchObject({ status: 200 });
  });

  it('come from a plugin, which runs again when they are refused', async () => {
    const plugin = join(folder, 'plugin.mjs');
    const printing = (token: string) =>
      writeFile(plugin, `console.log(JSON.stringify({ status: { token: ${JSON.stringify(token)} } }))`);
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: [plugin] };
    await printing('first');
    const client = fromConfig(await writeConfig({ user: { exec } }));
    accept('first');
    expect(await client.request('GET', LEASE)).toMatchObject({ status: 200 });
    await printing('second');
    accept('second');
    const answers = await Promise.all([1, 2, 3].map(() => client.request('GET', LEASE)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    await writeFile(plugin, 'console.log("token-in-clear")');
    accept('third');
    const failing = client.request('GET', LEASE);
    await expect(failing).rejects.toThrow('what the plugin printed is not JSON');
    await expect(failing).rejects.not.toThrow('token-in-clear');
  });

  it('come from client certificates that are replaced', async () => {
    const [server, first, second] = await Promise.all([
      makePair(['api.test']),
      makePair(['first']),
      makePair(['second']),
    ]);
    const seen: (string | undefined)[] = [];
    const secure = https.createServer(
      { cert: server.chain, key: server.key, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        const { CN } = (request.socket as TLSSocket).getPeerCertificate().subject;
        seen.push(String(CN));
        const status = CN === 'second' ? 200 : 401;
        response.writeHead(status, { 'Content-Type': 'application/json' }).end('{}');
      },
    );
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    const { port } = secure.address() as AddressInfo;
    const [certificate, key] = [join(folder, 'client.crt'), join(folder, 'client.key')];
    await Promise.all([writeFile(certificate, first.chain), writeFile(key, first.key)]);
    const kubeconfig = await writeConfig({
      server: `https://127.0.0.1:${port}`,
      cluster: {
        'certificate-authority-data': Buffer.from(server.chain).toString('base64'),
        'tls-server-name': 'api.test',
      },
      user: { 'client-certificate': 'client.crt', 'client-key': 'client.key' },
    });
    const client = fromConfig(kubeconfig);
    expect(await client.request('GET', LEASE)).toMatchObject({ status: 401 });
    await Promise.all([writeFile(certificate, second.chain), writeFile(key, second.key)]);
    expect(await client.request('GET', LEASE)).toMatchObject({ status: 200 });
    expect(seen.at(-1)).toBe('second');
    const stranger = createKubernetesClient({ apiserverHost: `https://127.0.0.1:${port}`, userAgent: 'test' });
    await expect(stranger.request('GET', LEASE)).rejects.toThrow(/not reachable: self[- ]signed certificate/);
    secure.closeAllConnections();
    secure.close();
  });
});

describe('the configuration', () => {
  it.each([
    ['a file that is missing', async () => join(folder, 'nowhere'), /nowhere cannot be used: ENOENT/],
    ['no YAML', async () => writeText('a: [secret-token'), /config cannot be used: not valid YAML/],
    ['an empty file', async () => writeText(''), /config cannot be used/],
    ['no cluster', async () => writeText('{}'), /config holds no cluster/],
    ['no context', async () => writeConfig({ context: '' }), /current-context is not set/],
    ['another context', async () => writeConfig({ context: 'there' }), /current context "there" .* does not exist/],
    ['no URL', async () => writeConfig({ server: 'api' }), /"api" is no URL of an API server/],
  ])('is refused with its reason: %s', async (_, prepare, message) => {
    const kubeconfig = await prepare();
    const create = () => fromConfig(kubeconfig);
    expect(create).toThrow(message);
    expect(create).toThrow(expect.objectContaining({ name: 'KubernetesConfigError' }));
    expect(create).not.toThrow('secret-token');
  });

  it('is refused for an --apiserver-host that is no URL', () => {
    const create = () => createKubernetesClient({ apiserverHost: 'ftp://api', userAgent: 'test' });
    expect(create).toThrow('--apiserver-host: "ftp://api" is no URL');
  });

  it('takes the server from --apiserver-host and the credentials from --kubeconfig', async () => {
    const kubeconfig = await writeConfig({ server: 'https://192.0.2.1', user: { token: 'mine' } });
    const client = createKubernetesClient({ kubeconfig, apiserverHost: api.url, userAgent: 'test' });
    await client.request('GET', LEASE);
    expect(api.requests[0]?.headers.authorization).toBe('Bearer mine');
  });

  async function writeText(text: string): Promise<string> {
    const path = join(folder, 'config');
    await writeFile(path, text);
    return path;
  }
});
