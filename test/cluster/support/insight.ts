/** What an Envoy and a control plane say about themselves over their Unix sockets. */
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RuntimePaths, runtimePaths } from '../../../src/cli/runtime-folder.ts';
import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import type { Product } from './product.ts';

/** The sockets of a `run`. */
export function socketsOf({ process }: Product): Pick<RuntimePaths, 'adminSocket' | 'debugSocket'> {
  const folder = readdirSync(tmpdir()).find((name) => name.startsWith(`ingress-xds-${process.pid}-`));
  if (folder === undefined) throw new Error('the product has no folder for its sockets');
  return runtimePaths(join(tmpdir(), folder));
}

/** Waits until every connected Envoy has accepted all that the control plane has. */
export async function untilAccepted(debugSocket: string): Promise<void> {
  await eventually('that Envoy has accepted everything', async () => {
    const streams: readonly { readonly upToDate: boolean }[] = await getJson(debugSocket, '/debug/streams');
    return streams.length > 0 && streams.every(({ upToDate }) => upToDate);
  });
}

/** Envoy's admin interface, of one that `startEnvoy` has started. */
export function adminSocket(cluster: Cluster, envoy = 'envoy-0'): string {
  return join(cluster.folder, 'envoy', envoy, 'admin.sock');
}

/** An answer in JSON. Rejects for a status other than 200. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many kinds
export async function getJson(socketPath: string, path: string): Promise<any> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const outgoing = request({ socketPath, path, agent: false, timeout: 10_000 }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(`${path}: ${text}`))));
    response.on('error', reject);
  });
  outgoing.on('timeout', () => outgoing.destroy(new Error(`${path}: no answer`)));
  outgoing.on('error', reject);
  outgoing.end();
  return JSON.parse(await promise);
}

/**
 * The endpoints that Envoy has for `NAMESPACE/SERVICE/PORT`, sorted: `10.200.1.1:8080`. Each as often as it is there.
 * Undefined: it does not know the cluster.
 */
export async function hostsOf(socketPath: string, cluster: string): Promise<readonly string[] | undefined> {
  const { cluster_statuses: clusters } = await getJson(socketPath, '/clusters?format=json');
  const status = clusters.find(({ name }: { readonly name: string }) => name === cluster);
  const hosts: readonly HostStatus[] = status?.host_statuses ?? [];
  return (
    status &&
    hosts
      .map(({ address: { socket_address: at } }) => `${at.address}:${at.port_value}`)
      .toSorted((a, b) => (a < b ? -1 : 1))
  );
}

interface HostStatus {
  readonly address: { readonly socket_address: { readonly address: string; readonly port_value: number } };
}

/** Waits until Envoy has exactly these endpoints. */
export async function untilHosts(socketPath: string, cluster: string, wanted: readonly string[]): Promise<void> {
  const expected = JSON.stringify(wanted.toSorted((a, b) => (a < b ? -1 : 1)));
  let seen: string | undefined;
  const equal = async () => {
    seen = JSON.stringify(await hostsOf(socketPath, cluster));
    return seen === expected;
  };
  await eventually(`the endpoints of ${cluster}`, equal, { describe: () => `wanted ${expected}\nhave   ${seen}` });
}

/** Responses per type of resource. */
export type Sent = Readonly<Record<'listeners' | 'routes' | 'clusters' | 'endpoints' | 'secrets', number>>;

/** What a control plane has sent so far; `name` is that of a counter with the label `type`. */
export async function sentBy(product: Product, name = 'ingress_xds_responses_total'): Promise<Sent> {
  const metrics = await product.metrics();
  const of = (type: string) => metrics.sum(name, { type });
  return {
    listeners: of('Listener'),
    routes: of('RouteConfiguration'),
    clusters: of('Cluster'),
    endpoints: of('ClusterLoadAssignment'),
    secrets: of('Secret'),
  };
}

export function difference(after: Sent, before: Sent): Sent {
  const entries = Object.entries(after).map(([type, count]) => [type, count - before[type as keyof Sent]]);
  return Object.fromEntries(entries) as unknown as Sent;
}
