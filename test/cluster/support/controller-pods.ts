/** Objects of pods and nodes, for clusters without a kubelet: what the controller reads of itself. */
import type { Cluster } from './cluster.ts';

export interface ControllerPodOptions {
  /** As `POD_NAME` says it. */
  readonly name: string;
  readonly node: string;
  /** Default: those of a controller of ingress-nginx. */
  readonly labels?: Readonly<Record<string, string>>;
}

const NAMESPACE = 'ingress-nginx';
const LABELS = { 'app.kubernetes.io/name': 'ingress-nginx', 'app.kubernetes.io/component': 'controller' };

/** A pod that runs and is ready. */
export async function createControllerPod({ api }: Cluster, options: ControllerPodOptions): Promise<void> {
  const { name, node: nodeName, labels = LABELS } = options;
  await api.create(`/api/v1/namespaces/${NAMESPACE}/pods`, {
    metadata: { name, labels },
    spec: { nodeName, containers: [{ name: 'controller', image: 'controller' }] },
  });
  const conditions = [{ type: 'Ready', status: 'True' }];
  await api.patch(`/api/v1/namespaces/${NAMESPACE}/pods/${name}/status`, { status: { phase: 'Running', conditions } });
}

/** Tells it to end: there it stays, without a kubelet, until it is deleted by force. */
export async function endControllerPod({ api }: Cluster, name: string): Promise<void> {
  await api.delete(`/api/v1/namespaces/${NAMESPACE}/pods/${name}`);
}

export async function deleteControllerPod({ api }: Cluster, name: string): Promise<void> {
  await api.send('DELETE', `/api/v1/namespaces/${NAMESPACE}/pods/${name}`, { gracePeriodSeconds: 0 });
}

export async function createNode(
  { api }: Cluster,
  name: string,
  addresses: Readonly<Partial<Record<'InternalIP' | 'ExternalIP' | 'Hostname', string>>>,
): Promise<void> {
  await api.create('/api/v1/nodes', { metadata: { name } });
  const list = Object.entries(addresses).map(([type, address]) => ({ type, address }));
  await api.patch(`/api/v1/nodes/${name}/status`, { status: { addresses: list } });
}
