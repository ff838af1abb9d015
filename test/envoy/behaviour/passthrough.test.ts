/** TLS that is passed through, while that changes: no connection notices what does not concern it. */
import { once } from 'node:events';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { echoPair } from '../../../src/cli/generated-certificate.ts';
import { createEcho, type Echo } from '../../../src/files/echo.ts';
import { annotated } from '../../annotations/table.ts';
import type { Backend } from '../../support/backend.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { peerCertificate } from '../../support/http-client.ts';
import { endpointSlice, ingress, type Manifest, service, tlsSecret } from '../../support/manifests.ts';
import { makePair } from '../../support/pki.ts';
import { startProbe } from '../../support/probe.ts';
import { startSecureBackend } from '../../support/secure-backend.ts';
import { soon } from './cases.ts';

const [OWN, VAULT, OTHER] = ['own.example.com', 'vault.example.com', 'other.example.com'] as const;

let echo: Echo;
let backends: readonly Backend[];
let gateway: Gateway;

function host(name: string, service: string, annotations: Readonly<Record<string, string>> = {}): Manifest {
  return ingress({ name, annotations: annotated(annotations), rules: [{ host: name, paths: [{ service }] }] });
}
const on = { 'ssl-passthrough': 'true' };

beforeAll(async () => {
  echo = createEcho(echoPair);
  const [pod] = (await echo.ensure([{ namespace: 'default', service: 'own', port: '80' }])).values();
  const [vault, bao, proxy] = await Promise.all(
    ['vault.test', 'bao.test', '*.example.com'].map((name) => makePair([name])),
  );
  backends = await Promise.all([
    startSecureBackend('vault', { pair: vault! }),
    startSecureBackend('bao', { pair: bao! }),
  ]);
  gateway = await startGateway({
    drainTimeS: 1,
    build: { sslPassthrough: true },
    manifests: [
      host(OWN, 'own:80'),
      service('own'),
      endpointSlice('own', [pod!.ip], { port: pod!.port }),
      host(VAULT, 'vault:8200', on),
      host(OTHER, 'bao:8200'),
      ...backends.flatMap((backend) => [service(backend.name, [{ port: 8200 }]), backend.slice(backend.name)]),
      tlsSecret('proxy', proxy!),
      ingress({
        name: 'covers',
        rules: [{ host: 'covers.example.com', paths: [{ service: 'own:80' }] }],
        tls: [{ hosts: ['covers.example.com'], secretName: 'proxy' }],
      }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all([echo, ...(backends ?? [])].map((part) => part.close()));
});

/** Who speaks TLS for a name: the DNS name in the certificate. */
const speaker = async (name: string) =>
  (await peerCertificate(gateway.httpsPort, name)).subjectaltname?.replace('DNS:', '');

/** A connection that stays, over which one request after another is sent. */
async function stand(name: string) {
  const socket: TLSSocket = tlsConnect({
    host: '127.0.0.1',
    port: gateway.httpsPort,
    servername: name,
    rejectUnauthorized: false,
  });
  await once(socket, 'secureConnect');
  const closed = once(socket, 'close');
  return {
    closed,
    end: () => socket.destroy(),
    ask: async () => {
      socket.write(`GET / HTTP/1.1\r\nhost: ${name}\r\n\r\n`);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      return String(answer).split('\r\n', 1)[0];
    },
  };
}

/** `Cluster default/bao/8200`, in the order in which they were sent since `from`, and `ack Cluster`; without what went. */
function sentSince(from: number): string[] {
  return gateway.events.slice(from).flatMap((event) => {
    if (event.kind !== 'response' && event.kind !== 'ack') return [];
    const type = event.typeUrl.slice(event.typeUrl.lastIndexOf('.') + 1);
    return event.kind === 'ack' ? `ack ${type}` : event.names.map((name) => `${type} ${name}`);
  });
}

test('a host is passed through, and then no longer: other connections stay', { timeout: 60_000 }, async () => {
  const probe = await startProbe({
    httpPort: gateway.httpPort,
    httpsPort: gateway.httpsPort,
    host: OWN,
    rate: 100,
  });
  const standing = await stand(VAULT);
  for (let round = 0; round < 3; round++) {
    await gateway.apply(host(OTHER, 'bao:8200', on));
    await soon(() => speaker(OTHER)).toBe('bao.test');
    const passed = await stand(OTHER);
    expect(await passed.ask()).toBe('HTTP/1.1 200 OK');
    await gateway.apply(host(OTHER, 'bao:8200'));
    await soon(() => speaker(OTHER)).toBe('*.example.com');
    // That of the chain that is gone ends when it has been drained, and others would have ended with it.
    await passed.closed;
    expect(await standing.ask()).toBe('HTTP/1.1 200 OK');
  }
  standing.end();
  const report = await probe.stop();
  expect(report.failures).toEqual([]);
  expect(report.closed).toEqual([]);
  expect(report.requests).toBeGreaterThan(0);
});

test('the listener waits for the cluster, and nothing else is sent but the host', async () => {
  await gateway.apply(service('late', [{ port: 8200 }]), backends[1]!.slice('late'));
  const from = gateway.events.length;
  await gateway.apply(host(OTHER, 'late:8200', on));
  await soon(() => speaker(OTHER)).toBe('bao.test');
  const sent = sentSince(from);
  expect(sent.filter((one) => !one.startsWith('ack'))).toEqual([
    'Cluster default/late/8200',
    'ClusterLoadAssignment default/late/8200',
    'Listener https',
    'RouteConfiguration http',
    'RouteConfiguration https',
  ]);
  expect(sent.indexOf('ack Cluster')).toBeLessThan(sent.indexOf('Listener https'));
  await gateway.apply(host(OTHER, 'bao:8200'));
});

test('another host of the same Service, and other settings of a host, change no chain', async () => {
  const standing = await stand(VAULT);
  const before = gateway.pipeline.emitter.counters()['FilterChain'];
  await gateway.apply(host('bao.example.com', 'vault:8200', on));
  await soon(() => speaker('bao.example.com')).toBe('vault.test');
  await gateway.apply(host(VAULT, 'vault:8200', { ...on, 'proxy-body-size': '8m', 'server-alias': 'v.example.com' }));
  await soon(() => speaker('v.example.com')).toBe('vault.test');
  expect(gateway.pipeline.emitter.counters()['FilterChain']).toBe(before);
  expect(await standing.ask()).toBe('HTTP/1.1 200 OK');
  standing.end();
});

test('endpoints come and go without the listener', async () => {
  const from = gateway.events.length;
  await gateway.apply(endpointSlice('vault', [], { suffix: 'vault' }));
  await soon(() => speaker(VAULT).catch((error: NodeJS.ErrnoException) => error.code)).toBe('ECONNRESET');
  await gateway.apply(backends[0]!.slice('vault'));
  await soon(() => speaker(VAULT).catch(() => 'closed')).toBe('vault.test');
  expect(sentSince(from).filter((sent) => !sent.includes('ClusterLoadAssignment'))).toEqual([]);
});
