/** EndpointSlices written by hand: what becomes of them in Envoy, and what it costs to change them. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { echoWebSocket } from '../../src/files/echo-websocket.ts';
import { peerCertificate } from '../support/http-client.ts';
import { endpointSlice, ingress, ingressClass, service, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { childrenOf } from '../support/process/processes.ts';
import { type Manifest, pathOf } from './support/api.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { difference, getJson, hostsOf, sentBy, socketsOf, untilAccepted, untilHosts } from './support/insight.ts';
import { allResources } from './support/inspect.ts';
import { type Account, createAccount } from './support/permissions.ts';
import { expectNothingLost, type Product, probe, request, served, startProduct } from './support/product.ts';
import { namespace } from './support/workloads.ts';

let cluster: Cluster;
let account: Account;
let product: Product;
let admin: string;
let debug: string;
const servers: Server[] = [];

beforeAll(async () => {
  cluster = await startCluster({ pods: false });
  account = await createAccount(cluster);
  execFileSync('ip', ['-6', 'route', 'add', 'local', 'fd00::/8', 'dev', 'lo']);
  servers.push(await answerEverywhere(8080), await answerEverywhere(9090));
  // The pod that the product believes to be, on a node in a zone.
  const zoned = { name: 'node', labels: { 'topology.kubernetes.io/zone': 'zone-a' } };
  const container = { name: 'controller', image: 'controller' };
  await cluster.api.apply(
    { kind: 'Node', metadata: zoned },
    {
      kind: 'Pod',
      metadata: { name: 'ingress-xds-0', namespace: account.namespace },
      spec: { nodeName: 'node', containers: [container] },
    },
    ingressClass('nginx', 'k8s.io/ingress-nginx'),
  );
  product = startProduct(cluster, { account, args: ['--enable-topology-aware-routing'] });
  await product.ready();
  ({ adminSocket: admin, debugSocket: debug } = socketsOf(product));
});
afterAll(async () => {
  await product?.stop();
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  await cluster?.stop();
});

/** Says on which address and port it was asked. */
async function answerEverywhere(port: number): Promise<Server> {
  const server = createServer({ keepAliveTimeout: 300_000 }, ({ socket }, response) =>
    response.end(`${socket.localAddress?.replace('::ffff:', '')}:${socket.localPort}`),
  );
  server.on('upgrade', (upgrade, socket, head) => {
    socket.on('error', () => socket.destroy());
    echoWebSocket(upgrade, socket, head, []);
  });
  server.listen(port, '::');
  await once(server, 'listening');
  return server;
}

const applied: Manifest[] = [];

afterEach(async () => {
  await cluster.api.remove(...applied.splice(0));
});

async function apply(...manifests: readonly Manifest[]): Promise<void> {
  applied.push(...manifests);
  await cluster.api.apply(...manifests);
}

function webIngress(ns: string, host: string, services: readonly string[] = ['web:80']): Manifest {
  const paths = services.map((name, index) => ({ path: index === 0 ? '/' : `/${index}`, service: name }));
  return ingress({ name: 'web', namespace: ns, rules: [{ host, paths }] });
}

/** `count` addresses from 10.129.0.1 on. */
function addresses(count: number, first = 1): string[] {
  return Array.from({ length: count }, (_, index) => `10.129.${(first + index) >> 8}.${(first + index) & 255}`);
}

const at = (list: readonly string[], port = 8080) => list.map((address) => `${address}:${port}`);

interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
  readonly hints?: { readonly forZones: readonly { readonly name: string }[] };
}

/** A slice of the Service `web` with these endpoints. */
function slice(ns: string, suffix: string, endpoints: readonly Endpoint[]): Manifest {
  return { ...endpointSlice('web', [], { namespace: ns, suffix }), endpoints };
}

const ready = (address: string): Endpoint => ({ addresses: [address], conditions: { ready: true } });

/** Resolves when Envoy has accepted every change before. */
async function fence(): Promise<void> {
  const ns = await namespace(cluster);
  const host = `${ns}.test`;
  const manifests = [service('web', undefined, ns), slice(ns, 'a', [ready('10.129.9.9')]), webIngress(ns, host)];
  await apply(...manifests);
  await untilHosts(admin, `${ns}/web/80`, ['10.129.9.9:8080']);
  await untilAccepted(debug);
}

describe('the endpoints of a Service', () => {
  test('are the union of its slices, each once, of both families, as far as they are ready', async () => {
    const ns = await namespace(cluster);
    const host = `${ns}.test`;
    const many = addresses(150);
    const lastOfFirst = many[99]!;
    await apply(
      service('web', undefined, ns),
      endpointSlice('web', many.slice(0, 100), { namespace: ns, suffix: 'a' }),
      // The controller moves endpoints between slices, and may show one in both for a moment.
      endpointSlice('web', many.slice(90), { namespace: ns, suffix: 'b' }),
      endpointSlice('web', ['fd00::1'], { namespace: ns, suffix: 'six', addressType: 'IPv6' }),
      slice(ns, 'others', [
        { addresses: ['10.129.1.1'], conditions: { ready: false } },
        { addresses: ['10.129.1.2'], conditions: { ready: false, serving: true, terminating: true } },
        // Nobody knows: counts as ready.
        { addresses: ['10.129.1.3'] },
      ]),
      webIngress(ns, host),
    );
    await untilHosts(admin, `${ns}/web/80`, [...at([...many, '10.129.1.3']), 'fd00::1:8080']);
    await served(host, { product });
    const answers = await Promise.all(Array.from({ length: 152 }, () => request(host)));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(152);

    const standing = await probe(host);
    await cluster.api.remove(endpointSlice('web', [], { namespace: ns, suffix: 'a' }));
    await untilHosts(admin, `${ns}/web/80`, [...at([...many.slice(90), '10.129.1.3']), 'fd00::1:8080']);
    expect(await hostsOf(admin, `${ns}/web/80`)).toContain(`${lastOfFirst}:8080`);
    await expectNothingLost(standing);
  });

  test('are those of the port that the Ingress names, by number or by name', async () => {
    const ns = await namespace(cluster);
    const host = `${ns}.test`;
    const ports = [
      { name: 'http', port: 80, targetPort: 8080 },
      { name: 'admin', port: 81, targetPort: 9090 },
    ];
    const both = {
      ...slice(ns, 'a', [ready('10.129.2.1')]),
      ports: ports.map(({ name, targetPort }) => ({ name, port: targetPort, protocol: 'TCP' })),
    };
    await apply(
      service('web', ports, ns),
      both,
      service('plain', [{ port: 8000, targetPort: 9090 }], ns),
      endpointSlice('plain', ['10.129.2.2'], { namespace: ns, port: 9090 }),
      webIngress(ns, host, ['web:http', 'web:admin', 'web:80', 'web:81', 'plain:8000']),
    );
    await served(host, { path: '/4', product });
    const paths = ['/', '/1', '/2', '/3', '/4'];
    const bodies = await Promise.all(paths.map(async (path) => (await request(host, { path })).body));
    expect(bodies).toEqual(
      ['8080', '9090', '8080', '9090'].map((port) => `10.129.2.1:${port}`).concat('10.129.2.2:9090'),
    );
  });

  test('are those with a hint for our zone, and all of them as soon as one has none', async () => {
    const ns = await namespace(cluster);
    const host = `${ns}.test`;
    const near = (address: string, zone: string): Endpoint => ({
      ...ready(address),
      hints: { forZones: [{ name: zone }] },
    });
    const aware = {
      ...service('web', undefined, ns),
      metadata: { name: 'web', namespace: ns, annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } },
    };
    const zones = [near('10.129.3.1', 'zone-a'), near('10.129.3.2', 'zone-b'), near('10.129.3.3', 'zone-a')];
    await apply(aware, slice(ns, 'a', zones), webIngress(ns, host));
    await untilHosts(admin, `${ns}/web/80`, at(['10.129.3.1', '10.129.3.3']));
    const standing = await probe(host);
    await cluster.api.apply(slice(ns, 'a', [...zones, ready('10.129.3.4')]));
    await untilHosts(admin, `${ns}/web/80`, at(['10.129.3.1', '10.129.3.2', '10.129.3.3', '10.129.3.4']));
    await cluster.api.apply(slice(ns, 'a', zones));
    await untilHosts(admin, `${ns}/web/80`, at(['10.129.3.1', '10.129.3.3']));
    // None is left for us: better far than nowhere.
    await cluster.api.apply(slice(ns, 'a', [zones[1]!]));
    await untilHosts(admin, `${ns}/web/80`, at(['10.129.3.2']));
    await expectNothingLost(standing);
    await cluster.api.apply(service('web', undefined, ns), slice(ns, 'a', zones));
  });
});

describe('changes of endpoints', () => {
  const CHANGES = 100;
  const SERVICES = 4;

  /** Services of which the first few will change; the rest stands beside them. */
  async function manyServices(): Promise<{ readonly ns: string; readonly host: string }> {
    const ns = await namespace(cluster);
    const host = `${ns}.test`;
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    await apply(
      ...names.flatMap((name) => [
        service(name, undefined, ns),
        endpointSlice(name, ['10.129.5.1', '10.129.5.2'], { namespace: ns }),
      ]),
      webIngress(
        ns,
        host,
        names.map((name) => `${name}:80`),
      ),
    );
    await served(host, { path: '/19', product });
    await fence();
    return { ns, host };
  }

  /** One change after another, as fast as the API server takes them. Every second one takes an address away, or brings it back. */
  async function churn(ns: string, name: string): Promise<void> {
    const path = pathOf(endpointSlice(name, [], { namespace: ns }));
    for (let change = 1; change <= CHANGES; change++) {
      const moving = change % 2 === 0 ? [] : [`10.129.6.${change}`];
      const endpoints = ['10.129.5.1', ...moving].map(ready);
      await cluster.api.patch(path, { endpoints });
    }
  }

  const churned = Array.from({ length: SERVICES }, (_, index) => `s${index}`);

  test('are sent at most once each, without anything beside them, and lose no request', async () => {
    const { ns, host } = await manyServices();
    const standing = await probe(host);
    const before = await sentBy(product);
    const resourcesBefore = await sentBy(product, 'ingress_xds_resources_sent_total');
    await Promise.all(churned.map((name) => churn(ns, name)));
    for (const name of churned) await untilHosts(admin, `${ns}/${name}/80`, ['10.129.5.1:8080']);
    const sent = difference(await sentBy(product), before);
    const resources = difference(await sentBy(product, 'ingress_xds_resources_sent_total'), resourcesBefore);
    expect(sent).toEqual({ listeners: 0, routes: 0, clusters: 0, secrets: 0, endpoints: expect.any(Number) });
    expect(resources.endpoints).toBeGreaterThanOrEqual(SERVICES);
    expect(resources.endpoints).toBeLessThanOrEqual(SERVICES * CHANGES);
    await expectNothingLost(standing);
  });

  test('are not queued for an Envoy that does not read: it gets the end state', async () => {
    const { ns, host } = await manyServices();
    const envoy = childrenOf(product.process.pid).find(({ command }) => /envoy\S* -c/.test(command));
    const before = await sentBy(product);
    process.kill(envoy!.pid, 'SIGSTOP');
    try {
      await Promise.all(churned.map((name) => churn(ns, name)));
      for (const name of churned) {
        await cluster.api.apply(endpointSlice(name, ['10.129.5.3'], { namespace: ns }));
        const page = `/debug/resources?type=endpoints&name=${ns}/${name}/80`;
        await eventually('that the last change is known', async () =>
          JSON.stringify(await getJson(debug, page)).includes('10.129.5.3'),
        );
      }
    } finally {
      process.kill(envoy!.pid, 'SIGCONT');
    }
    for (const name of churned) await untilHosts(admin, `${ns}/${name}/80`, ['10.129.5.3:8080']);
    await served(host, { product });
    await fence();
    const sent = difference(await sentBy(product), before);
    // One that was not answered, one with everything since then, and those of the fence.
    expect(sent.endpoints).toBeLessThanOrEqual(6);
  });

  test('from one slice into another are none', async () => {
    const { ns } = await manyServices();
    const endpointsOf = async () => (await allResources()).filter((line) => line.startsWith(`endpoints ${ns}/s0/80 `));
    const before = await endpointsOf();
    const sentBefore = await sentBy(product);
    const both = endpointSlice('s0', ['10.129.5.1', '10.129.5.2'], { namespace: ns });
    const first = endpointSlice('s0', ['10.129.5.1'], { namespace: ns });
    const second = endpointSlice('s0', ['10.129.5.2'], { namespace: ns, suffix: 'b' });
    for (let round = 0; round < 5; round++) {
      await cluster.api.apply(second, first, both);
      await cluster.api.remove(second);
    }
    await fence();
    // That of the fence alone.
    expect(difference(await sentBy(product), sentBefore).endpoints).toBe(1);
    expect(await endpointsOf()).toEqual(before);
  });

  test('that are taken back leave everything as it was', async () => {
    const { ns, host } = await manyServices();
    const before = await allResources();
    const standing = await probe(host);
    const both = endpointSlice('s0', ['10.129.5.1', '10.129.5.2'], { namespace: ns });
    const first = endpointSlice('s0', ['10.129.5.1'], { namespace: ns });
    for (let round = 0; round < 20; round++) await cluster.api.apply(first, both);
    const ephemeral = endpointSlice('s0', ['10.129.5.9'], { namespace: ns, suffix: 'b' });
    await cluster.api.apply(ephemeral);
    await cluster.api.remove(ephemeral);
    await untilHosts(admin, `${ns}/s0/80`, at(['10.129.5.1', '10.129.5.2']));
    await eventually('what there was', async () => (await allResources()).join() === before.join());
    await expectNothingLost(standing);
  });
});

test('the longest names that the API server takes are served', async () => {
  const long = (length: number, letter: string) => letter.repeat(length);
  const ns = long(63, 'n');
  const label = long(63, 'h');
  const host = `${label}.${label}.${label}.${long(56, 'h')}.test`;
  expect(host).toHaveLength(253);
  const serviceName = long(63, 's');
  const portName = long(15, 'p');
  const secretName = long(253, 'c');
  const path = `/${long(1000, 'p')}`;
  await cluster.api.apply({ kind: 'Namespace', metadata: { name: ns } });
  await apply(
    service(serviceName, [{ name: portName, port: 65_535, targetPort: 8080 }], ns),
    endpointSlice(serviceName, ['10.129.4.1'], { namespace: ns, portName }),
    tlsSecret(secretName, await makePair([host]), ns),
    ingress({
      name: long(253, 'i'),
      namespace: ns,
      rules: [{ host, paths: [{ path, service: `${serviceName}:${portName}` }] }],
      tls: [{ hosts: [host], secretName }],
    }),
  );
  await served(host, { path: `${path}/x`, tls: true, product });
  await untilHosts(admin, `${ns}/${serviceName}/65535`, at(['10.129.4.1']));
  expect((await peerCertificate(443, host)).subjectaltname).toBe(`DNS:${host}`);
});

test('objects make the same configuration in whatever order they come, and leave nothing in whatever order they go', async () => {
  const ns = await namespace(cluster);
  const host = `${ns}.test`;
  const objects: readonly Manifest[] = [
    service('web', undefined, ns),
    endpointSlice('web', ['10.129.7.1', '10.129.7.2'], { namespace: ns }),
    tlsSecret('cert', await makePair([host]), ns),
    ingress({
      name: 'web',
      namespace: ns,
      rules: [{ host, paths: [{ service: 'web:80' }] }],
      tls: [{ hosts: [host], secretName: 'cert' }],
    }),
  ];
  const everything = async () => (await allResources()).join('\n');
  const empty = await everything();
  const known = await countObjects();
  let full: string | undefined;
  for (const order of permutations(objects)) {
    const names = order.map(({ kind }) => kind).join(', ');
    for (const object of order) {
      await apply(object);
      // A Secret is read only when an Ingress refers to it.
      if (object.kind === 'Secret') continue;
      await eventually(`a ${object.kind}`, async () => (await countObjects())[object.kind] === known[object.kind]! + 1);
    }
    await eventually(`all of ${names}`, async () => (await request(host, { tls: true })).status === 200);
    full ??= await everything();
    expect(full).not.toBe(empty);
    await eventually(`the same after ${names}`, async () => (await everything()) === full);
    for (const object of order) {
      await cluster.api.remove(object);
      await eventually(`no ${object.kind}`, async () => (await countObjects())[object.kind] === known[object.kind]);
    }
    applied.length = 0;
    await eventually(`nothing of ${names}`, async () => (await everything()) === empty);
  }
});

/** Those that the product knows, by kind. */
async function countObjects(): Promise<Readonly<Record<string, number>>> {
  const metrics = await product.metrics();
  const labels = { Service: 'service', EndpointSlice: 'endpoint-slice', Ingress: 'ingress', Secret: 'secret' };
  const counts = Object.entries(labels).map(([kind, label]) => [
    kind,
    metrics.sum('ingress_xds_objects', { kind: label }),
  ]);
  return Object.fromEntries(counts);
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));
}
