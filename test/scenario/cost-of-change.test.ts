/**
 * A change costs what it changes, not what exists: the units that run, the messages that are encoded and the resources that are
 * sent are the same lists at 100 and at 2,000 Ingresses. Only a route table grows with its hosts; its bytes are left out.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { annotationFeatures } from '../../src/ingress/annotations/index.ts';
import { isEffective } from '../../src/ingress/declaration/support.ts';
import { typeUrls } from '../../src/xds/resource.ts';
import { annotated } from '../annotations/table.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { endpointSlice, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair, type Pair } from '../support/pki.ts';

interface Cost {
  /** Table → number of units that ran. */
  readonly units: Readonly<Record<string, number>>;
  /** Kind of message → number of encodes. */
  readonly encodes: Readonly<Record<string, number>>;
  /** `Cluster shop/web/80`, in the order in which they were sent; `-` in front of what was removed. */
  readonly resources: readonly string[];
  /** Bytes of all responses but those of route tables, without the nonces: those count responses, and grow. */
  readonly bytes: number;
}

const hostName = (index: number) => `h${String(index).padStart(5, '0')}.example.com`;

function tenant(
  index: number,
  more: {
    readonly path?: string;
    readonly addresses?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  } = {},
): Manifest[] {
  const name = `t${String(index).padStart(5, '0')}`;
  return [
    ingress({
      name,
      namespace: 'shop',
      annotations: annotated(more.annotations ?? {}),
      rules: [
        {
          host: hostName(index),
          paths: [{ service: `${name}:80` }, ...(more.path ? [{ path: more.path, service: `${name}:80` }] : [])],
        },
      ],
      tls: [{ hosts: [hostName(index)], secretName: 'wildcard' }],
    }),
    service(name, [{ port: 80 }], 'shop'),
    endpointSlice(name, more.addresses ?? ['127.0.0.1'], { namespace: 'shop' }),
  ];
}

let pair: Pair;
let rotated: Pair;

beforeAll(async () => {
  pair = await makePair(['*.example.com']);
  rotated = await makePair(['*.example.com']);
});

/** What the change made the product do. */
async function measure(gateway: Gateway, manifests: readonly Manifest[]): Promise<Cost> {
  const { engine, emitter } = gateway.pipeline;
  const runsBefore = engine.counters();
  const encodesBefore = emitter.counters();
  const sentBefore = gateway.events.length;
  await gateway.apply(...manifests);
  const sent = gateway.events.slice(sentBefore).filter((event) => event.kind === 'response');
  const shortName = (typeUrl: string) => typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
  return {
    units: positive(
      Object.entries(engine.counters()).map(([table, { runs }]) => [table, runs - (runsBefore[table]?.runs ?? 0)]),
    ),
    encodes: positive(
      Object.entries(emitter.counters()).map(([kind, count]) => [kind, count - (encodesBefore[kind] ?? 0)]),
    ),
    resources: sent.flatMap(({ typeUrl, names, removed }) => [
      ...names.map((name) => `${shortName(typeUrl)} ${name}`),
      ...removed.map((name) => `-${shortName(typeUrl)} ${name}`),
    ]),
    bytes: sent
      .filter(({ typeUrl }) => typeUrl !== typeUrls.routes)
      .reduce((sum, { bytes, nonce }) => sum + bytes - nonce.length, 0),
  };
}

function positive(counts: readonly (readonly [string, number])[]): Record<string, number> {
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

async function measureAll(hosts: number): Promise<Record<string, Cost>> {
  const gateway = await startGateway({
    manifests: [
      tlsSecret('wildcard', pair, 'shop'),
      ...Array.from({ length: hosts }, (_, index) => tenant(index)).flat(),
    ],
  });
  try {
    return {
      endpoint: await measure(gateway, [endpointSlice('t00007', ['127.0.0.2'], { namespace: 'shop' })]),
      path: await measure(gateway, tenant(8, { path: '/new' })),
      certificate: await measure(gateway, [tlsSecret('wildcard', rotated, 'shop')]),
      host: await measure(gateway, tenant(99_999)),
      nothing: await measure(gateway, tenant(9)),
      ...(await measureAnnotations(gateway)),
    };
  } finally {
    await gateway.close();
  }
}

const annotations = annotationFeatures
  .flatMap(({ keys }) => Object.entries(keys))
  .filter(([, { envoy }]) => isEffective(envoy));

/** Each on an Ingress of its own, as long as there are some. */
async function measureAnnotations(gateway: Gateway): Promise<Record<string, Cost>> {
  const costs: Record<string, Cost> = {};
  for (const [index, [name, { example }]] of annotations.entries()) {
    const change = tenant(10 + (index % 80), { annotations: { [name]: example } });
    costs[name] = await measure(gateway, change);
  }
  return costs;
}

describe('the cost of a change', () => {
  let few: Record<string, Cost>;
  let many: Record<string, Cost>;

  beforeAll(async () => {
    few = await measureAll(100);
    many = await measureAll(2_000);
  }, 120_000);

  test.each(['endpoint', 'path', 'certificate', 'host', 'nothing'])(
    '%s: the same with 100 and with 2,000 Ingresses',
    (kind) => {
      expect(many[kind]).toEqual(few[kind]);
    },
  );

  test.each(annotations.map(([name]) => name))('%s: the same with 100 and with 2,000 Ingresses', (name) => {
    expect(many[name]).toEqual(few[name]);
    expect(Object.keys(few[name]?.units ?? {}), 'the Ingress is looked at').toContain('served-ingress');
    // Of its host in both tables, of an Ingress that had another annotation before, and of what belongs to its host.
    expect(few[name]?.encodes['VirtualHost'] ?? 0).toBeLessThanOrEqual(4);
  });

  test('an endpoint: one encode, one resource', () => {
    expect(few['endpoint']).toMatchObject({
      encodes: { ClusterLoadAssignment: 1 },
      resources: ['ClusterLoadAssignment shop/t00007/80'],
      units: { endpoints: 1, 'endpoints-resource': 1 },
    });
  });

  test('a path: one VirtualHost encoded, one table sent', () => {
    expect(few['path']).toMatchObject({
      encodes: { VirtualHost: 1 },
      resources: ['RouteConfiguration https'],
    });
  });

  test('a rotated certificate: one secret', () => {
    expect(few['certificate']).toMatchObject({ encodes: { Secret: 1 }, resources: ['Secret shop/wildcard'] });
  });

  test('a new host with a known certificate: no listener, no secret', () => {
    const { resources = [] } = few['host'] ?? {};
    expect(resources.filter((resource) => /^-?(Listener|Secret)/.test(resource))).toEqual([]);
    expect(resources).toContain('Cluster shop/t99999/80');
  });

  test('an object that is as before costs nothing', () => {
    expect(few['nothing']).toEqual({ units: {}, encodes: {}, resources: [], bytes: 0 });
  });
});
