import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiClient, ApiError, type KubernetesObject, pathOf } from '../api.ts';
import { NODE_ADDRESS, NODE_NAME } from '../namespace.ts';
import { type Container, type ContainerSpec, createContainer } from './container.ts';
import type { Images } from './images.ts';
import { preparePodFiles } from './pod-files.ts';

export interface PodOptions {
  readonly api: ApiClient;
  readonly object: KubernetesObject;
  readonly images: Images;
  /** PEM of the API server's authority. */
  readonly ca: string;
  /** Empty for a pod that is only to be deleted. */
  readonly ip: string;
  /** Files and logs of the pod go into a folder of their own below. */
  readonly folder: string;
}

export interface PodRunner {
  start(): void;
  /** Ends it as its manifest says, and deletes it. */
  delete(graceSeconds: number): void;
  /** It is gone from the API already. */
  kill(): void;
}

type Phase = 'Pending' | 'Running' | 'Succeeded';

export function createPod({ api, object, images, ca, ip, folder }: PodOptions): PodRunner {
  const { name, namespace = '', uid = '' } = object.metadata;
  const path = pathOf({ ...object, apiVersion: 'v1', kind: 'Pod' });
  const specs = object['spec'].containers as readonly ContainerSpec[];
  const initSpecs = (object['spec'].initContainers ?? []) as readonly ContainerSpec[];
  const podFolder = join(folder, 'pods', namespace, name);
  const startTime = new Date().toISOString();
  const ended = new AbortController();
  let containers: readonly Container[] = [];
  /** The one that runs before them. */
  let initContainer: Container | undefined;
  let phase: Phase = 'Pending';
  let waiting = 'ContainerCreating';
  let deleting = false;
  let writing = Promise.resolve();

  const fields: Readonly<Record<string, string>> = {
    'metadata.name': name,
    'metadata.namespace': namespace,
    'metadata.uid': uid,
    'spec.nodeName': NODE_NAME,
    'spec.serviceAccountName': object['spec'].serviceAccountName ?? 'default',
    'status.hostIP': NODE_ADDRESS,
    'status.podIP': ip,
  };
  const environment = (spec: ContainerSpec): Record<string, string> => {
    const env: Record<string, string> = {
      POD_IP: ip,
      KUBERNETES_SERVICE_HOST: '127.0.0.1',
      KUBERNETES_SERVICE_PORT: '6443',
    };
    for (const { name: variable, value, valueFrom } of spec.env ?? []) {
      env[variable] = value ?? fields[valueFrom?.fieldRef?.fieldPath ?? ''] ?? '';
    }
    return env;
  };
  const run = async () => {
    if (object['spec'].nodeName === undefined) {
      const target = { apiVersion: 'v1', kind: 'Node', name: NODE_NAME };
      await api.create(`${path}/binding`, { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target });
    }
    if ([...initSpecs, ...specs].some(({ image }) => images(image) === undefined)) {
      waiting = 'ErrImagePull';
      report();
      return;
    }
    mkdirSync(podFolder, { recursive: true });
    const wrap = await preparePodFiles({ api, object, ca, folder: podFolder, signal: ended.signal });
    const restartAlways = (object['spec'].restartPolicy ?? 'Always') === 'Always';
    const create = (spec: ContainerSpec, again: boolean) =>
      createContainer({
        spec,
        image: images(spec.image)!,
        wrapper: wrap(spec),
        env: environment(spec),
        ip,
        folder: podFolder,
        restartAlways: again,
        onChange: report,
      });
    for (const spec of initSpecs) {
      if (deleting) return;
      initContainer = create(spec, false);
      initContainer.start();
      await initContainer.success;
    }
    initContainer = undefined;
    if (deleting) return;
    phase = 'Running';
    containers = specs.map((spec) => create(spec, restartAlways));
    for (const container of containers) container.start();
    await Promise.all(containers.map(({ success }) => success));
    phase = 'Succeeded';
    report();
  };

  /** One write at a time, each of what is true when it begins. */
  const report = () => {
    writing = writing.then(writeStatus).catch((error) => complain(`status of ${namespace}/${name}`, error));
  };
  const writeStatus = async () => {
    const now = new Date().toISOString();
    const ready = phase === 'Running' && containers.every((container) => container.ready);
    const condition = (type: string, ok: boolean) => ({ type, status: ok ? 'True' : 'False', lastTransitionTime: now });
    const state = {
      Pending: { waiting: { reason: waiting } },
      Running: { running: { startedAt: startTime } },
      Succeeded: { terminated: { exitCode: 0, reason: 'Completed', startedAt: startTime, finishedAt: now } },
    }[phase];
    const status = {
      phase,
      hostIP: NODE_ADDRESS,
      hostIPs: [{ ip: NODE_ADDRESS }],
      podIP: ip,
      podIPs: [{ ip }],
      startTime,
      conditions: [
        condition('Initialized', phase !== 'Pending'),
        condition('Ready', ready),
        condition('ContainersReady', ready),
      ],
      containerStatuses: specs.map(({ name: container, image }, index) => ({
        name: container,
        image,
        imageID: image,
        containerID: `process://${containers[index]?.pid ?? 0}`,
        ready: phase === 'Running' && (containers[index]?.ready ?? false),
        started: phase === 'Running',
        restartCount: containers[index]?.restarts ?? 0,
        state,
      })),
    };
    await api.patch(`${path}/status`, { status }, 'application/strategic-merge-patch+json');
  };
  const end = async (graceSeconds: number) => {
    initContainer?.kill();
    await Promise.all(containers.map((container) => container.end(graceSeconds * 1000)));
    await writing;
    await api.delete(path, { gracePeriodSeconds: 0, preconditions: { uid } });
    rmSync(podFolder, { recursive: true, force: true });
  };
  const stop = () => {
    deleting = true;
    ended.abort();
  };
  return {
    start: () =>
      void run().catch((error) => {
        if (!deleting) complain(`start of ${namespace}/${name}`, error);
      }),
    delete: (graceSeconds) => {
      if (deleting) return;
      stop();
      void end(graceSeconds).catch((error) => complain(`end of ${namespace}/${name}`, error));
    },
    kill: () => {
      stop();
      initContainer?.kill();
      for (const container of containers) container.kill();
    },
  };
}

/** Pods vanish under the kubelet's hands all the time. */
function complain(what: string, error: unknown): void {
  if (error instanceof ApiError && error.status === 404) return;
  console.log(`${what}: ${(error as Error).message}`);
}
