/** A Kubernetes control plane and one node, all of them processes of this machine. One per test file. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEnvoy } from '../../../src/envoy/binary.ts';
import { type ApiClient, type ApiCredentials, createApiClient } from './api.ts';
import { type AuditEntry, auditPolicy, readAudit } from './audit.ts';
import { findBinaries } from './binaries.ts';
import { createEtcdClient, ETCD } from './etcd.ts';
import type { KubeletOptions } from './kubelet/main.ts';
import { NODE_NAME, requireNetwork } from './namespace.ts';
import { type ClusterPki, createPki } from './pki.ts';
import { type ClusterService, createService } from './service.ts';

export interface ClusterOptions {
  /** Controllers and the node: Deployments become pods, pods become endpoints. Default: true. */
  readonly pods?: boolean;
  readonly apiServerArgs?: readonly string[];
  readonly etcdArgs?: readonly string[];
}

export interface Cluster {
  /** Logs, keys and kubeconfigs; removed with the cluster. */
  readonly folder: string;
  readonly pki: ClusterPki;
  /** As a member of system:masters. */
  readonly api: ApiClient;
  /** Kubeconfig of the same user. */
  readonly kubeconfig: string;
  readonly etcd: ClusterService;
  readonly apiServer: ClusterService;
  /** On port 6444 over the same etcd; does not run at first. For changes while the first one is away. */
  readonly secondApiServer: ClusterService;
  readonly secondApi: ApiClient;
  readonly controllerManager: ClusterService;
  readonly kubelet: ClusterService;
  /** Runs kubectl as admin and gives back what it prints. Rejects when it fails. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** Writes a kubeconfig and gives back its path. */
  writeKubeconfig(name: string, user: KubeconfigUser): string;
  /** A token of a ServiceAccount. */
  requestToken(namespace: string, name: string, expirationSeconds?: number): Promise<string>;
  client(credentials: Omit<ApiCredentials, 'ca'>): ApiClient;
  /** Every request to the API servers but those of admins and controllers; only a user's if one is given. */
  audit(user?: string): readonly AuditEntry[];
  /** Makes all older revisions unreadable: what is read or watched from there is gone (410). */
  compact(): Promise<void>;
  stop(): Promise<void>;
}

export interface KubeconfigUser {
  /** Default: the first API server. */
  readonly server?: string;
  readonly token?: string;
  /** Path of a file that is read again when it changes. */
  readonly tokenFile?: string;
  readonly certificatePath?: string;
  readonly keyPath?: string;
}

export const SECOND_API_SERVER = 'https://127.0.0.1:6444';
/** Inside of it ClusterIPs lie; nothing answers there. */
const SERVICE_RANGE = '10.96.0.0/16';
const CONTROLLERS = [
  'deployment-controller',
  'replicaset-controller',
  'daemonset-controller',
  'job-controller',
  'endpointslice-controller',
  // Deletes the slices of a Service that is gone.
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
];
const SECOND = 1000;

export async function startCluster({
  pods = true,
  apiServerArgs = [],
  etcdArgs = [],
}: ClusterOptions = {}): Promise<Cluster> {
  requireNetwork();
  const binaries = await findBinaries();
  const folder = mkdtempSync(join(tmpdir(), 'cluster-'));
  // In memory where that is possible: a database waits for its disk.
  const data = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'cluster-etcd-'));
  const pki = await createPki(join(folder, 'pki'));
  const { chain: certificate, key } = pki.admin;
  const client = (credentials: Omit<ApiCredentials, 'ca'>) => createApiClient({ ca: pki.ca, ...credentials });
  const api = client({ certificate, key });
  const secondApi = client({ certificate, key, server: SECOND_API_SERVER });
  const writeKubeconfig = (name: string, user: KubeconfigUser) => {
    const path = join(folder, `${name}.kubeconfig`);
    writeFileSync(path, JSON.stringify(kubeconfig(pki.caPath, user), null, 2), { mode: 0o600 });
    return path;
  };
  const adminKubeconfig = writeKubeconfig('admin', {
    certificatePath: pki.admin.chainPath,
    keyPath: pki.admin.keyPath,
  });
  const policyPath = join(folder, 'audit-policy.json');
  writeFileSync(policyPath, JSON.stringify(auditPolicy));
  const auditPaths: string[] = [];

  const etcdClient = createEtcdClient();
  const etcd = createService({
    name: 'etcd',
    program: binaries.etcd,
    folder,
    args: [
      '--name=default',
      `--data-dir=${join(data, 'etcd')}`,
      `--listen-client-urls=${ETCD}`,
      `--advertise-client-urls=${ETCD}`,
      '--listen-peer-urls=http://127.0.0.1:2380',
      '--initial-advertise-peer-urls=http://127.0.0.1:2380',
      '--initial-cluster=default=http://127.0.0.1:2380',
      '--log-level=warn',
      '--unsafe-no-fsync',
      ...etcdArgs,
    ],
    ready: etcdClient.healthy,
  });
  const createApiServer = (name: string, port: number, through: ApiClient): ClusterService => {
    const auditPath = join(folder, `${name}-audit.log`);
    auditPaths.push(auditPath);
    return createService({
      name,
      program: binaries.kubeApiServer,
      folder,
      args: [
        `--etcd-servers=${ETCD}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${port}`,
        '--advertise-address=127.0.0.1',
        // It would publish 127.0.0.1 as endpoint of the Service kubernetes, which is refused.
        '--endpoint-reconciler-type=none',
        `--tls-cert-file=${pki.server.chainPath}`,
        `--tls-private-key-file=${pki.server.keyPath}`,
        `--client-ca-file=${pki.caPath}`,
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${pki.serviceAccountPublicKeyPath}`,
        `--service-account-signing-key-file=${pki.serviceAccountKeyPath}`,
        `--service-cluster-ip-range=${SERVICE_RANGE}`,
        '--authorization-mode=RBAC',
        // Pods need no token; those of the product get one from the kubelet.
        '--disable-admission-plugins=ServiceAccount',
        '--allow-privileged=true',
        '--profiling=false',
        `--audit-policy-file=${policyPath}`,
        `--audit-log-path=${auditPath}`,
        ...apiServerArgs,
      ],
      ready: async () => (await through.send('GET', '/readyz')).status === 200,
    });
  };
  const apiServer = createApiServer('kube-apiserver', 6443, api);
  const secondApiServer = createApiServer('second-kube-apiserver', 6444, secondApi);
  const controllerManager = createService({
    name: 'kube-controller-manager',
    program: binaries.kubeControllerManager,
    folder,
    args: [
      `--kubeconfig=${writeKubeconfig('controller-manager', {
        certificatePath: pki.controllerManager.chainPath,
        keyPath: pki.controllerManager.keyPath,
      })}`,
      '--leader-elect=false',
      '--secure-port=0',
      '--use-service-account-credentials=true',
      `--controllers=${CONTROLLERS.join(',')}`,
      `--service-account-private-key-file=${pki.serviceAccountKeyPath}`,
      `--root-ca-file=${pki.caPath}`,
      '--kube-api-qps=500',
      '--kube-api-burst=1000',
    ],
    // It has no port to ask; what is created meanwhile it finds.
    ready: async () => true,
  });
  const kubeletUser = await pki.client('process-kubelet', ['system:masters']);
  const kubeletOptions: KubeletOptions = {
    folder,
    caPath: pki.caPath,
    certificatePath: kubeletUser.chainPath,
    keyPath: kubeletUser.keyPath,
    envoyPath: (await findEnvoy()).path,
  };
  const kubelet = createService({
    name: 'kubelet',
    program: process.execPath,
    folder,
    args: [join(import.meta.dirname, 'kubelet/main.ts'), JSON.stringify(kubeletOptions)],
    ready: async () => (await api.get(`/api/v1/nodes/${NODE_NAME}`))['status'].conditions?.length > 0,
  });

  const stop = async () => {
    for (const service of [kubelet, controllerManager, secondApiServer, apiServer, etcd]) await service.stop();
    api.close();
    secondApi.close();
    rmSync(data, { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    mkdirSync(join(folder, 'kubectl-cache'));
    await etcd.start();
    await apiServer.start();
    if (pods) {
      await controllerManager.start();
      await kubelet.start();
    }
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    folder,
    pki,
    api,
    kubeconfig: adminKubeconfig,
    etcd,
    apiServer,
    secondApiServer,
    secondApi,
    controllerManager,
    kubelet,
    kubectl: (args, input) => {
      const flags = ['--kubeconfig', adminKubeconfig, '--cache-dir', join(folder, 'kubectl-cache')];
      return runKubectl(binaries.kubectl, [...flags, ...args], input);
    },
    writeKubeconfig,
    requestToken: async (namespace, name, expirationSeconds = 3600) => {
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
      return (await api.create(path, { spec: { expirationSeconds } }))['status'].token;
    },
    client,
    audit: (user) => readAudit(auditPaths).filter((entry) => user === undefined || entry.user === user),
    compact: etcdClient.compact,
    stop,
  };
}

function kubeconfig(caPath: string, user: KubeconfigUser): unknown {
  const { server = 'https://127.0.0.1:6443', token, tokenFile, certificatePath, keyPath } = user;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority': caPath } }],
    users: [
      {
        name: 'test',
        user: { token, tokenFile, 'client-certificate': certificatePath, 'client-key': keyPath },
      },
    ],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  };
}

function runKubectl(program: string, args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { timeout: 60 * SECOND, maxBuffer: 64 * 1024 * 1024 }, (error, stdout) => {
      if (error) reject(error);
      else resolve(stdout);
    });
    child.stdin?.end(input ?? '');
  });
}
