/** Which addresses the status of Ingresses shows, found out again and again. */

import { loadBalancerOf } from '../cluster/decode-ingress.ts';
import { canonicalIp } from '../ip-address.ts';
import { Backoff } from './backoff.ts';
import type { KubernetesClient } from './client.ts';
import { type Clock, systemClock } from './clock.ts';
import { KubernetesStatusError } from './errors.ts';
import { asMap } from './json.ts';
import { type PodName, read, readControllerPods } from './pods.ts';

/** Where the addresses come from. */
export type AddressOrigin =
  /** `--publish-status-address`: IP addresses and host names. */
  | { readonly kind: 'fixed'; readonly addresses: readonly string[] }
  /** `--publish-service` */
  | { readonly kind: 'service'; readonly namespace: string; readonly name: string }
  /** Of the nodes that run our pods; `--report-node-internal-ip-address` prefers the internal ones. */
  | { readonly kind: 'nodes'; readonly pod: PodName; readonly internal: boolean };

export interface StatusAddressesOptions {
  readonly client: Pick<KubernetesClient, 'request' | 'watch'>;
  readonly origin: AddressOrigin;
  /** How often they are found out again. */
  readonly intervalMs: number;
  /** The addresses, sorted and each once: at first, and when they change. */
  readonly onAddresses: (addresses: readonly string[]) => void;
  /** Why they cannot be found out; the last ones stay. Told once until the reason is another one. */
  readonly onProblem: (message: string) => void;
  readonly clock?: Clock;
}

export interface StatusAddresses {
  start(): void;
  stop(): void;
}

/** After the first failure; later ones wait up to the interval. At the start our own pod is not ready for some seconds. */
const FIRST_RETRY_MS = 2_000;
/** How soon a watch of the Service that ended is started again, at most once in this time. */
const WATCH_PAUSE_MS = 5_000;
/** How long a watch of the Service may be silent; the server is asked to end it before. */
const WATCH_IDLE_MS = 330_000;
const WATCH_SECONDS = 300;

export function createStatusAddresses(options: StatusAddressesOptions): StatusAddresses {
  const { client, origin, intervalMs, onAddresses, onProblem, clock = systemClock } = options;
  const ending = new AbortController();
  const backoff = new Backoff({ baseMs: FIRST_RETRY_MS, capMs: intervalMs, random: () => clock.random() });
  let known: string | undefined;
  let problem = '';
  let cancelTick = () => {};
  let cancelWatch = () => {};
  let running = false;
  let again = false;

  /** One after the other, so that an old answer never replaces a newer one. The next time is counted from the end of this one. */
  async function refresh(): Promise<void> {
    cancelTick();
    if (running) {
      again = true;
      return;
    }
    running = true;
    let found: boolean;
    do {
      again = false;
      found = await findOut();
    } while (again && !ending.signal.aborted);
    running = false;
    if (found) backoff.reset();
    const delayMs = found ? intervalMs : backoff.next();
    if (!ending.signal.aborted) cancelTick = clock.after(delayMs, () => void refresh());
  }

  async function findOut(): Promise<boolean> {
    try {
      const addresses = sortedOnce(await addressesOf(client, origin));
      if (ending.signal.aborted) return true;
      problem = '';
      const text = addresses.join(' ');
      if (text !== known) {
        known = text;
        onAddresses(addresses);
      }
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const message = `${describeOrigin(origin)}: ${reason}; the status of Ingresses keeps the addresses before`;
      if (message === problem || ending.signal.aborted) return false;
      problem = message;
      onProblem(message);
      return false;
    }
  }

  /** Only wakes: what the Service says is read as a whole. */
  async function follow(service: { readonly namespace: string; readonly name: string }): Promise<void> {
    try {
      const events = client.watch(`/api/v1/namespaces/${service.namespace}/services`, {
        query: { watch: true, fieldSelector: `metadata.name=${service.name}`, timeoutSeconds: WATCH_SECONDS },
        signal: ending.signal,
        idleMs: WATCH_IDLE_MS,
      });
      for await (const event of events) {
        if (asMap(event)['type'] !== 'ERROR') void refresh();
      }
    } catch {
      // Reading it each interval tells why it cannot be read.
    }
    if (ending.signal.aborted) return;
    cancelWatch = clock.after(WATCH_PAUSE_MS * (1 + clock.random()), () => void follow(service));
  }

  return {
    start() {
      if (origin.kind === 'fixed') return onAddresses(sortedOnce(origin.addresses));
      void refresh();
      if (origin.kind === 'service') void follow(origin);
    },
    stop() {
      ending.abort();
      cancelTick();
      cancelWatch();
    },
  };
}

/** @throws KubernetesUnreachable, KubernetesStatusError */
async function addressesOf(
  client: Pick<KubernetesClient, 'request'>,
  origin: AddressOrigin,
): Promise<readonly string[]> {
  if (origin.kind === 'fixed') return origin.addresses;
  if (origin.kind === 'nodes') return await addressesOfNodes(client, origin);
  return addressesOfService(await read(client, `/api/v1/namespaces/${origin.namespace}/services/${origin.name}`));
}

function addressesOfService(service: unknown): readonly string[] {
  const { type = 'ClusterIP', clusterIP, externalName, externalIPs } = asMap(asMap(service)['spec']);
  const external = texts(externalIPs);
  if (type === 'ExternalName') return texts([externalName]);
  if (type === 'LoadBalancer') return [...loadBalancerOf(service).flatMap((entry) => entry.split(' ')), ...external];
  if (type === 'NodePort' && external.length > 0) return external;
  // A headless Service has no address of its own.
  return texts([clusterIP]).filter((ip) => ip !== 'None');
}

async function addressesOfNodes(
  client: Pick<KubernetesClient, 'request'>,
  { pod, internal }: Extract<AddressOrigin, { kind: 'nodes' }>,
): Promise<readonly string[]> {
  const pods = await readControllerPods(client, pod);
  const nodes = new Set(pods.flatMap(({ ready, nodeName }) => (ready && nodeName !== undefined ? [nodeName] : [])));
  const perNode = await Promise.all([...nodes].map(async (name) => await addressesOfNode(client, name, internal)));
  const addresses = perNode.flat();
  // While one pod replaces the only other, for instance: nothing to publish is no reason to take back what was.
  if (addresses.length === 0) throw new Error('no pod with these labels is ready on a node with an address');
  return addresses;
}

/** The first external address, else the first internal one, or only the latter. A node that is gone has none. */
async function addressesOfNode(
  client: Pick<KubernetesClient, 'request'>,
  name: string,
  internal: boolean,
): Promise<readonly string[]> {
  const node = await read(client, `/api/v1/nodes/${name}`).catch((error: unknown) => {
    if (error instanceof KubernetesStatusError && error.status === 404) return {};
    throw error;
  });
  const entries = asMap(asMap(node)['status'])['addresses'];
  const all = Array.isArray(entries) ? entries.map(asMap) : [];
  const ofType = (wanted: string) => texts(all.filter(({ type }) => type === wanted).map(({ address }) => address));
  const [internals, externals] = [ofType('InternalIP'), ofType('ExternalIP')];
  return (internal || externals.length === 0 ? internals : externals).slice(0, 1);
}

function texts(values: unknown): string[] {
  if (!Array.isArray(values)) return [];
  return values.filter((value): value is string => typeof value === 'string' && value !== '');
}

function sortedOnce(addresses: readonly string[]): string[] {
  return [...new Set(addresses.map((text) => canonicalIp(text)?.ip ?? text))].sort();
}

function describeOrigin(origin: AddressOrigin): string {
  if (origin.kind === 'service') return `Service ${origin.namespace}/${origin.name}`;
  return origin.kind === 'nodes' ? `Pod ${origin.pod.namespace}/${origin.pod.name} and its nodes` : 'addresses';
}
