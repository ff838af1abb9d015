/** The product as a process, as a container would run it, and what it serves. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findEnvoy } from '../../../src/envoy/binary.ts';
import { runCommand } from '../../support/command.ts';
import { type Answer, type Request, send } from '../../support/http-client.ts';
import { type Probe, type ProbeReport, startProbe } from '../../support/probe.ts';
import type { Cluster } from './cluster.ts';
import { eventually, HopelessError } from './eventually.ts';
import { type Metrics, parseMetrics } from './metrics.ts';
import { NODE_ADDRESS } from './namespace.ts';
import type { Account } from './permissions.ts';
import { type RunningProcess, startProcess, tail } from './process.ts';

export interface ProductOptions {
  /** `run` brings its Envoy, `serve` needs `startEnvoy`. Default: `run`. */
  readonly command?: 'run' | 'serve';
  /** Name of the pod that it believes to be; default: `ingress-xds-0`. */
  readonly name?: string;
  /** Whose permissions it has. */
  readonly account: Account;
  /** Default: the account's. */
  readonly kubeconfig?: string;
  /** Where published addresses come from; default: `--publish-status-address` with `PUBLISHED_ADDRESS`. */
  readonly publish?: readonly string[];
  /** On top of all others. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Default: 10254. */
  readonly healthPort?: number;
}

export interface Product {
  readonly name: string;
  readonly process: RunningProcess;
  /** Path of the socket that `serve` listens on. */
  readonly xdsSocket: string;
  /** Resolves when `/readyz` answers 200; rejects at once when the process ends. */
  ready(): Promise<void>;
  /** Status of a path on the port for health checks; 0 when nobody answers. */
  health(path: '/healthz' | '/readyz'): Promise<number>;
  metrics(): Promise<Metrics>;
  log(): string;
  /** SIGTERM, and the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

/** The address that the product publishes; its Envoy listens on 80 and 443 there. */
export const PUBLISHED_ADDRESS = NODE_ADDRESS;
const HEALTH_PORT = 10254;
/** A machine that does other things as well takes long to start Node and Envoy. */
const READY_MS = 60_000;
/** Ending is not what most tests are about. */
const QUICK_END = ['--drain-timeout', '1', '--post-shutdown-grace-period', '0'];

export function startProduct(cluster: Cluster, options: ProductOptions): Product {
  const { command = 'run', name = 'ingress-xds-0', account, healthPort = HEALTH_PORT } = options;
  const folder = join(cluster.folder, 'product', name);
  mkdirSync(folder, { recursive: true });
  const xdsSocket = join(folder, 'xds.sock');
  const args = [
    command,
    '--kubeconfig',
    options.kubeconfig ?? account.kubeconfig,
    ...(options.publish ?? ['--publish-status-address', PUBLISHED_ADDRESS]),
    '--healthz-port',
    String(healthPort),
    // What is asked for, the tests know.
    '--access-log=false',
    ...(command === 'run' ? ['--envoy-concurrency', '1', ...QUICK_END] : ['--xds-address', `unix:${xdsSocket}`]),
    ...(options.args ?? []),
  ];
  const product = startProcess({
    name,
    program: process.execPath,
    args: [join(import.meta.dirname, '../../../src/cli/main.ts'), ...args],
    folder,
    env: { POD_NAME: name, POD_NAMESPACE: account.namespace, ...options.env },
  });
  const health = async (path: string) => {
    const answer = await send({ port: healthPort, host: 'health', path }).catch(() => undefined);
    return answer?.status ?? 0;
  };
  return {
    name,
    process: product,
    xdsSocket,
    ready: async () => {
      const isReady = async () => {
        if (!product.running()) throw new HopelessError(`the product has ended:\n${tail(product)}`);
        return (await health('/readyz')) === 200;
      };
      await eventually(`${name} ready`, isReady, { timeoutMs: READY_MS, describe: () => tail(product) });
    },
    health,
    metrics: async () => parseMetrics((await send({ port: healthPort, host: 'health', path: '/metrics' })).body),
    log: product.log,
    stop: (signal) => product.stop(signal, 30_000),
  };
}

export interface EnvoyOptions {
  /** Default: `envoy-0`. */
  readonly name?: string;
  /** Of `serve`. */
  readonly xdsAddress: string;
  /** More arguments of Envoy itself. */
  readonly args?: readonly string[];
}

/** An Envoy with what `bootstrap` prints. It listens on the ports that the control plane says. */
export async function startEnvoy(
  cluster: Cluster,
  { name = 'envoy-0', xdsAddress, args: more = [] }: EnvoyOptions,
): Promise<RunningProcess> {
  const folder = join(cluster.folder, 'envoy', name);
  mkdirSync(folder, { recursive: true });
  const adminSocket = join(folder, 'admin.sock');
  const flags = ['--xds-address', xdsAddress, '--node-id', name, '--admin-socket', adminSocket, '--output', 'json'];
  const { code, output } = await runCommand(['bootstrap', ...flags]);
  if (code !== 0) throw new Error(output);
  const bootstrapPath = join(folder, 'envoy.json');
  writeFileSync(bootstrapPath, output, { mode: 0o600 });
  const { path } = await findEnvoy();
  const args = ['-c', bootstrapPath, '--disable-hot-restart', '--concurrency', '1', '-l', 'warning', ...more];
  return startProcess({ name, program: path, args, folder });
}

/** One request to the published ports. */
export function request(host: string, more: Partial<Request> = {}): Promise<Answer> {
  return send({ port: more.tls ? 443 : 80, host, ...more });
}

/** Waits until a host answers with this status. */
export async function served(
  host: string,
  { status = 200, timeoutMs, product, ...more }: Partial<Request> & Expected = {},
): Promise<Answer> {
  const ask = async () => {
    const answer = await request(host, more);
    if (answer.status !== status) throw new Error(`status ${answer.status}: ${answer.body.slice(0, 200)}`);
    return answer;
  };
  return await eventually(`${status} from ${host}${more.path ?? '/'}`, ask, {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(product && { describe: () => tail(product.process) }),
  });
}

export interface Expected {
  /** Default: 200. */
  readonly status?: number;
  /** Default: 30 s. */
  readonly timeoutMs?: number;
  /** Whose log an error shows. */
  readonly product?: Product;
}

/** A standing load on the published ports: HTTP/1.1, HTTP/2, TLS, WebSockets. The backend is an echo pod. */
export function probe(host: string, rate = 50): Promise<Probe> {
  return startProbe({ host, rate, httpPort: 80, httpsPort: 443 });
}

/** Ends the probe. @throws Error that lists what was lost, if anything was. */
export async function expectNothingLost(standing: Probe): Promise<ProbeReport> {
  const report = await standing.stop();
  const lost = [...report.failures, ...report.closed];
  if (lost.length > 0) throw new Error(`of ${report.requests} requests:\n${lost.slice(0, 20).join('\n')}`);
  if (report.requests === 0) throw new Error('the probe sent nothing');
  return report;
}
