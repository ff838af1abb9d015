/** What tests put into the cluster. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubernetesObject, Manifest } from './api.ts';
import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { ECHO_IMAGE } from './kubelet/images.ts';

let namespaces = 0;

/** Creates a namespace of a new name. */
export async function namespace(cluster: Cluster, labels: Readonly<Record<string, string>> = {}): Promise<string> {
  const name = `test-${++namespaces}`;
  await cluster.api.apply({ kind: 'Namespace', metadata: { name, labels } });
  return name;
}

export interface EchoServiceOptions {
  readonly namespace: string;
  readonly name: string;
  /** Default: 1. */
  readonly replicas?: number;
  /** See `kubelet/echo-pod.ts`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly preStopSeconds?: number;
}

/** A List of a Deployment of echo pods on port 8080, and its Service on port 80, whose port is called `http`. */
export function echoService(options: EchoServiceOptions): Manifest {
  const { namespace, name, replicas = 1, env = {}, preStopSeconds } = options;
  const labels = { app: name };
  const field = (variable: string, fieldPath: string) => ({ name: variable, valueFrom: { fieldRef: { fieldPath } } });
  const container = {
    name: 'echo',
    image: ECHO_IMAGE,
    ports: [{ name: 'http', containerPort: 8080 }],
    env: [
      field('POD_NAME', 'metadata.name'),
      field('POD_NAMESPACE', 'metadata.namespace'),
      ...Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
    ],
    readinessProbe: { httpGet: { path: '/ready', port: 'http' }, periodSeconds: 1 },
    ...(preStopSeconds !== undefined && { lifecycle: { preStop: { sleep: { seconds: preStopSeconds } } } }),
  };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
  };
  return { apiVersion: 'v1', kind: 'List', items: [deployment, service] };
}

/** Waits until exactly `count` endpoints of a Service are ready, and gives back their addresses. */
export async function readyEndpoints(
  { api }: Cluster,
  namespace: string,
  service: string,
  count: number,
): Promise<readonly string[]> {
  const selector = encodeURIComponent(`kubernetes.io/service-name=${service}`);
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${selector}`;
  return await eventually(`${count} ready endpoints of ${namespace}/${service}`, async () => {
    const slices = await api.list(path);
    const addresses = slices.flatMap(readyAddresses);
    return addresses.length === count && addresses;
  });
}

function readyAddresses(slice: KubernetesObject): readonly string[] {
  const endpoints = (slice['endpoints'] ?? []) as readonly {
    readonly addresses: readonly string[];
    readonly conditions: { readonly ready?: boolean };
  }[];
  return endpoints.filter(({ conditions }) => conditions.ready).flatMap(({ addresses }) => addresses);
}

/** The last lines that each container of a namespace has printed, for errors. */
export function podLogs({ folder }: Cluster, namespace: string, lines = 20): string {
  const pods = join(folder, 'pods', namespace);
  if (!existsSync(pods)) return 'no pod has started';
  return readdirSync(pods, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.log'))
    .map((path) => `${path}:\n${readFileSync(join(pods, path), 'utf8').trimEnd().split('\n').slice(-lines).join('\n')}`)
    .join('\n');
}
