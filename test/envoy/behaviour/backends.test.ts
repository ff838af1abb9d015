import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasIpv6 } from '../../../src/cli/ipv6.ts';
import { type Backend, startBackend } from '../../support/backend.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { endpointSlice, ingress, type Manifest, service } from '../../support/manifests.ts';
import { observe, type Services, soon, startServices, testCases } from './cases.ts';

let gateway: Gateway;
let services: Services;
let first: Backend;
let second: Backend;

/** An Ingress for the host of its own name, `NAME.example.com`. */
function to(name: string, backend: string, path = '/'): Manifest {
  return ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ path, service: backend }] }] });
}

/** EndpointSlice with several named ports. */
function slice(name: string, of: string, ports: readonly object[], endpoints: readonly object[]): Manifest {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': of } },
    addressType: 'IPv4',
    ports,
    endpoints,
  };
}

const LOOPBACK = { addresses: ['127.0.0.1'], conditions: { ready: true } };

beforeAll(async () => {
  services = await startServices('web', 'other');
  first = await startBackend('first');
  second = await startBackend('second');
  gateway = await startGateway({
    manifests: [...services.manifests, ...portManifests(), ...endpointManifests(), ...missingManifests()],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all([services, first, second].map((part) => part?.close()));
});

/** Two ports, so that each way to name one has a wrong answer. */
function portManifests(): Manifest[] {
  const ports = [
    { name: 'http', port: 80, targetPort: 'web' },
    { name: 'admin', port: 81, targetPort: 9443 },
  ];
  return [
    service('ports', ports),
    slice(
      'ports',
      'ports',
      [
        { name: 'http', port: first.port, protocol: 'TCP' },
        { name: 'admin', port: second.port, protocol: 'TCP' },
        { name: 'dns', port: 53, protocol: 'UDP' },
      ],
      [LOOPBACK],
    ),
    to('number', 'ports:80'),
    to('number-2', 'ports:81'),
    to('name', 'ports:http'),
    to('name-2', 'ports:admin'),
    to('target-name', 'ports:web'),
    to('target-number', 'ports:9443'),
    to('no-such-number', 'ports:82'),
    to('no-such-name', 'ports:grpc'),
    // The port number of the backend stands in the Service alone.
    service('bare', [{ port: 80, targetPort: first.port }]),
    slice('bare', 'bare', [], [LOOPBACK]),
    to('bare', 'bare:80'),
    service('unnamed', [{ port: 80 }]),
    slice('unnamed', 'unnamed', [{ name: 'whatever', port: second.port, protocol: 'TCP' }], [LOOPBACK]),
    to('unnamed', 'unnamed:80'),
    { ...service('udp', []), spec: { ports: [{ name: 'http', port: 80, protocol: 'UDP' }] } },
    to('udp', 'udp:80'),
    service('headless', [{ port: 80 }]),
    first.slice('headless'),
    to('headless', 'headless:80'),
    withoutClusterIp('headless-80', [{ port: 80, targetPort: 'web' }]),
    slice('headless-80', 'headless-80', [{ name: '', port: second.port, protocol: 'TCP' }], [LOOPBACK]),
    to('headless-80', 'headless-80:80'),
    withoutClusterIp('headless-none', []),
    slice('headless-none', 'headless-none', [{ name: '', port: first.port, protocol: 'TCP' }], [LOOPBACK]),
    to('headless-none', `headless-none:${first.port}`),
    withoutSelector('by-hand'),
    first.slice('by-hand'),
    to('by-hand', 'by-hand:80'),
    // One name, another number in each slice, as in a rollout that moves the container's port.
    service('rollout', [{ name: 'http', port: 80, targetPort: 'web' }]),
    slice('rollout-a', 'rollout', [{ name: 'http', port: first.port, protocol: 'TCP' }], [LOOPBACK]),
    slice(
      'rollout-b',
      'rollout',
      [
        { name: 'admin', port: first.port, protocol: 'TCP' },
        { name: 'http', port: second.port, protocol: 'TCP' },
      ],
      [LOOPBACK],
    ),
    to('rollout', 'rollout:http'),
  ];
}

/** A headless Service. */
function withoutClusterIp(name: string, ports: readonly object[]): Manifest {
  return { ...service(name), spec: { clusterIP: 'None', selector: { app: name }, ports } };
}

/** A Service whose endpoints somebody else writes. */
function withoutSelector(name: string): Manifest {
  return { ...service(name), spec: { ports: [{ port: 80, protocol: 'TCP' }] } };
}

function endpointManifests(): Manifest[] {
  const at = (port: number, suffix: string, ready = true) => ({ port, suffix, ready });
  return [
    service('several'),
    endpointSlice('several', ['127.0.0.1'], at(first.port, 'a')),
    endpointSlice('several', ['127.0.0.1'], at(second.port, 'b')),
    to('several', 'several'),
    service('half-ready'),
    endpointSlice('half-ready', ['127.0.0.1'], at(first.port, 'a', false)),
    endpointSlice('half-ready', ['127.0.0.1'], at(second.port, 'b')),
    to('half-ready', 'half-ready'),
    service('terminating'),
    slice(
      'terminating',
      'terminating',
      [{ name: '', port: first.port, protocol: 'TCP' }],
      [{ addresses: ['127.0.0.1'], conditions: { ready: false, serving: true, terminating: true } }],
    ),
    to('terminating', 'terminating'),
    service('silent'),
    slice('silent', 'silent', [{ name: '', port: first.port, protocol: 'TCP' }], [{ addresses: ['127.0.0.1'] }]),
    to('silent', 'silent'),
    service('duplicates'),
    endpointSlice('duplicates', ['127.0.0.1', '127.0.0.1'], at(first.port, 'a')),
    endpointSlice('duplicates', ['127.0.0.1'], at(first.port, 'b')),
    endpointSlice('duplicates', ['127.0.0.1'], at(second.port, 'c')),
    to('duplicates', 'duplicates'),
    to('shared', 'several'),
  ];
}

function missingManifests(): Manifest[] {
  return [
    to('no-service', 'nowhere:80'),
    service('empty'),
    to('empty', 'empty'),
    service('unready'),
    endpointSlice('unready', ['127.0.0.1'], { port: first.port, ready: false }),
    to('unready', 'unready'),
    ingress({
      name: 'wider',
      rules: [
        {
          host: 'wider.example.com',
          paths: [
            { path: '/', service: 'web:80' },
            { path: '/missing', service: 'nowhere:80' },
            { path: '/empty', service: 'empty:80' },
            { path: '/port', service: 'web:99' },
          ],
        },
      ],
    }),
    {
      ...to('foreign', 'web'),
      metadata: { name: 'foreign', namespace: 'elsewhere' },
    },
    withResourceBackend(),
    withDefaultResource(),
    ingress({
      name: 'default-backend',
      defaultBackend: 'other:80',
      rules: [{ host: 'default-backend.example.com', paths: [{ path: '/web', service: 'web:80' }] }],
    }),
  ];
}

function withResourceBackend(): Manifest {
  const resource = { apiGroup: 'k8s.example.com', kind: 'StorageBucket', name: 'assets' };
  const paths = [
    { path: '/assets', pathType: 'Prefix', backend: { resource } },
    { path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } },
  ];
  return {
    ...ingress({ name: 'resource' }),
    spec: { ingressClassName: 'nginx', rules: [{ host: 'resource.example.com', http: { paths } }] },
  };
}

function withDefaultResource(): Manifest {
  const resource = { apiGroup: 'k8s.example.com', kind: 'StorageBucket', name: 'assets' };
  const paths = [{ path: '/web', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } }];
  return {
    ...ingress({ name: 'default-resource' }),
    spec: {
      ingressClassName: 'nginx',
      defaultBackend: { resource },
      rules: [{ host: 'default-resource.example.com', http: { paths } }],
    },
  };
}

/** The backends that answer 20 requests, one after another, and how often. */
async function spread(host: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let count = 0; count < 20; count += 1) {
    const { answer, received } = await observe(gateway, { url: `http://${host}.example.com/` });
    const name = received?.backend ?? String(answer.status);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('the port of a backend', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://number.example.com/', backend: 'first' },
      { url: 'http://number-2.example.com/', backend: 'second' },
      { url: 'http://name.example.com/', backend: 'first' },
      { url: 'http://name-2.example.com/', backend: 'second' },
      { url: 'http://target-name.example.com/', backend: 'first', because: 'the target port counts too' },
      { url: 'http://target-number.example.com/', backend: 'second' },
      { url: 'http://no-such-number.example.com/', status: 503 },
      { url: 'http://no-such-name.example.com/', status: 503 },
      { url: 'http://bare.example.com/', backend: 'first', because: 'a slice without ports has the target port' },
      { url: 'http://unnamed.example.com/', backend: 'second', because: 'a port without name takes every TCP port' },
      { url: 'http://udp.example.com/', status: 503, because: 'HTTP needs TCP' },
      { url: 'http://headless.example.com/', backend: 'first' },
      { url: 'http://headless-80.example.com/', backend: 'second', because: 'a headless Service has endpoints too' },
      { url: 'http://headless-none.example.com/', status: 503, because: 'a Service without ports has none to name' },
      { url: 'http://by-hand.example.com/', backend: 'first', because: 'endpoints need no selector' },
    ],
  );
});

describe('EndpointSlices', () => {
  test.each(['several', 'duplicates', 'shared', 'rollout'])('%s: both endpoints take an equal part', async (host) => {
    expect(await spread(host)).toEqual({ first: 10, second: 10 });
  });

  test.each(['half-ready'])('%s: only what is ready is asked', async (host) => {
    expect(await spread(host)).toEqual({ second: 20 });
  });

  testCases(
    () => gateway,
    [
      { url: 'http://terminating.example.com/', status: 503, because: 'an endpoint that is not ready gets nothing' },
      { url: 'http://silent.example.com/', backend: 'first', because: 'no word on readiness means ready' },
    ],
  );

  test('come, change and go', async () => {
    await gateway.apply(service('moving'), to('moving', 'moving'));
    await soon(() => spread('moving')).toEqual({ 503: 20 });
    await gateway.apply(endpointSlice('moving', ['127.0.0.1'], { port: first.port }));
    await soon(() => spread('moving')).toEqual({ first: 20 });
    await gateway.apply(endpointSlice('moving', ['127.0.0.1'], { port: second.port }));
    await soon(() => spread('moving')).toEqual({ second: 20 });
    await gateway.remove('EndpointSlice', 'moving-a');
    await soon(() => spread('moving')).toEqual({ 503: 20 });
  });

  test('of both families count', async () => {
    // Where the machine has no IPv6 the endpoint cannot be reached, and the other one takes its part.
    const six = await startBackend('six', undefined, (await hasIpv6()) ? '::1' : '127.0.0.1');
    await gateway.apply(
      service('dual'),
      to('dual', 'dual'),
      endpointSlice('dual', ['127.0.0.1'], { port: first.port, suffix: 'v4' }),
      endpointSlice('dual', ['0:0:0:0:0:0:0:1'], { port: six.port, suffix: 'v6', addressType: 'IPv6' }),
    );
    const expected = (await hasIpv6()) ? { first: 10, six: 10 } : { first: 20 };
    await soon(() => spread('dual')).toEqual(expected);
    await six.close();
  });
});

test('an endpoint that begins to terminate is asked no more', async () => {
  const ports = [{ name: '', port: first.port, protocol: 'TCP' }];
  const conditions = (ready: boolean) => ({ ready, serving: true, terminating: !ready });
  const leaving = (ready: boolean) =>
    slice('leaving', 'leaving', ports, [{ addresses: ['127.0.0.1'], conditions: conditions(ready) }]);
  await gateway.apply(service('leaving'), to('leaving', 'leaving'), leaving(true));
  await soon(() => spread('leaving')).toEqual({ first: 20 });
  await gateway.apply(leaving(false), endpointSlice('leaving', ['127.0.0.1'], { port: second.port, suffix: 'new' }));
  await soon(() => spread('leaving')).toEqual({ second: 20 });
});

describe('a backend that is not there', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://no-service.example.com/', status: 503, text: '<h1>503 Service Temporarily Unavailable</h1>' },
      { url: 'http://empty.example.com/', status: 503, text: '<h1>503 Service Temporarily Unavailable</h1>' },
      { url: 'http://unready.example.com/', status: 503 },
      { url: 'https://empty.example.com/', status: 503 },
      { url: 'http://wider.example.com/missing/x', status: 503, because: 'no wider route answers for it' },
      { url: 'http://wider.example.com/empty', status: 503 },
      { url: 'http://wider.example.com/port', status: 503 },
      { url: 'http://wider.example.com/x', backend: 'web' },
      {
        url: 'http://foreign.example.com/',
        status: 503,
        because: 'a Service is looked for in the namespace of the Ingress',
      },
      { url: 'http://resource.example.com/assets', status: 503, because: 'a resource is no Service' },
      { url: 'http://resource.example.com/x', backend: 'web' },
      { url: 'http://default-resource.example.com/x', status: 503 },
      { url: 'http://default-resource.example.com/web', backend: 'web' },
    ],
  );

  test('is found when it comes', async () => {
    await gateway.apply(to('coming', 'coming:80'));
    await soon(() => spread('coming')).toEqual({ 503: 20 });
    await gateway.apply(service('coming'), first.slice('coming'));
    await soon(() => spread('coming')).toEqual({ first: 20 });
    await gateway.remove('Service', 'coming');
    await soon(() => spread('coming')).toEqual({ 503: 20 });
  });
});

describe('spec.defaultBackend of an Ingress with rules', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://default-backend.example.com/web', backend: 'web' },
      { url: 'http://default-backend.example.com/x', backend: 'other' },
      { url: 'http://unknown.example.org/x', status: 404, because: 'it is for the hosts of its rules only' },
    ],
  );
});

describe('spec.defaultBackend of an Ingress without rules', () => {
  test('answers for every host that nobody claims', async () => {
    await gateway.apply(ingress({ name: 'catch-all', defaultBackend: 'other:80' }));
    const outcome = async (url: string) => {
      const { answer, received } = await observe(gateway, { url });
      return received?.backend ?? answer.status;
    };
    await soon(() => outcome('http://unknown.example.org/x')).toBe('other');
    await soon(() => outcome('https://unknown.example.org/x')).toBe('other');
    expect(await outcome('http://unknown.example.org/healthz')).toBe(200);
    await gateway.remove('Ingress', 'catch-all');
    await soon(() => outcome('http://unknown.example.org/x')).toBe(404);
  });
});
