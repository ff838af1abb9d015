/** What a pod finds in its file system: volumes, the token of its ServiceAccount, names in `/etc/hosts`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiClient, ApiError, type KubernetesObject } from '../api.ts';
import type { ContainerSpec } from './container.ts';

export interface PodFilesOptions {
  readonly api: ApiClient;
  readonly object: KubernetesObject;
  /** PEM of the API server's authority. */
  readonly ca: string;
  /** Of the pod. */
  readonly folder: string;
  /** Ends the wait for Secrets that are not there. */
  readonly signal: AbortSignal;
}

/** What goes before the command line of a container; empty if it needs no files. */
export type Wrap = (spec: ContainerSpec) => readonly string[];

interface VolumeSpec {
  readonly name: string;
  readonly secret?: { readonly secretName: string };
  readonly emptyDir?: object;
}

const TOKEN_FOLDER = '/run/secrets/kubernetes.io/serviceaccount';
const TOKEN_SECONDS = 3600;
/** In the place of `/tmp`, below which the programs of this machine may be. */
export const POD_TMPDIR = '/run/tmp';
const SECRET_POLL_MS = 50;

/**
 * Mounts FOLDER PLACE … and runs the command line behind `--`. `/run` is the pod's own; where a place is missing, changes to the
 * folder above are kept in memory, so that nothing is left on this machine.
 */
const MOUNT_AND_RUN = `set -e
mount -t tmpfs tmpfs /run
overlays=0
while [ "$1" != -- ]; do
  place=\${2%/}
  if [ ! -e "$place" ]; then
    above=$place
    while [ ! -d "$above" ]; do above=$(dirname "$above"); done
    case $above in
      /) echo "$place: no folder above it but /" >&2; exit 1 ;;
      /run | /run/*) ;;
      *)
        overlays=$((overlays + 1))
        changes=/run/.overlays/$overlays
        mkdir -p "$changes/upper" "$changes/work"
        mount -t overlay overlay -o "lowerdir=$above,upperdir=$changes/upper,workdir=$changes/work" "$above" ;;
    esac
    mkdir -p "$place"
  fi
  mount --bind "$1" "$place"
  shift 2
done
shift
exec "$@"`;

/** Waits for the Secrets that volumes name, as a kubelet does. */
export async function preparePodFiles(options: PodFilesOptions): Promise<Wrap> {
  const { object, folder } = options;
  const { volumes = [], hostAliases = [] } = object['spec'] as {
    readonly volumes?: readonly VolumeSpec[];
    readonly hostAliases?: readonly { readonly ip: string; readonly hostnames: readonly string[] }[];
  };
  const always: string[] = [];
  const token = await writeToken(options);
  if (token !== undefined) always.push(token, TOKEN_FOLDER);
  if (hostAliases.length > 0) {
    const hosts = join(folder, 'hosts');
    const lines = hostAliases.map(({ ip, hostnames }) => `${ip} ${hostnames.join(' ')}\n`);
    writeFileSync(hosts, ['127.0.0.1 localhost\n', ...lines].join(''));
    always.push(hosts, '/etc/hosts');
  }
  const sources = new Map<string, string>();
  for (const volume of volumes) {
    const source = join(folder, 'volumes', volume.name);
    mkdirSync(source, { recursive: true });
    if (volume.secret !== undefined) await writeSecret(options, volume.secret.secretName, source);
    else if (volume.emptyDir === undefined) throw new Error(`volume ${volume.name}: neither a Secret nor emptyDir`);
    sources.set(volume.name, source);
  }
  if (always.length === 0 && volumes.length === 0) return () => [];
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary);
  return ({ volumeMounts = [] }) => {
    const mounts = volumeMounts
      .filter(({ mountPath }) => mountPath !== '/tmp')
      .flatMap(({ name, mountPath }) => [sources.get(name) ?? '', mountPath]);
    // Last what is in folders that a volume may have made changes to.
    const pairs = [temporary, POD_TMPDIR, ...mounts, ...always];
    return ['unshare', '--mount', 'sh', '-c', MOUNT_AND_RUN, 'sh', ...pairs, '--', 'env', `TMPDIR=${POD_TMPDIR}`];
  };
}

/** A pod that names a ServiceAccount acts as it. */
async function writeToken({ api, object, ca, folder }: PodFilesOptions): Promise<string | undefined> {
  const { serviceAccountName: account = 'default', automountServiceAccountToken } = object['spec'];
  if (account === 'default' || automountServiceAccountToken === false) return undefined;
  const { namespace = '' } = object.metadata;
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const { status } = (await api.create(path, { spec: { expirationSeconds: TOKEN_SECONDS } })) as KubernetesObject;
  const files = join(folder, 'serviceaccount');
  mkdirSync(files, { recursive: true });
  writeFileSync(join(files, 'token'), status.token, { mode: 0o600 });
  writeFileSync(join(files, 'ca.crt'), ca);
  writeFileSync(join(files, 'namespace'), namespace);
  return files;
}

async function writeSecret({ api, object, signal }: PodFilesOptions, name: string, target: string): Promise<void> {
  for (;;) {
    try {
      const { data = {} } = await api.get(`/api/v1/namespaces/${object.metadata.namespace}/secrets/${name}`);
      for (const [key, text] of Object.entries(data as Readonly<Record<string, string>>)) {
        writeFileSync(join(target, key), Buffer.from(text, 'base64'), { mode: 0o600 });
      }
      return;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
      await delay(SECRET_POLL_MS, undefined, { signal });
    }
  }
}
