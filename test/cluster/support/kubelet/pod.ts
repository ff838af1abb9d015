import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiClient, ApiError, type KubernetesObject, pathOf } from '../api.ts';
import { NODE_ADDRESS, NODE_NAME } from '../namespace.ts';
import { type Container, type ContainerSpec, createContainer } from './container.ts';
import { commandOf } from './images.ts';

export interface PodOptions {
  readonly api: ApiClient;
  readonly object: KubernetesObject;
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

const TOKEN_FOLDER = '/run/secrets/kubernetes.io/serviceaccount';
const TOKEN_SECONDS = 3600;
/** A `/run` of its own, with the token of the ServiceAccount where programs look for it. */
const WITH_TOKEN = `mount -t tmpfs tmpfs /run && mkdir -p ${TOKEN_FOLDER} && mount --bind "$0" ${TOKEN_FOLDER} && exec "$@"`;

export function createPod({ api, object, ca, ip, folder }: PodOptions): PodRunner {
  const { name, namespace = '', uid = '' } = object.metadata;
  const path = pathOf({ ...object, apiVersion: 'v1', kind: 'Pod' });
  const specs = object['spec'].containers as readonly ContainerSpec[];
  const podFolder = join(folder, 'pods', namespace, name);
  const startTime = new Date().toISOString();
  let containers: readonly Container[] = [];
  let waiting: string | undefined = 'ContainerCreating';
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
    const commands = specs.map(({ image }) => commandOf(image));
    if (commands.includes(undefined)) {
      waiting = 'ErrImagePull';
      report();
      return;
    }
    mkdirSync(podFolder, { recursive: true });
    const wrapper = await tokenWrapper();
    if (deleting) return;
    waiting = undefined;
    containers = specs.map((spec, index) =>
      createContainer({
        spec,
        command: [...wrapper, ...commands[index]!],
        env: environment(spec),
        ip,
        folder: podFolder,
        onChange: report,
      }),
    );
    for (const container of containers) container.start();
  };
  /** A pod that names a ServiceAccount acts as it. */
  const tokenWrapper = async (): Promise<readonly string[]> => {
    const account = object['spec'].serviceAccountName as string | undefined;
    if (account === undefined || account === 'default') return [];
    const tokenPath = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
    const { status } = (await api.create(tokenPath, {
      spec: { expirationSeconds: TOKEN_SECONDS },
    })) as KubernetesObject;
    const files = join(podFolder, 'serviceaccount');
    mkdirSync(files, { recursive: true });
    writeFileSync(join(files, 'token'), status.token, { mode: 0o600 });
    writeFileSync(join(files, 'ca.crt'), ca);
    writeFileSync(join(files, 'namespace'), namespace);
    return ['unshare', '--mount', 'sh', '-c', WITH_TOKEN, files];
  };

  /** One write at a time, each of what is true when it begins. */
  const report = () => {
    writing = writing.then(writeStatus).catch((error) => complain(`status of ${namespace}/${name}`, error));
  };
  const writeStatus = async () => {
    const now = new Date().toISOString();
    const ready = containers.length > 0 && containers.every((container) => container.ready);
    const condition = (type: string, ok: boolean) => ({ type, status: ok ? 'True' : 'False', lastTransitionTime: now });
    const status = {
      phase: waiting === undefined ? 'Running' : 'Pending',
      hostIP: NODE_ADDRESS,
      hostIPs: [{ ip: NODE_ADDRESS }],
      podIP: ip,
      podIPs: [{ ip }],
      startTime,
      conditions: [condition('Initialized', true), condition('Ready', ready), condition('ContainersReady', ready)],
      containerStatuses: specs.map(({ name: container, image }, index) => ({
        name: container,
        image,
        imageID: image,
        containerID: `process://${containers[index]?.pid ?? 0}`,
        ready: containers[index]?.ready ?? false,
        started: waiting === undefined,
        restartCount: containers[index]?.restarts ?? 0,
        state: waiting === undefined ? { running: { startedAt: startTime } } : { waiting: { reason: waiting } },
      })),
    };
    await api.patch(`${path}/status`, { status }, 'application/strategic-merge-patch+json');
  };
  const end = async (graceSeconds: number) => {
    const sleepSeconds = Math.max(0, ...specs.map(({ lifecycle }) => lifecycle?.preStop?.sleep?.seconds ?? 0));
    if (containers.length > 0) await delay(Math.min(sleepSeconds, graceSeconds) * 1000);
    const graceMs = Math.max(0, graceSeconds - sleepSeconds) * 1000;
    await Promise.all(containers.map((container) => container.end(graceMs)));
    await writing;
    await api.delete(path, { gracePeriodSeconds: 0, preconditions: { uid } });
    rmSync(podFolder, { recursive: true, force: true });
  };
  return {
    start: () => void run().catch((error) => complain(`start of ${namespace}/${name}`, error)),
    delete: (graceSeconds) => {
      if (deleting) return;
      deleting = true;
      void end(graceSeconds).catch((error) => complain(`end of ${namespace}/${name}`, error));
    },
    kill: () => {
      deleting = true;
      for (const container of containers) container.kill();
    },
  };
}

/** Pods vanish under the kubelet's hands all the time. */
function complain(what: string, error: unknown): void {
  if (error instanceof ApiError && error.status === 404) return;
  console.log(`${what}: ${(error as Error).message}`);
}
