import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasIpv6 } from '../../../src/cli/ipv6.ts';
import { type Backend, startBackend } from '../../support/backend.ts';
import { type DnsServer, startDnsServer } from '../../support/dns-server.ts';
import { type Gateway, poll, startGateway } from '../../support/gateway.ts';
import { externalName, ingress, type Manifest, service } from '../../support/manifests.ts';
import { observe, type Services, startServices, testCases } from './cases.ts';

let gateway: Gateway;
let dns: DnsServer;
let services: Services;
let first: Backend;
let second: Backend;

/** An ExternalName Service and an Ingress for the host `NAME.example.com`. */
function external(name: string, hostname: string, port: number): Manifest[] {
  return [
    externalName(name, hostname, port),
    ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:${port}` }] }] }),
  ];
}

/** The same without ports, as most ExternalName Services are: the port is that of the Ingress. */
function externalWithoutPorts(name: string, hostname: string, port: number): Manifest[] {
  return external(name, hostname, port).map((manifest) =>
    manifest.kind === 'Service' ? { ...manifest, spec: { type: 'ExternalName', externalName: hostname } } : manifest,
  );
}

/** Names are resolved after the cluster is there, so the first answers may be 503. */
async function eventually(host: string, wanted: string | number): Promise<void> {
  let seen: string | number | undefined;
  await poll(
    async () => {
      const { answer, received } = await observe(gateway, { url: `http://${host}.example.com/` });
      seen = received?.backend ?? answer.status;
      return seen === wanted;
    },
    () => `${host} gave ${seen}, not ${wanted}`,
  );
}

/** That Envoy has asked for the name and holds an answer. */
async function asked(name: string): Promise<void> {
  await poll(
    () => dns.questions.includes(name),
    () => `${name} was not asked for`,
  );
}

beforeAll(async () => {
  dns = await startDnsServer();
  services = await startServices('web');
  first = await startBackend('first');
  second = await startBackend('second');
  dns.set('api.internal', { addresses: ['127.0.0.1'], ttl: 600 });
  dns.set('moving.internal', { addresses: ['127.0.0.1'], ttl: 1 });
  dns.set('silent.internal', 'silent');
  gateway = await startGateway({
    emit: { dnsServers: [dns.address] },
    manifests: [
      ...services.manifests,
      ...external('resolved', 'api.internal', first.port),
      ...external('upper', 'API.Internal', first.port),
      ...external('dot', 'api.internal.', first.port),
      ...externalWithoutPorts('no-ports', 'api.internal', first.port),
      externalName('target', 'api.internal', 80, undefined, first.port),
      ingress({ name: 'target', rules: [{ host: 'target.example.com', paths: [{ service: 'target:80' }] }] }),
      ...external('moving', 'moving.internal', first.port),
      ...external('unknown', 'nowhere.internal', first.port),
      ...external('silent', 'silent.internal', first.port),
      ...external('localhost', 'localhost', first.port),
      ...external('upper-localhost', 'LocalHost', first.port),
      ...external('loopback', '127.0.0.1', first.port),
      ...external('short-loopback', '127.1', first.port),
      ...external('loopback6', '::1', first.port),
      ...external('link-local', '169.254.169.254', first.port),
      ...external('unspecified', '0.0.0.0', first.port),
      ...external('no-name', 'no_such.name', first.port),
      ingress({ name: 'plain', rules: [{ host: 'plain.example.com', paths: [{}] }] }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all([services, first, second, dns].map((part) => part?.close()));
});

describe('an ExternalName', () => {
  test.each(['resolved', 'upper', 'dot', 'no-ports', 'target'])(
    '%s: the name is resolved by the proxy',
    async (host) => {
      await eventually(host, 'first');
    },
  );

  test('keeps Host and path of the request', async () => {
    await eventually('resolved', 'first');
    const { received } = await observe(gateway, { url: 'http://resolved.example.com/x?y=1' });
    expect([received?.url, received?.headers.host]).toEqual(['/x?y=1', 'resolved.example.com']);
  });

  test('follows its name to another address', async () => {
    await eventually('moving', 'first');
    // Nobody listens on this address.
    dns.set('moving.internal', { addresses: ['127.9.9.9'], ttl: 1 });
    await eventually('moving', 502);
    dns.set('moving.internal', { addresses: ['127.0.0.1'] });
    await eventually('moving', 'first');
  });

  test('is asked for again when its time to live is over, not before', async () => {
    const count = (name: string) => dns.questions.filter((question) => question === name).length;
    await eventually('resolved', 'first');
    const [long, short] = [count('api.internal'), count('moving.internal')];
    await poll(
      () => count('moving.internal') >= short + 4,
      () => 'a name of one second was not asked for again',
    );
    expect(count('api.internal')).toBe(long);
  });

  test('whose name no longer exists gives 503', async () => {
    await eventually('moving', 'first');
    dns.set('moving.internal', undefined);
    await eventually('moving', 503);
    dns.set('moving.internal', { addresses: ['127.0.0.1'] });
    await eventually('moving', 'first');
  });

  test('with an IPv6 address only', async () => {
    const address = (await hasIpv6()) ? '::1' : '127.0.0.1';
    const six = await startBackend('six', undefined, address);
    dns.set('six.internal', { addresses: [address] });
    await gateway.apply(...external('six', 'six.internal', six.port));
    await eventually('six', 'six');
    await six.close();
  });

  test('becomes a Service with endpoints, and comes back', async () => {
    await gateway.apply(...external('changing', 'api.internal', second.port));
    await eventually('changing', 'second');
    await gateway.apply(service('changing', [{ port: second.port }]), first.slice('changing'));
    await eventually('changing', 'first');
    await gateway.apply(externalName('changing', 'api.internal', second.port));
    await eventually('changing', 'second');
  });
});

describe('an ExternalName that gives no address', () => {
  test.each(['unknown', 'silent'])('%s: 503, and nothing else waits for it', async (host) => {
    await asked(host === 'silent' ? 'silent.internal' : 'nowhere.internal');
    expect((await observe(gateway, { url: `http://${host}.example.com/` })).answer.status).toBe(503);
    expect((await observe(gateway, { url: 'http://plain.example.com/' })).received?.backend).toBe('web');
  });
});

describe('an ExternalName that leads to the proxy itself is refused', () => {
  testCases(
    () => gateway,
    [
      'localhost',
      'upper-localhost',
      'loopback',
      'short-loopback',
      'loopback6',
      'link-local',
      'unspecified',
      'no-name',
    ].map((host) => ({ url: `http://${host}.example.com/`, status: 503 })),
  );

  test('without a question to a name server', () => {
    expect(dns.questions.filter((name) => /localhost|^127|no_such/.test(name))).toEqual([]);
  });
});

describe('with --disable-svc-external-name', () => {
  let closed: Gateway;

  beforeAll(async () => {
    closed = await startGateway({
      emit: { dnsServers: [dns.address] },
      build: { disableSvcExternalName: true },
      manifests: [
        ...services.manifests,
        ...external('closed', 'closed.internal', first.port),
        ingress({ name: 'plain', rules: [{ host: 'plain.example.com', paths: [{}] }] }),
      ],
    });
  });
  afterAll(() => closed?.close());

  testCases(
    () => closed,
    [
      { url: 'http://closed.example.com/', status: 503 },
      { url: 'http://plain.example.com/', backend: 'web' },
    ],
  );

  test('no name server is asked, and the Ingress is told why', () => {
    expect(dns.questions).not.toContain('closed.internal');
    expect(closed.pipeline.controller.currentDiagnostics()).toEqual([
      expect.objectContaining({ code: 'ExternalNameInvalid', ref: expect.objectContaining({ name: 'closed' }) }),
    ]);
  });
});
