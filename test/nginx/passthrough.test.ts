/** TLS that is passed through by a real nginx, while that changes: a reload moves the port for HTTPS from one module to another. */
import { once } from 'node:events';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { annotated } from '../annotations/table.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { peerCertificate, send } from '../support/http-client.ts';
import { configMap, endpointSlice, ingress, type Manifest, service } from '../support/manifests.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import { makePair } from '../support/pki.ts';
import { startSecureBackend } from '../support/secure-backend.ts';
import { startLoad } from './support/load.ts';

const [OWN, VAULT] = ['own.example.com', 'vault.example.com'] as const;

let backends: readonly Backend[];
let gateway: NginxGateway;

function host(name: string, service: string, annotations: Readonly<Record<string, string>> = {}): Manifest {
  return ingress({ name, annotations: annotated(annotations), rules: [{ host: name, paths: [{ service }] }] });
}
const on = { 'ssl-passthrough': 'true' };

beforeAll(async () => {
  backends = await Promise.all([
    startBackend('own'),
    startSecureBackend('vault', { pair: await makePair(['vault.test']) }),
  ]);
  gateway = await startNginxGateway({
    build: { sslPassthrough: true, configMap: 'default/config' },
    manifests: [
      host(OWN, 'own:80'),
      host(VAULT, 'vault:80'),
      ...backends.flatMap((backend) => [service(backend.name), backend.slice(backend.name)]),
      configMap('config', { 'proxy-stream-timeout': '1s', 'log-format-stream': '$proxy_upstream_name $status' }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all((backends ?? []).map((backend) => backend.close()));
});

/** Who speaks TLS for a name: the DNS name in the certificate, or the code of the error. */
const speaker = (name: string) =>
  peerCertificate(gateway.httpsPort, name).then(
    ({ subjectaltname }) => subjectaltname?.replace('DNS:', ''),
    (error: NodeJS.ErrnoException) => error.code,
  );

async function open(name: string): Promise<TLSSocket> {
  const options = { host: '127.0.0.1', port: gateway.httpsPort, servername: name, rejectUnauthorized: false };
  const socket = tlsConnect(options);
  await once(socket, 'secureConnect');
  return socket;
}

describe('TLS that is passed through', () => {
  test('comes and goes by reloads that no new connection notices', { timeout: 120_000 }, async () => {
    const { httpPort, httpsPort } = gateway;
    const load = startLoad({ httpPort, httpsPort, host: OWN, rate: 100 });
    for (let round = 0; round < 5; round++) {
      await gateway.apply(host(VAULT, 'vault:80', on));
      expect(await speaker(VAULT)).toBe('vault.test');
      await gateway.apply(host(VAULT, 'vault:80'));
      expect(await speaker(VAULT)).toBe('ingress.local');
    }
    const { failures, requests } = await load.stop();
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(0);
    expect(gateway.outcomes.filter(({ kind }) => kind !== 'loaded')).toEqual([]);
  });

  test('ends when it is silent for too long, and not what is ended here', async () => {
    await gateway.apply(host(VAULT, 'vault:80', on));
    const ended = await open(OWN);
    const passed = await open(VAULT);
    await once(passed, 'close');
    ended.write(`GET / HTTP/1.1\r\nhost: ${OWN}\r\n\r\n`);
    expect(String(await once(ended, 'data'))).toContain('HTTP/1.1 200 OK');
    ended.destroy();
  });

  test('follows the endpoints of its Service, down to none', async () => {
    await gateway.apply(host(VAULT, 'vault:80', on));
    await gateway.apply(endpointSlice('vault', [], { suffix: 'vault' }));
    expect(await speaker(VAULT)).toBe('ECONNRESET');
    expect((await send({ port: gateway.httpsPort, host: OWN, tls: true })).status).toBe(200);
    await gateway.apply(backends[1]!.slice('vault'));
    expect(await speaker(VAULT)).toBe('vault.test');
  });

  test('is possible for names that mean something to nginx, and for long ones', async () => {
    const long = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(40)}.example.com`;
    const names = ['default', 'hostnames', 'volatile', 'include', long, '*.example.org'];
    await gateway.apply(
      ...names.map((name) => ({ ...host(name.replace('*', 'any').slice(0, 60), 'vault:80', on), ...specOf(name) })),
    );
    for (const name of names) expect([name, await speaker(name.replace('*', 'x'))]).toEqual([name, 'vault.test']);
    expect(await speaker('x.y.example.org')).toBe('ingress.local');
  });
});

function specOf(name: string): Pick<Manifest, 'spec'> {
  const { spec } = host(name, 'vault:80');
  return { spec };
}
