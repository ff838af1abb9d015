/**
 * The node of the test cluster: binds every pod to itself and runs its containers as processes, each pod on an address of its
 * own. Options: JSON in the first argument.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiClient, ApiError, createApiClient, type KubernetesObject } from '../api.ts';
import { NODE_ADDRESS, NODE_NAME } from '../namespace.ts';
import { createImages } from './images.ts';
import { createPod, type PodRunner } from './pod.ts';

export interface KubeletOptions {
  /** For the files of pods. */
  readonly folder: string;
  readonly caPath: string;
  readonly certificatePath: string;
  readonly keyPath: string;
  readonly envoyPath: string;
}

const RETRY_MS = 100;
const RESOURCES = { cpu: '64', memory: '64Gi', pods: '5000' };
/** 10.200.1.1, counted up: an address never comes back as another pod while somebody may still know it. */
const FIRST_ADDRESS = 257;

async function registerNode(api: ApiClient): Promise<void> {
  const labels = { 'kubernetes.io/hostname': NODE_NAME, 'topology.kubernetes.io/zone': 'zone-a' };
  await api
    .create('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE_NAME, labels } })
    .catch(isConflict);
  const now = new Date().toISOString();
  await api.patch(`/api/v1/nodes/${NODE_NAME}/status`, {
    status: {
      addresses: [
        { type: 'InternalIP', address: NODE_ADDRESS },
        { type: 'Hostname', address: NODE_NAME },
      ],
      capacity: RESOURCES,
      allocatable: RESOURCES,
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Ready',
          message: '',
          lastHeartbeatTime: now,
          lastTransitionTime: now,
        },
      ],
    },
  });
}

function isConflict(error: unknown): void {
  if (!(error instanceof ApiError && error.status === 409)) throw error;
}

/** Lists and watches pods for ever; a watch that ends is continued by a new list, which is cheap here. */
async function followPods(
  api: ApiClient,
  onPods: (pods: readonly KubernetesObject[]) => void,
  onPod: (pod: KubernetesObject, gone: boolean) => void,
): Promise<never> {
  for (;;) {
    try {
      const list = await api.get('/api/v1/pods');
      onPods(list['items']);
      for await (const event of api.watch(`/api/v1/pods?watch=1&resourceVersion=${list.metadata.resourceVersion}`)) {
        if (event.type === 'ERROR') break;
        onPod(event.object, event.type === 'DELETED');
      }
    } catch (error) {
      console.log(`pods: ${(error as Error).message}`);
    }
    await delay(RETRY_MS);
  }
}

const options = JSON.parse(process.argv[2] ?? '') as KubeletOptions;
const ca = readFileSync(options.caPath, 'utf8');
const api = createApiClient({
  ca,
  certificate: readFileSync(options.certificatePath, 'utf8'),
  key: readFileSync(options.keyPath, 'utf8'),
});
const images = createImages(join(options.folder, 'image'), options.envoyPath);
const pods = new Map<string, PodRunner>();
let nextAddress = FIRST_ADDRESS;

function onPod(object: KubernetesObject, gone = false): void {
  const uid = object.metadata.uid!;
  const known = pods.get(uid);
  if (gone) {
    pods.delete(uid);
    known?.kill();
  } else if (object.metadata.deletionTimestamp !== undefined) {
    const pod = known ?? createPod({ api, object, images, ca, ip: '', folder: options.folder });
    pods.set(uid, pod);
    pod.delete(object.metadata.deletionGracePeriodSeconds ?? 30);
  } else if (known === undefined) {
    const ip = `10.200.${nextAddress >> 8}.${nextAddress & 255}`;
    nextAddress++;
    const pod = createPod({ api, object, images, ca, ip, folder: options.folder });
    pods.set(uid, pod);
    pod.start();
  }
}

function onPods(objects: readonly KubernetesObject[]): void {
  const live = new Set(objects.map(({ metadata }) => metadata.uid));
  for (const [uid, pod] of pods) {
    if (live.has(uid)) continue;
    pods.delete(uid);
    pod.kill();
  }
  for (const object of objects) onPod(object);
}

process.on('SIGTERM', () => {
  for (const pod of pods.values()) pod.kill();
  process.exit(0);
});
await registerNode(api);
console.log('the node is registered');
await followPods(api, onPods, onPod);
