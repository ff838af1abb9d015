/** With sharded route tables a change sends one shard of each table that it concerns: equal lists at 1,000 and at 20,000 hosts. */
import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { endpointSlice, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair, type Pair } from '../support/pki.ts';

interface Cost {
  /** Kind of message → number of encodes. */
  readonly encodes: Readonly<Record<string, number>>;
  /** `RouteConfiguration https/*`, in the order in which they were sent; `-` in front of what was removed. */
  readonly resources: readonly string[];
  /** Of the route tables alone. */
  readonly routeBytes: number;
}

const SERVICES = 20;
const hostName = (index: number) => `h${String(index).padStart(5, '0')}.example.com`;

/** Hosts share Services, so that the number of clusters is not what takes the time. */
function tenant(index: number, more: { readonly path?: string; readonly tls?: boolean } = {}): Manifest {
  const host = hostName(index);
  const backend = `s${index % SERVICES}:80`;
  return ingress({
    name: `t${index}`,
    namespace: 'shop',
    rules: [{ host, paths: [{ service: backend }, ...(more.path ? [{ path: more.path, service: backend }] : [])] }],
    ...(more.tls === false ? {} : { tls: [{ hosts: [host], secretName: 'wildcard' }] }),
  });
}

const slice = (index: number, address: string) =>
  endpointSlice(`s${index}`, [address], { namespace: 'shop', suffix: 'only' });

let pair: Pair;
let rotated: Pair;

beforeAll(async () => {
  pair = await makePair(['*.example.com']);
  rotated = await makePair(['*.example.com']);
});

async function measure(gateway: Gateway, ...manifests: readonly Manifest[]): Promise<Cost> {
  const { emitter } = gateway.pipeline;
  const before = emitter.counters();
  const sentBefore = gateway.events.length;
  await gateway.apply(...manifests);
  const sent = gateway.events.slice(sentBefore).filter((event) => event.kind === 'response');
  const kind = (typeUrl: string) => typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
  const anyShard = (name: string) => name.replace(/^(https?)\/[\d-]+$/, '$1/*');
  const encodes = Object.entries(emitter.counters()).map(
    ([name, count]) => [name, count - (before[name] ?? 0)] as const,
  );
  return {
    encodes: Object.fromEntries(encodes.filter(([, count]) => count > 0)),
    resources: sent.flatMap(({ typeUrl, names, removed }) => [
      ...names.map((name) => `${kind(typeUrl)} ${anyShard(name)}`),
      ...removed.map((name) => `-${kind(typeUrl)} ${anyShard(name)}`),
    ]),
    routeBytes: sent
      .filter(({ typeUrl }) => kind(typeUrl) === 'RouteConfiguration')
      .reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

async function measureAll(hosts: number): Promise<Readonly<Record<string, Cost>>> {
  const gateway = await startGateway({
    emit: { routeSharding: true },
    manifests: [
      tlsSecret('wildcard', pair, 'shop'),
      ...Array.from({ length: SERVICES }, (_, index) => [
        service(`s${index}`, [{ port: 80 }], 'shop'),
        slice(index, '127.0.0.1'),
      ]).flat(),
      ...Array.from({ length: hosts }, (_, index) => tenant(index)),
    ],
  });
  try {
    return {
      path: await measure(gateway, tenant(8, { path: '/new' })),
      'path without TLS': await measure(gateway, tenant(hosts + 1, { tls: false })).then(() =>
        measure(gateway, tenant(hosts + 1, { tls: false, path: '/new' })),
      ),
      host: await measure(gateway, tenant(hosts + 2)),
      endpoint: await measure(gateway, slice(7, '127.0.0.2')),
      certificate: await measure(gateway, tlsSecret('wildcard', rotated, 'shop')),
      nothing: await measure(gateway, tenant(9)),
    };
  } finally {
    await gateway.close();
  }
}

test('the cost of a change at 1,000 and at 20,000 hosts', { timeout: 300_000 }, async () => {
  const few = await measureAll(1_000);
  const many = await measureAll(20_000);
  const lists = (costs: Readonly<Record<string, Cost>>) =>
    Object.fromEntries(
      Object.entries(costs).map(([change, { encodes, resources }]) => [change, { encodes, resources }]),
    );
  expect(lists(many)).toEqual(lists(few));
  expect(lists(many)).toEqual({
    // Over http the host redirects, whatever its paths.
    path: {
      encodes: { VirtualHost: 1, RouteConfiguration: 1 },
      resources: ['RouteConfiguration https/*'],
    },
    'path without TLS': {
      encodes: { VirtualHost: 1, RouteConfiguration: 2 },
      resources: ['RouteConfiguration http/*', 'RouteConfiguration https/*'],
    },
    host: {
      encodes: { VirtualHost: 2, RouteConfiguration: 2 },
      resources: ['RouteConfiguration http/*', 'RouteConfiguration https/*'],
    },
    endpoint: { encodes: { ClusterLoadAssignment: 1 }, resources: ['ClusterLoadAssignment shop/s7/80'] },
    certificate: { encodes: { Secret: 1 }, resources: ['Secret shop/wildcard'] },
    nothing: { encodes: {}, resources: [] },
  });
  // A shard is a shard, however many there are.
  for (const { routeBytes } of Object.values(many)) expect(routeBytes).toBeLessThan(400_000);
});
