/** Whatever users write into their annotations, Envoy takes what comes of it, and nothing of it is lost. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { annotationFeatures } from '../../src/ingress/annotations/index.ts';
import { annotated } from '../annotations/table.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { configMap, externalName, ingress, type Manifest, service } from '../support/manifests.ts';

const ROUNDS = 60;
const INGRESSES = 24;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    build: { configMap: 'default/config', sslPassthrough: true },
    manifests: [
      service('web'),
      service('api'),
      externalName('far', 'backend.example.com'),
      configMap('config', {
        // So that snippets and what is above the usual risk are looked at too.
        'annotations-risk-level': 'Critical',
        'allow-snippet-annotations': 'true',
        // Without a collector nothing is traced.
        'otlp-collector-host': '127.0.0.1',
      }),
    ],
  });
});
afterAll(() => gateway?.close());

const keys = annotationFeatures.flatMap((feature) => Object.entries(feature.keys));

/** What somebody could take for a value of any key. */
const COMMON = [
  ...['', ' ', 'true', 'false', 'on', 'off', '0', '1', '-1', '10', '4294967296', '60s', '8m', '1g', 'basic'],
  ...['/', '/$1', '/$2', '/$9', '/a/$1?x=$2', '$1', 'https://other.example.com/$1', '//', '/%2e%2e', '/a b'],
  ...[
    'https://$host$request_uri',
    'http://127.0.0.1/',
    '$http_x-$arg_y',
    '$\u007bcookie_z}',
    '$unknown',
    '100%',
    '%REQ(x)%',
  ],
  ...['(', '[a-', '(?!a)b', '(a+)+$', '\\1', '*', '*.example.com', '~^a.*', 'A.example.com', 'a,b,,c', 'a=b; c'],
  ...['"quoted"', "'", '`', '{', '}', ';', '\n', 'two\nlines', '\u0000', '\u007f', 'ä', '\u{1f600}', 'x'.repeat(5_000)],
  ...[
    '10.0.0.0/8,::1',
    '10.0.0.0/99',
    '0.0.0.0/0',
    'X-A: b',
    'default/config',
    'default/nowhere',
    'TLSv1.3',
    'HIGH:!aNULL',
  ],
];

const annotation = fc
  .constantFrom(...keys)
  .chain(([name, { example }]) =>
    fc
      .oneof({ weight: 2, arbitrary: fc.constant(example) }, { weight: 3, arbitrary: fc.constantFrom(...COMMON) })
      .map((value) => [name, value] as const),
  );

const one = fc.record({
  annotations: fc.array(annotation, { minLength: 3, maxLength: 3 }),
  host: fc.constantFrom('a.example.com', 'b.example.com', 'c.example.com', '*.example.com', undefined),
  path: fc.constantFrom('/', '/a', '/a/', '/a(/|$)(.*)', '/[a-z]+', '/(?!b)c', '/b%20c'),
  pathType: fc.constantFrom('Prefix', 'Exact', 'ImplementationSpecific'),
  service: fc.constantFrom('web:80', 'api:80', 'far:80', 'missing:80'),
  tls: fc.boolean(),
});

type Wanted = typeof one extends fc.Arbitrary<infer T> ? T : never;

function manifest(index: number, { annotations, host, path, pathType, service: backend, tls }: Wanted): Manifest {
  return ingress({
    name: `any-${index}`,
    annotations: annotated(Object.fromEntries(annotations)),
    rules: [{ ...(host !== undefined && { host }), paths: [{ path, pathType, service: backend }] }],
    ...(tls && host !== undefined && { tls: [{ hosts: [host] }] }),
  });
}

test('three annotations on each of many Ingresses, over and over', async () => {
  const seed = Number(process.env['SEED'] ?? 20_260_301);
  for (let round = 0; round < ROUNDS; round++) {
    const wanted = fc.sample(one, { numRuns: INGRESSES, seed: seed + round });
    const manifests = wanted.map((each, index) => manifest(index, each));
    const explain = () => `seed ${seed}, round ${round}: ${JSON.stringify(wanted)}`;
    await gateway.apply(...manifests).catch((error: unknown) => {
      throw new Error(explain(), { cause: error });
    });
    const rejected = gateway.events.filter(({ kind }) => kind === 'nack');
    expect(rejected, explain()).toEqual([]);
    const broken = gateway.pipeline.controller
      .currentDiagnostics()
      .filter(({ code }) => code === 'UnitFailed' || code === 'ResourceInvalid');
    expect(broken, explain()).toEqual([]);
  }
});
