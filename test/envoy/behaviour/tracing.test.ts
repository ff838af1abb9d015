/** What tracing never does: harm requests, drain connections for one Ingress, be seen by backends of others. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { typeUrls } from '../../../src/envoy/resource.ts';
import { variableNames } from '../../../src/model/template.ts';
import { annotated } from '../../annotations/table.ts';
import { type DnsServer, startDnsServer } from '../../support/dns-server.ts';
import { changesOf, type Gateway, poll, startGateway } from '../../support/gateway.ts';
import { configMap, endpointSlice, ingress, type Manifest, service } from '../../support/manifests.ts';
import { type CollectorBehaviour, type OtlpCollector, startCollector } from '../../support/otlp-collector.ts';
import { freePorts, REFUSING_PORT } from '../../support/static-envoy.ts';
import { observe, type Services, soon, startServices } from './cases.ts';
import { openWebSocket, startUpgradingBackend, type UpgradingBackend } from './upgrade.ts';

const SENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const takesArgument = new Set<string>(['http', 'arg', 'cookie']);
const TRACED = { 'enable-opentelemetry': 'true' };

function host(name: string, annotations: Readonly<Record<string, string>> = {}, backend = name): Manifest {
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: `${name}.example.com`, paths: [{ service: `${backend}:80` }] }],
  });
}

describe('a collector that', () => {
  let services: Services;
  let dns: DnsServer;
  let gateway: Gateway;
  let closed: number;

  beforeAll(async () => {
    services = await startServices('web');
    dns = await startDnsServer();
    dns.set('silent.internal', 'silent');
    [closed = 0] = await freePorts(1);
    gateway = await startGateway({
      build: { configMap: 'default/config' },
      emit: { dnsServers: [dns.address] },
      manifests: [...services.manifests, host('web', TRACED)],
    });
  });
  afterAll(async () => {
    await gateway?.close();
    await services?.close();
    await dns?.close();
  });

  /** With this collector; requests are served while it comes, and then, and are traced. */
  async function serves(collector: string, port: number): Promise<void> {
    const data = { 'otlp-collector-host': collector, 'otlp-collector-port': `${port}` };
    gateway.change(changesOf([configMap('config', data)]));
    const request = () => observe(gateway, { url: 'http://web.example.com/' });
    for (let count = 0; count < 20; count++) expect((await request()).received?.backend).toBe('web');
    await gateway.settled();
    await soon(async () => (await request()).received?.headers['traceparent']).toMatch(/-01$/);
    for (let count = 0; count < 20; count++) expect((await request()).received?.backend).toBe('web');
    expect(gateway.events.filter(({ kind }) => kind === 'nack')).toEqual([]);
  }

  test('is not there costs spans alone', () => serves('127.0.0.1', closed));

  test.each<[string, CollectorBehaviour]>([
    ['never answers', { silent: true }],
    ['refuses what it gets', { refuses: true }],
  ])('%s costs spans alone', async (_, behaviour) => {
    const collector = await startCollector(behaviour);
    await serves('127.0.0.1', collector.port);
    await poll(
      () => collector.authorities.has(`127.0.0.1:${collector.port}`),
      () => 'the collector was not called',
    );
    await collector.close();
  });

  test.each(['unknown.internal', 'silent.internal'])('cannot be found (%s) costs spans alone', (name) =>
    serves(name, closed),
  );

  test('comes later gets what is traced then', async () => {
    await serves('collector.internal', closed);
    dns.set('collector.internal', { addresses: ['127.0.0.1'] });
    const collector = await startCollector({ port: closed });
    await poll(
      async () => {
        await observe(gateway, { url: 'http://web.example.com/' });
        return collector.spans.length > 0;
      },
      () => 'no span came',
    );
    expect([...collector.authorities]).toEqual([`collector.internal:${closed}`]);
    await collector.close();
  });
});

describe('with a collector', () => {
  let services: Services;
  let sockets: UpgradingBackend;
  let collector: OtlpCollector;
  let gateway: Gateway;
  const config = (data: Readonly<Record<string, string>> = {}) =>
    configMap('config', {
      'otlp-collector-host': '127.0.0.1',
      'otlp-collector-port': String(collector.port),
      ...data,
    });

  beforeAll(async () => {
    services = await startServices('web');
    sockets = await startUpgradingBackend();
    collector = await startCollector();
    gateway = await startGateway({
      build: { configMap: 'default/config' },
      manifests: [
        ...services.manifests,
        service('sockets'),
        sockets.slice('sockets'),
        // Half of its endpoints take no connection.
        service('half'),
        services.manifests
          .filter(({ kind }) => kind === 'EndpointSlice')
          .map((slice) => renamed(slice, 'half'))[0] as Manifest,
        endpointSlice('half', ['127.0.0.1'], { port: REFUSING_PORT, suffix: 'refused' }),
        config(),
        host('web'),
        host('half'),
        host('half-traced', TRACED, 'half'),
        host('sockets'),
        host('sockets-traced', TRACED, 'sockets'),
      ],
    });
  });
  afterAll(async () => {
    await gateway?.close();
    await collector?.close();
    await sockets?.close();
    await services?.close();
  });

  test('another try tells a backend the same as the first', async () => {
    for (let count = 0; count < 20; count++) {
      const headers = { traceparent: SENT, tracestate: 'a=b' };
      const plain = await observe(gateway, { url: 'http://half.example.com/', headers });
      expect(plain.received?.headers).toMatchObject(headers);
      const traced = await observe(gateway, { url: 'http://half-traced.example.com/', headers });
      expect(traced.received?.headers).toMatchObject({ traceparent: expect.stringMatching(/^00-0af7.*-01$/) });
      expect(traced.received?.headers['traceparent']).not.toBe(SENT);
    }
  });

  test('WebSockets are traced like requests', async () => {
    for (const name of ['sockets', 'sockets-traced']) {
      const socket = await openWebSocket(gateway.httpPort, `${name}.example.com`, 'websocket');
      expect(await socket.exchange('hello')).toBe('hello');
      socket.close();
    }
    const [plain, traced] = sockets.requests;
    expect(plain?.headers['traceparent']).toBeUndefined();
    expect(traced?.headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    await poll(
      () => collector.spans.some(({ attributes }) => attributes['http.status_code'] === 101),
      () => 'no span of the connection came',
    );
  });

  test.each<[string, () => Manifest]>([
    ['one Ingress that is traced', () => host('web', TRACED)],
    ['one that is not any more', () => host('web')],
    ['all of them', () => config({ 'enable-opentelemetry': 'true' })],
    ['another name of their spans', () => config({ 'opentelemetry-operation-name': '$request_method $uri' })],
  ])('%s reaches no listener, and so no connection', async (_, change) => {
    const before = gateway.events.length;
    await gateway.apply(change());
    const sent = gateway.events.slice(before).flatMap((event) => (event.kind === 'response' ? [event.typeUrl] : []));
    expect(sent.length).toBeGreaterThan(0);
    expect(sent).not.toContain(typeUrls.listener);
  });

  test.each([
    ['percent signs', '100% %REQ(x)% %'],
    ['an expression of Envoy', '%CEL(1/0)%'],
    ['lines', 'two\nlines'],
    ['signs', '"\'\\;{}$ \u{1f600}'],
    ['a long text', 'x'.repeat(1024)],
    ['all variables', variableNames.map((name) => `$${name}${takesArgument.has(name) ? '_x_y' : ''}`).join(' ')],
  ])('Envoy takes %s for a name', async (_, text) => {
    await gateway.apply(config({ 'opentelemetry-operation-name': text, 'otel-service-name': text }));
    expect(gateway.events.filter(({ kind }) => kind === 'nack')).toEqual([]);
    await soon(async () => {
      await observe(gateway, { url: 'http://half-traced.example.com/' });
      return collector.spans.at(-1)?.resource['service.name'];
    }).toBe(text);
    if (!text.includes('$')) expect(collector.spans.at(-1)?.name).toBe(text);
  });
});

function renamed(slice: Manifest, name: string): Manifest {
  const metadata = { ...(slice['metadata'] as object), name, labels: { 'kubernetes.io/service-name': name } };
  return { ...slice, metadata };
}
