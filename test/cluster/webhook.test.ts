/** The validating webhook as a real API server asks it. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { createReviewer, describeDenial, type Reviewed } from '../../src/admission/reviewer.ts';
import { type AdmissionServer, createAdmissionServer } from '../../src/admission/server.ts';
import { ClusterState } from '../../src/cluster/cluster-state.ts';
import { decodeObject } from '../../src/cluster/decode.ts';
import { Engine } from '../../src/derive.ts';
import { createEmitter } from '../../src/envoy/emit.ts';
import { createChecker } from '../../src/envoy/encoder.ts';
import { createBuild } from '../../src/ingress/build.ts';
import { defaultOptions } from '../../src/ingress/testing.ts';
import { makePair } from '../support/pki.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { namespace } from './support/workloads.ts';

let cluster: Cluster;
let server: AdmissionServer;
let ns: string;
let readCluster: () => Promise<void>;
let synced = true;
const reviewed: Reviewed[] = [];

beforeAll(async () => {
  cluster = await startCluster({ pods: false });
  ns = await namespace(cluster);
  const engine = new Engine();
  const state = new ClusterState(engine);
  const options = { ...defaultOptions(await makePair(['generated'])), configMap: `${ns}/config` };
  const build = createBuild(engine, state, options);
  const reviewer = createReviewer({
    ...{ engine, state, build, options, synced: () => synced },
    emit: (small, model) =>
      createEmitter(small, model, { ipv6: false, accessLog: true, routeSharding: false }, createChecker()),
    onReviewed: (review) => reviewed.push(review),
  });
  readCluster = async () => {
    for (const [group, kind, path] of [
      ['v1', 'ConfigMap', `/api/v1/namespaces/${ns}/configmaps`],
      ['v1', 'Service', `/api/v1/namespaces/${ns}/services`],
      ['networking.k8s.io/v1', 'IngressClass', '/apis/networking.k8s.io/v1/ingressclasses'],
      ['networking.k8s.io/v1', 'Ingress', '/apis/networking.k8s.io/v1/ingresses'],
    ] as const) {
      const items = await cluster.api.list(path);
      const decoded = items.map((item) =>
        decodeObject({ ...item, apiVersion: group, kind }, { keepResourceVersion: true }),
      );
      state.apply(decoded.flatMap(({ objects }) => objects.map((upsert) => ({ upsert }))));
    }
    engine.pass();
  };
  const { chainPath: certificatePath, keyPath } = cluster.pki.server;
  const onLog = () => {};
  server = createAdmissionServer({
    certificatePath,
    keyPath,
    host: '127.0.0.1',
    port: 0,
    review: reviewer.review,
    onLog,
  });
  const { port } = await server.listen();
  await cluster.api.apply(
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'nginx' },
      spec: { controller: 'k8s.io/ingress-nginx' },
    },
    { kind: 'Service', metadata: { name: 'web', namespace: ns }, spec: { ports: [{ port: 80 }] } },
  );
  await readCluster();
  await cluster.api.create('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'ingress-nginx-admission' },
    webhooks: [
      {
        name: 'validate.nginx.ingress.kubernetes.io',
        matchPolicy: 'Equivalent',
        rules: [
          {
            apiGroups: ['networking.k8s.io'],
            apiVersions: ['v1'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['ingresses'],
          },
        ],
        failurePolicy: 'Fail',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        clientConfig: {
          url: `https://127.0.0.1:${port}/networking/v1/ingresses`,
          caBundle: Buffer.from(cluster.pki.ca).toString('base64'),
        },
      },
    ],
  });
  // The API server needs a moment to hear of its webhook.
  await eventually('the webhook is asked', async () => {
    await create(ingress('probe', 'probe.example.com'), '?dryRun=All');
    return reviewed.length > 0;
  });
});

afterAll(async () => {
  await server?.close();
  await cluster?.stop();
});

interface IngressFields {
  readonly path?: string;
  readonly service?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

function ingress(name: string, host: string, { path = '/', service = 'web', annotations = {} }: IngressFields = {}) {
  const backend = { service: { name: service, port: { number: 80 } } };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name, namespace: ns, annotations },
    spec: { ingressClassName: 'nginx', rules: [{ host, http: { paths: [{ path, pathType: 'Prefix', backend }] } }] },
  };
}

const create = (object: unknown, query = '') =>
  cluster.api.send('POST', `/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses${query}`, object);

test('allows, with warnings that kubectl prints', async () => {
  const { status, headers } = await create(ingress('good', 'good.example.com'));
  expect(status).toBe(201);
  expect(headers['warning']).toBeUndefined();
  const second = await create(ingress('nowhere', 'nowhere.example.com', { service: 'gone' }));
  expect(second.status).toBe(201);
  expect(second.headers['warning']).toMatch(
    /backend\.service\.name: Service .*\/gone does not exist \(ServiceNotFound\)/,
  );
  await readCluster();
});

test('denies what overlaps, what is refused, and what the ConfigMap forbids', async () => {
  const overlap = await create(ingress('twin', 'good.example.com'));
  expect(overlap.status).toBe(400);
  expect(overlap.body).toMatchObject({
    reason: 'BadRequest',
    message: expect.stringMatching(/belong to Ingress .*\/good already/),
  });
  const refused = await create(ingress('lua', 'lua.example.com', { path: '/x_by_lua' }));
  expect(refused.status).toBe(400);
  const snippet = ingress('snippet', 's.example.com', { annotations: { 'example.com/a-snippet': 'x' } });
  expect((await create(snippet)).body.message).toMatch(/snippets are not allowed/);
  await cluster.api.apply({
    kind: 'ConfigMap',
    metadata: { name: 'config', namespace: ns },
    data: { 'allow-snippet-annotations': 'true' },
  });
  await readCluster();
  expect((await create(snippet)).status).toBe(201);
  expect(reviewed.flatMap((review) => describeDenial(review) ?? [])).toEqual([
    expect.stringMatching(/^denied CREATE of Ingress .*\/twin: /),
    expect.stringMatching(/^denied CREATE of Ingress .*\/lua: /),
    expect.stringMatching(/^denied CREATE of Ingress .*\/snippet: /),
  ]);
});

test('reviews updates, and lets a wrong Ingress be removed', async () => {
  await create(ingress('edited', 'edited.example.com'));
  await readCluster();
  const path = `/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses/edited`;
  const patch = (body: unknown) => cluster.api.send('PATCH', path, body, 'application/merge-patch+json');
  expect(
    (await patch({ metadata: { annotations: { 'example.com/note': 'x' }, finalizers: ['example.com/wait'] } })).status,
  ).toBe(200);
  const moved = ingress('edited', 'good.example.com').spec;
  expect((await patch({ spec: moved })).body.message).toMatch(/belong to Ingress/);
  await cluster.api.send('DELETE', path);
  const reviews = reviewed.length;
  expect((await patch({ spec: moved, metadata: { finalizers: [] } })).status).toBe(200);
  expect(reviewed.slice(reviews)).toMatchObject([{ operation: 'UPDATE', name: 'edited', warnings: [] }]);
});

test('without an answer the failurePolicy decides', async () => {
  synced = false;
  const { status, body } = await create(ingress('early', 'early.example.com'));
  synced = true;
  expect(status).toBe(500);
  expect(body.message).toMatch(/failed calling webhook/);
  expect((await create(ingress('early', 'early.example.com'))).status).toBe(201);
});
