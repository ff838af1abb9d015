/** `--http3`, through a real Envoy, asked by another one. */
import { X509Certificate } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasIpv6 } from '../../src/cli/ipv6.ts';
import { drainEnvoy } from '../../src/envoy/drain.ts';
import type { BuildOptions } from '../../src/ingress/build.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../support/gateway.ts';
import { peerCertificate, send, sendHttp2, sendTlsRaw } from '../support/http-client.ts';
import { type Http3Client, startHttp3Client } from '../support/http3-client.ts';
import { configMap, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { ed25519, makePair, type Pair } from '../support/pki.ts';
import { type Services, soon, startServices } from './behaviour/cases.ts';

/** That of a load balancer in front, say. */
const ADVERTISED = 4433;
const ALT_SVC = `h3=":${ADVERTISED}"; ma=86400`;
const HTTP3: Partial<BuildOptions> = { http3: { advertisedPort: ADVERTISED }, configMap: 'default/config' };

let services: Services;
/** Says that it speaks HTTP/3 itself, on a port that no client reaches. */
let boaster: Backend;
/** Of every name that has none of its own. */
let defaultPair: Pair;

beforeAll(async () => {
  services = await startServices('web');
  boaster = await startBackend('boaster', (_, response) => {
    response.setHeader('alt-svc', 'h3=":9999"');
    response.end();
  });
  defaultPair = await makePair([
    'default.example.com',
    'nobody.example.com',
    'vault.example.com',
    'deep.a.wild.example.com',
  ]);
});
afterAll(async () => {
  await services?.close();
  await boaster?.close();
});

function host(
  name: string,
  { secretName, ...more }: { secretName?: string; service?: string; annotations?: Record<string, string> } = {},
): Manifest {
  return ingress({
    name: name.replaceAll('.', '-'),
    rules: [{ host: name, paths: [{ path: '/', service: more.service ?? 'web:80' }] }],
    ...(more.annotations && { annotations: more.annotations }),
    ...(secretName !== undefined && { tls: [{ hosts: [name], secretName }] }),
  });
}

async function start(
  config: Readonly<Record<string, string>>,
  manifests: readonly Manifest[],
  { build, ...more }: GatewayOptions = {},
): Promise<Gateway> {
  return startGateway({
    build: { ...HTTP3, defaultSslCertificate: 'default/everybody', ...build },
    manifests: [
      ...services.manifests,
      tlsSecret('everybody', defaultPair),
      configMap('config', config),
      host('default.example.com'),
      ...manifests,
    ],
    ...more,
  });
}

/** Envoy shares its ports with other Envoys alone. */
async function isOpen(port: number): Promise<boolean> {
  const socket = createSocket('udp4');
  try {
    socket.bind(port, '127.0.0.1');
    await once(socket, 'listening');
    return false;
  } catch {
    return true;
  } finally {
    socket.close();
  }
}

describe('HTTP/3', () => {
  let gateway: Gateway;
  let client: Http3Client;

  beforeAll(async () => {
    const [own, wild] = await Promise.all([makePair(['own.example.com']), makePair(['*.wild.example.com'])]);
    gateway = await start(
      {},
      [
        service('boaster'),
        boaster.slice('boaster'),
        tlsSecret('own', own),
        tlsSecret('wild', wild),
        host('own.example.com', { secretName: 'own' }),
        host('a.wild.example.com', { secretName: 'wild' }),
        host('boaster.example.com', { service: 'boaster:80' }),
        host('closed.example.com', {
          annotations: { 'nginx.ingress.kubernetes.io/whitelist-source-range': '192.0.2.0/24' },
        }),
        host('vault.example.com', { annotations: { 'nginx.ingress.kubernetes.io/ssl-passthrough': 'true' } }),
        host('small.example.com', { annotations: { 'nginx.ingress.kubernetes.io/proxy-body-size': '10' } }),
      ],
      { build: { sslPassthrough: true }, emit: { accessLog: true }, concurrency: 2, drainTimeS: 1 },
    );
    client = await startHttp3Client(gateway.httpsPort);
  });
  afterAll(async () => {
    await client?.stop();
    await gateway?.close();
  });

  test('brings a request to its backend, which is told how it came', async () => {
    const { status, body } = await client.send({
      host: 'own.example.com',
      path: '/a%2Fb?c=d',
      method: 'POST',
      body: 'hello',
      headers: { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'http', 'x-real-ip': '192.0.2.1' },
    });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({
      backend: 'web',
      method: 'POST',
      url: '/a%2Fb?c=d',
      body: 'hello',
      headers: {
        host: 'own.example.com',
        'x-forwarded-for': '127.0.0.1',
        'x-real-ip': '127.0.0.1',
        'x-forwarded-proto': 'https',
        'x-forwarded-port': String(gateway.httpsPort),
        'x-forwarded-scheme': 'https',
      },
    });
  });

  test.each([
    ['own.example.com', 'own.example.com'],
    ['a.wild.example.com', '*.wild.example.com'],
    ['deep.a.wild.example.com', 'default.example.com'],
    ['nobody.example.com', 'default.example.com'],
  ])('shows %s the certificate of %s', async (serverName, name) => {
    const { certificate } = await client.send({ host: serverName, fresh: true });
    expect(certificate.subject).toBe(`CN=${name}`);
  });

  test('serves every host by every server name', async () => {
    const { status, certificate } = await client.send({ host: 'a.wild.example.com', serverName: 'own.example.com' });
    expect([status, certificate.subject]).toEqual([200, 'CN=own.example.com']);
  });

  test.each([
    ['closed.example.com', 403, ''],
    ['small.example.com', 413, 'more than ten bytes'],
  ])('protects %s', async (name, status, body) => {
    const request = { host: name, serverName: 'own.example.com', method: 'POST', body };
    expect((await client.send(request)).status).toBe(status);
  });

  test('serves no host whose TLS is passed through', async () => {
    const { status, certificate } = await client.send({ host: 'vault.example.com' });
    expect([status, certificate.subject]).toEqual([421, 'CN=default.example.com']);
  });

  test('stands in the access log', async () => {
    await client.send({ host: 'own.example.com', path: '/logged' });
    await soon(async () => gateway.log()).toContain('"GET /logged HTTP/3.0" 200');
  });

  test('is told of by answers over TLS, whoever gives them, in place of what a backend says', async () => {
    const port = gateway.httpsPort;
    const answers = await Promise.all([
      send({ port, tls: true, host: 'own.example.com' }),
      send({ port, tls: true, host: 'unknown.example.com' }),
      send({ port, tls: true, host: 'boaster.example.com' }),
      sendHttp2({ port, host: 'own.example.com' }),
      client.send({ host: 'own.example.com' }),
    ]);
    expect(answers.map(({ status, headers }) => [status, headers['alt-svc']])).toEqual([
      [200, ALT_SVC],
      [404, ALT_SVC],
      [200, ALT_SVC],
      [200, ALT_SVC],
      [200, ALT_SVC],
    ]);
    expect(await sendTlsRaw(port, 'nonsense\r\n\r\n')).toContain(`alt-svc: ${ALT_SVC}`);
  });

  test('is not told of by answers without TLS', async () => {
    const { headers } = await send({ port: gateway.httpPort, host: 'boaster.example.com' });
    expect(headers['alt-svc']).toBe('h3=":9999"');
  });

  test('is served on IPv6 where the machine has it', async () => {
    if (!(await hasIpv6())) return;
    const overIpv6 = await startHttp3Client(gateway.httpsPort, '::1');
    const { body } = await overIpv6.send({ host: 'own.example.com' });
    expect(JSON.parse(body)).toMatchObject({ headers: { 'x-real-ip': '::1' } });
    await overIpv6.stop();
  });

  test('shows a renewed certificate to new connections, and leaves open ones alone', async () => {
    await client.send({ host: 'own.example.com' });
    const opened = await client.keptConnections();
    const renewed = await makePair(['own.example.com', 'renewed.example.com']);
    await gateway.apply(tlsSecret('own', renewed));
    const shown = async () =>
      (await client.send({ host: 'own.example.com', fresh: true })).certificate.subjectAltName ?? '';
    await soon(shown).toContain('renewed.example.com');
    await client.send({ host: 'own.example.com' });
    expect(await client.keptConnections()).toBe(opened);
  });

  test('comes and goes with certificates, and leaves other connections alone', async () => {
    await client.send({ host: 'own.example.com' });
    await client.send({ host: 'nobody.example.com' });
    const opened = await client.keptConnections();
    const kept = async () => {
      await client.send({ host: 'own.example.com' });
      await client.send({ host: 'nobody.example.com' });
      return await client.keptConnections();
    };
    const fresh = async (name: string) => {
      const { status, certificate } = await client.send({ host: name, fresh: true });
      return `${status} ${certificate.subject}`;
    };
    await gateway.apply(
      tlsSecret('new', await makePair(['new.example.com'])),
      host('new.example.com', { secretName: 'new' }),
    );
    await soon(() => fresh('new.example.com')).toBe('200 CN=new.example.com');
    expect(await kept()).toBe(opened);
    await gateway.remove('Ingress', 'new-example-com');
    await gateway.remove('Secret', 'new');
    const gone = () => fresh('new.example.com').catch(() => 'refused by the client');
    await soon(gone).toBe('refused by the client');
    expect(await kept()).toBe(opened);
  });

  test('is not served with a key that QUIC does not take, which TLS over TCP shows nevertheless', async () => {
    const name = 'changing.example.com';
    const [usual, unusual] = [await makePair([name]), await makePair([name], ed25519)];
    const kept = async () => {
      await client.send({ host: 'own.example.com' });
      return await client.keptConnections();
    };
    await gateway.apply(tlsSecret('changing', usual), host(name, { secretName: 'changing' }));
    const status = () =>
      client.send({ host: name, fresh: true }).then(
        (answer) => answer.status,
        () => 'refused by the client',
      );
    await soon(status).toBe(200);
    const opened = await kept();
    const shown = async () => (await peerCertificate(gateway.httpsPort, name)).fingerprint256;
    for (const [pair, outcome] of [
      [unusual, 'refused by the client'],
      [usual, 200],
    ] as const) {
      await gateway.apply(tlsSecret('changing', pair));
      await soon(shown).toBe(new X509Certificate(pair.chain).fingerprint256);
      await soon(status).toBe(outcome);
    }
    expect(await kept()).toBe(opened);
    expect(gateway.events.filter(({ kind }) => kind === 'nack')).toEqual([]);
  });

  test('is closed, and not told of, while the ConfigMap wants what QUIC has not', async () => {
    for (const [key, value] of [
      ['ssl-protocols', 'TLSv1.2'],
      ['use-proxy-protocol', 'true'],
    ] as const) {
      await gateway.apply(configMap('config', { [key]: value }));
      await soon(() => isOpen(gateway.httpsPort)).toBe(false);
      expect(gateway.pipeline.controller.currentDiagnostics()).toContainEqual(
        expect.objectContaining({
          code: 'ConfigMapKeyUnsupported',
          field: `data["${key}"]`,
          message: expect.stringContaining('HTTP/3 (--http3) is not served'),
        }),
      );
      if (key === 'ssl-protocols') {
        const answer = send({ port: gateway.httpsPort, tls: true, host: 'boaster.example.com' });
        expect((await answer).headers['alt-svc']).toBe('h3=":9999"');
      }
    }
    await gateway.apply(configMap('config', {}));
    await soon(() => isOpen(gateway.httpsPort)).toBe(true);
    expect((await client.send({ host: 'own.example.com', fresh: true })).status).toBe(200);
  });
});

test('HTTP/3 finds hosts in a divided route table, and refuses unknown names with ssl-reject-handshake', async () => {
  const gateway = await start({ 'ssl-reject-handshake': 'true' }, [], { emit: { routeSharding: true } });
  const client = await startHttp3Client(gateway.httpsPort);
  try {
    await gateway.apply(
      tlsSecret('own', await makePair(['own.example.com'])),
      host('own.example.com', { secretName: 'own' }),
    );
    const status = async () => (await client.send({ host: 'own.example.com', fresh: true })).status;
    await soon(status).toBe(200);
    await expect(client.send({ host: 'nobody.example.com', fresh: true })).rejects.toThrow('no answer over HTTP/3');
  } finally {
    await client.stop();
    await gateway.close();
  }
});

test('HTTP/3 is drained like everything else: what is open goes on, nothing new begins', async () => {
  const gateway = await start({}, []);
  const client = await startHttp3Client(gateway.httpsPort);
  const ask = (fresh: boolean) => client.send({ host: 'default.example.com', fresh });
  try {
    await ask(false);
    expect(await gateway.admin.traffic()).toMatchObject({ connections: 1, httpConnections: 1 });
    await gateway.admin.drainListeners();
    await expect(ask(true)).rejects.toThrow('no answer over HTTP/3');
    expect((await ask(false)).status).toBe(200);
    expect(await client.keptConnections()).toBe(1);
    const drained = drainEnvoy({
      admin: gateway.admin,
      gracePeriodMs: 0,
      deadlineMs: 20_000,
      signal: new AbortController().signal,
    });
    await gateway.admin.failHealthCheck();
    // The answer comes with the word that the connection ends.
    await ask(false);
    expect(await drained).toEqual({ kind: 'drained' });
  } finally {
    await client.stop();
    await gateway.close();
  }
});

test('without --http3 nothing is open over UDP, and nobody is told of it', async () => {
  const gateway = await startGateway({
    manifests: [...services.manifests, service('boaster'), boaster.slice('boaster'), host('own.example.com')],
  });
  try {
    expect(await isOpen(gateway.httpsPort)).toBe(false);
    const { headers } = await send({ port: gateway.httpsPort, tls: true, host: 'own.example.com' });
    expect(headers).not.toHaveProperty('alt-svc');
  } finally {
    await gateway.close();
  }
});

test('with a default certificate that QUIC does not take, names with another one are served, and nothing at all without such', async () => {
  const unusual = await makePair(['default.example.com'], ed25519);
  const gateway = await start({}, [tlsSecret('everybody', unusual)]);
  const client = await startHttp3Client(gateway.httpsPort);
  try {
    expect(await isOpen(gateway.httpsPort)).toBe(false);
    await gateway.apply(
      tlsSecret('own', await makePair(['own.example.com'])),
      host('own.example.com', { secretName: 'own' }),
    );
    const status = () =>
      client.send({ host: 'own.example.com', fresh: true }).then(
        (answer) => answer.status,
        () => 'refused',
      );
    await soon(status).toBe(200);
    await expect(client.send({ host: 'default.example.com', fresh: true })).rejects.toThrow('no answer over HTTP/3');
    expect(gateway.events.filter(({ kind }) => kind === 'nack')).toEqual([]);
  } finally {
    await client.stop();
    await gateway.close();
  }
});
