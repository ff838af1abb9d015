/** What a start and a change cost in a cluster: from the write to the API server until Envoy answers by it. */
import { X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Manifest } from '../../cluster/support/api.ts';
import { type Cluster, startCluster } from '../../cluster/support/cluster.ts';
import { eventually } from '../../cluster/support/eventually.ts';
import { createAccount } from '../../cluster/support/permissions.ts';
import { type Product, served, startProduct } from '../../cluster/support/product.ts';
import { peerCertificate } from '../../support/http-client.ts';
import { ingressClass, tlsSecret } from '../../support/manifests.ts';
import { makePair } from '../../support/pki.ts';
import { type Change, type ChangeKind, makeChange } from '../changes.ts';
import { type Summary, summarizeAll } from '../statistics.ts';
import { hostOf, NAMESPACE, nameAt } from '../world.ts';
import { BACKENDS, inCluster, load, startBackends } from './load.ts';

/** In this order: what is made first is what `deletion` removes. */
export const clusterChanges = [
  'path',
  'endpoint',
  'certificate',
  'new host',
  'deletion',
] as const satisfies ChangeKind[];

/** Milliseconds. */
export interface ClusterChange {
  /** From the API server's answer to the write until Envoy answers by it. */
  readonly seenMs: number;
  /** From there until the control plane has noted that Envoy has accepted everything. */
  readonly ackMs: number;
  /** The part of it after the commit, as `ingress_xds_change_to_ack_seconds` has it. */
  readonly commitToAckMs: number;
}

export interface ClusterResult {
  readonly ingresses: number;
  /** Milliseconds from the start of the program until `/readyz` and the last host answer. */
  readonly readyMs: number;
  readonly servedMs: number;
  /** CPU of the control plane until then, seconds: other programs make it wait, but hardly take longer. */
  readonly cpuSeconds: number;
  /** Requests of the start by kind of object, one for each page of a list. */
  readonly lists: Readonly<Record<string, number>>;
  /** Of as many as there are Ingresses: every second one is named by nobody. */
  readonly heldSecrets: number;
  /** Bytes of the control plane's process. */
  readonly residentBytes: number;
  /** What it takes for each Ingress more than without any. */
  readonly bytesPerIngress: number;
  readonly changes: Readonly<Record<(typeof clusterChanges)[number], Readonly<Record<keyof ClusterChange, Summary>>>>;
}

export interface ClusterBenchOptions {
  /** Rising. */
  readonly sizes: readonly number[];
  /** How often each kind of change is made, after two rounds that do not count. */
  readonly repeat: number;
  readonly onProgress?: (line: string) => void;
}

const WARM_UP_ROUNDS = 2;
const ACKS = 'ingress_xds_change_to_ack_seconds';
const READY_MS = 180_000;

/** To be called in the network namespace of the test cluster. */
export async function measureCluster(options: ClusterBenchOptions): Promise<ClusterResult[]> {
  const { sizes, onProgress = () => {} } = options;
  const cluster = await startCluster({ pods: false });
  const stopBackends = await startBackends();
  try {
    const account = await createAccount(cluster);
    await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'), {
      kind: 'Namespace',
      metadata: { name: NAMESPACE },
    });
    const start = async () => {
      const product = startProduct(cluster, { account });
      const begin = performance.now();
      await eventually('ready', async () => (await product.health('/readyz')) === 200, {
        timeoutMs: READY_MS,
        describe: product.log,
      });
      return { product, begin, readyMs: performance.now() - begin };
    };
    const { product: empty } = await start();
    const emptyBytes = await resident(empty);
    await empty.stop();
    const results: ClusterResult[] = [];
    let loaded = 0;
    for (const [index, ingresses] of sizes.entries()) {
      onProgress(`creating ${ingresses - loaded} Ingresses, each with a Service, an EndpointSlice and a Secret`);
      await load(cluster.api, loaded, ingresses);
      loaded = ingresses;
      const before = cluster.audit(account.user).length;
      onProgress(`measuring ${ingresses} Ingresses`);
      const { product, begin, readyMs } = await start();
      try {
        // The last ones, with TLS and without.
        await served(hostOf(nameAt(ingresses - 1)), { path: '/shop', timeoutMs: READY_MS, product });
        await served(hostOf(nameAt(ingresses - 2)), { path: '/shop', tls: true, timeoutMs: READY_MS, product });
        const servedMs = performance.now() - begin;
        const cpuSeconds = (await product.metrics()).sum('process_cpu_seconds_total');
        const lists: Record<string, number> = {};
        for (const { verb, resource, stage } of cluster.audit(account.user).slice(before)) {
          if (verb === 'list' && stage === 'ResponseComplete') lists[resource] = (lists[resource] ?? 0) + 1;
        }
        await statusesWritten(cluster, ingresses);
        const heldSecrets = (await product.metrics()).sum('ingress_xds_objects', { kind: 'secret' });
        const residentBytes = await resident(product);
        const bytesPerIngress = (residentBytes - emptyBytes) / ingresses;
        // What a smaller number has been changed by stays: other rounds change other objects.
        const rounds = { firstRound: index * (WARM_UP_ROUNDS + options.repeat), repeat: options.repeat };
        const changes = await measureChanges(cluster, product, ingresses, rounds);
        results.push({
          ingresses,
          readyMs,
          servedMs,
          cpuSeconds,
          lists,
          heldSecrets,
          residentBytes,
          bytesPerIngress,
          changes,
        });
      } finally {
        await product.stop('SIGKILL');
      }
    }
    return results;
  } finally {
    stopBackends();
    await cluster.stop();
  }
}

async function resident(product: Product): Promise<number> {
  return (await product.metrics()).sum('process_resident_memory_bytes');
}

/** Until then the leader is busy with them. */
async function statusesWritten({ api }: Cluster, ingresses: number): Promise<void> {
  const written = async () => {
    const items = await api.list(`/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/ingresses`);
    const left = items.filter(({ status }) => status?.loadBalancer?.ingress === undefined).length;
    if (left > 0) throw new Error(`${left} of ${ingresses} have no address`);
    return true;
  };
  await eventually('all statuses', written, { timeoutMs: READY_MS, everyMs: 1000 });
}

async function measureChanges(
  cluster: Cluster,
  product: Product,
  ingresses: number,
  { firstRound, repeat }: { readonly firstRound: number; readonly repeat: number },
): Promise<ClusterResult['changes']> {
  const costs = Object.fromEntries(clusterChanges.map((kind): [string, ClusterChange[]] => [kind, []]));
  const counting = firstRound + WARM_UP_ROUNDS;
  for (let round = firstRound; round < counting + repeat; round++) {
    for (const kind of clusterChanges) {
      const cost = await measureChange(cluster, product, kind, { round, ingresses });
      if (round >= counting) costs[kind]?.push(cost);
    }
  }
  return Object.fromEntries(
    clusterChanges.map((kind) => [kind, summarizeAll(costs[kind] ?? [])]),
  ) as ClusterResult['changes'];
}

async function measureChange(
  { api }: Cluster,
  product: Product,
  kind: ChangeKind,
  { round, ingresses }: { readonly round: number; readonly ingresses: number },
): Promise<ClusterChange> {
  const context = { ingresses, httpPort: 80, httpsPort: 443, backends: BACKENDS };
  const { request, seen } = await (kind === 'certificate'
    ? renewal(round, ingresses)
    : makeChange(kind, round, context));
  // The Ingress last: the others have no effect without it. The first to go is the Ingress, for the same reason.
  const upserts = (request.upsert ?? []).map((manifest) => inCluster(manifest, ingresses + round));
  const [last, ...others] = upserts.toSorted((a, b) => Number(b.kind === 'Ingress') - Number(a.kind === 'Ingress'));
  const [first, ...rest] = (request.remove ?? []).map(({ kind: kindOf, name, namespace }) =>
    manifestOf(kindOf, name, namespace),
  );
  await api.apply(...others);
  if (await seen()) throw new Error(`${kind}: Envoy answers already as it should only after the change`);
  const before = await acknowledged(product);
  if (last !== undefined) await api.apply(last);
  else if (first !== undefined) await api.remove(first);
  const startedAt = performance.now();
  const deadline = startedAt + 60_000;
  while (!(await seen())) {
    if (performance.now() > deadline)
      throw new Error(`${kind}: not seen within a minute\n${product.log().slice(-2000)}`);
    await delay(1);
  }
  const seenMs = performance.now() - startedAt;
  const after = await eventually(
    'acknowledged',
    async () => {
      const now = await acknowledged(product);
      return now.count > before.count && now;
    },
    { everyMs: 5 },
  );
  const ackMs = performance.now() - startedAt;
  await api.remove(...rest);
  return { seenMs, ackMs, commitToAckMs: ((after.sum - before.sum) / (after.count - before.count)) * 1000 };
}

/** Here each host has a certificate of its own. */
async function renewal(round: number, ingresses: number): Promise<Change> {
  const name = nameAt((2 * round) % ingresses);
  const pair = await makePair([hostOf(name)]);
  const { fingerprint256 } = new X509Certificate(pair.chain);
  return {
    request: { upsert: [tlsSecret(name, pair, NAMESPACE)] },
    seen: async () => (await peerCertificate(443, hostOf(name))).fingerprint256 === fingerprint256,
  };
}

async function acknowledged(product: Product): Promise<{ readonly count: number; readonly sum: number }> {
  const metrics = await product.metrics();
  return { count: metrics.sum(`${ACKS}_count`), sum: metrics.sum(`${ACKS}_sum`) };
}

const GROUPS: Readonly<Record<string, string>> = {
  Ingress: 'networking.k8s.io/v1',
  EndpointSlice: 'discovery.k8s.io/v1',
};

function manifestOf(kind: string, name: string, namespace: string): Manifest {
  return { apiVersion: GROUPS[kind] ?? 'v1', kind, metadata: { name, namespace } };
}
