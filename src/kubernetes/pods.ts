/** The pods of this controller: those with the labels of our own pod. */
import type { KubernetesClient } from './client.ts';
import { KubernetesStatusError } from './errors.ts';
import { asMap } from './json.ts';

type Requests = Pick<KubernetesClient, 'request'>;

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

export interface ControllerPod {
  readonly name: string;
  /** Absent until it is scheduled. */
  readonly nodeName?: string;
  /** In phase Running and not told to end. */
  readonly running: boolean;
  readonly ready: boolean;
}

/** For each request: this is asked at the end of the process. */
const LAST_POD_TIMEOUT_MS = 3_000;
/** Labels that differ between the pods before and after a rolling update. */
const REVISION_LABELS = new Set(['pod-template-hash', 'controller-revision-hash', 'pod-template-generation']);

/**
 * Ours among them.
 * @throws KubernetesUnreachable, KubernetesStatusError (our pod is not found, or may not be read).
 */
export async function readControllerPods(client: Requests, own: PodName): Promise<readonly ControllerPod[]> {
  const collection = `/api/v1/namespaces/${own.namespace}/pods`;
  const labels = asMap(asMap(asMap(await read(client, `${collection}/${own.name}`))['metadata'])['labels']);
  const labelSelector = Object.entries(labels)
    .filter(([name]) => !REVISION_LABELS.has(name))
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
  // Without labels the selector would choose every pod of the namespace.
  if (labelSelector === '') return [podOf(await read(client, `${collection}/${own.name}`))];
  const items = asMap(await read(client, collection, { labelSelector }))['items'];
  return Array.isArray(items) ? items.map(podOf) : [];
}

/**
 * Whether no other pod of this controller runs that is to stay: then nothing answers at the published addresses once ours has ended.
 * False also when that cannot be found out within a few seconds.
 */
export async function isLastPod(client: Requests, own: PodName): Promise<boolean> {
  try {
    const quick: Requests = {
      request: (method, path, options) => client.request(method, path, { ...options, timeoutMs: LAST_POD_TIMEOUT_MS }),
    };
    const pods = await readControllerPods(quick, own);
    return pods.every(({ name, running }) => name === own.name || !running);
  } catch {
    return false;
  }
}

/**
 * Whether this pod is there and is to stay; any pod of a name, ours or not.
 * @throws KubernetesUnreachable, KubernetesStatusError
 */
export async function isPodRunning(client: Requests, { namespace, name }: PodName): Promise<boolean> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const { status, headers, body } = await client.request('GET', path, { timeoutMs: LAST_POD_TIMEOUT_MS });
  if (status === 404) return false;
  if (status !== 200) throw new KubernetesStatusError(status, body, headers);
  return podOf(body).running;
}

/** @throws KubernetesUnreachable, KubernetesStatusError */
export async function read(client: Requests, path: string, query?: Readonly<Record<string, string>>): Promise<unknown> {
  const { status, headers, body } = await client.request('GET', path, query && { query });
  if (status !== 200) throw new KubernetesStatusError(status, body, headers);
  return body;
}

function podOf(raw: unknown): ControllerPod {
  const metadata = asMap(asMap(raw)['metadata']);
  const status = asMap(asMap(raw)['status']);
  const nodeName = asMap(asMap(raw)['spec'])['nodeName'];
  const conditions = Array.isArray(status['conditions']) ? status['conditions'].map(asMap) : [];
  const running = status['phase'] === 'Running' && metadata['deletionTimestamp'] === undefined;
  return {
    name: String(metadata['name']),
    ...(typeof nodeName === 'string' && nodeName !== '' && { nodeName }),
    running,
    ready: running && conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
  };
}
