/** The two processes that are measured: a control plane and the Envoy that follows it. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildBootstrap } from '../../src/envoy/bootstrap.ts';
import { envoyArguments } from '../../src/envoy/command-line.ts';
import type { Pair } from '../support/pki.ts';
import { stablePort } from './ports.ts';
import type { BenchReply, BenchRequest, ChangeRequest, Cost, StartTimes, Variant } from './protocol.ts';

export interface PlaneOptions {
  readonly envoyPath: string;
  readonly variant: Variant;
  readonly ingresses: number;
  readonly pairs: readonly Pair[];
  readonly generated: Pair;
  readonly backendPort: number;
  /** Folder for CPU profiles of the control plane, written when it ends. */
  readonly profileFolder: string | undefined;
}

export interface Plane {
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly controlPlanePid: number;
  readonly envoyPid: number;
  /** On the clock of this process: when the control plane was started. */
  readonly startedAt: number;
  readonly times: StartTimes;
  /** Of the first synchronization. */
  readonly synchronized: Promise<Cost>;
  /** Resolves when Envoy has accepted everything. */
  change(request: Omit<ChangeRequest, 'kind'>): Promise<Cost>;
  heldBytes(): Promise<number>;
  stop(): Promise<void>;
}

export async function startPlane(options: PlaneOptions): Promise<Plane> {
  const httpPort = await stablePort();
  const httpsPort = await stablePort();
  const folder = await mkdtemp(join(tmpdir(), 'ingress-xds-bench-'));
  const xdsSocket = join(folder, 'xds.sock');
  const startedAt = performance.now();
  const controlPlane = startControlPlane(options.profileFolder);
  const { variant, ingresses, pairs, generated, backendPort } = options;
  const start = { variant, ingresses, pairs, generated, backendPort, httpPort, httpsPort, xdsSocket };
  const { times } = await controlPlane.ask({ kind: 'start', ...start }, 'listening');
  const synchronized = controlPlane.next('accepted').then(({ cost }) => cost);
  const envoy = await startEnvoy(options.envoyPath, folder, xdsSocket);
  return {
    httpPort,
    httpsPort,
    controlPlanePid: controlPlane.process.pid ?? 0,
    envoyPid: envoy.pid ?? 0,
    startedAt,
    times,
    synchronized,
    change: async (request) => (await controlPlane.ask({ kind: 'change', ...request }, 'accepted')).cost,
    heldBytes: async () => (await controlPlane.ask({ kind: 'memory' }, 'memory')).heldBytes,
    stop: async () => {
      await end(envoy);
      await end(controlPlane.process);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type ReplyOf<K extends BenchReply['kind']> = Extract<BenchReply, { readonly kind: K }>;

const DEADLINE_MS = 60_000;

function startControlPlane(profileFolder: string | undefined) {
  const profile = profileFolder === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profileFolder];
  const child = fork(join(import.meta.dirname, 'control-plane.ts'), {
    serialization: 'advanced',
    execArgv: ['--expose-gc', ...profile],
  });
  async function next<K extends BenchReply['kind']>(kind: K): Promise<ReplyOf<K>> {
    const reply = await nextMessage(child);
    if (reply.kind !== kind) throw new Error(reply.kind === 'failed' ? reply.reason : `${reply.kind}, not ${kind}`);
    return reply as ReplyOf<K>;
  }
  return {
    process: child,
    next,
    ask: <K extends BenchReply['kind']>(request: BenchRequest, kind: K) => {
      const reply = next(kind);
      child.send(request);
      return reply;
    },
  };
}

function nextMessage(child: ChildProcess): Promise<BenchReply> {
  const { promise, resolve, reject } = Promise.withResolvers<BenchReply>();
  const onExit = (code: number | null) => reject(new Error(`the control plane has ended with ${code}`));
  const timer = setTimeout(() => reject(new Error(`no reply within ${DEADLINE_MS} ms`)), DEADLINE_MS);
  child.once('message', resolve).once('exit', onExit);
  return promise.finally(() => {
    clearTimeout(timer);
    child.off('message', resolve).off('exit', onExit);
  });
}

async function startEnvoy(path: string, folder: string, xdsSocket: string): Promise<ChildProcess> {
  const bootstrapPath = join(folder, 'bootstrap.json');
  const bootstrap = buildBootstrap({
    node: { id: 'bench', cluster: 'bench' },
    xds: { kind: 'unix', path: xdsSocket },
    adminSocket: join(folder, 'admin.sock'),
  });
  await writeFile(bootstrapPath, JSON.stringify(bootstrap), { mode: 0o600 });
  const flags = envoyArguments({ bootstrapPath, concurrency: 1, drainTimeS: 600, logLevel: 'error' });
  const envoy = spawn(path, flags, { stdio: ['ignore', 'ignore', 'inherit'] });
  // Whatever ends the bench, Envoy does not outlive it.
  const kill = () => envoy.kill('SIGKILL');
  process.once('exit', kill);
  envoy.once('exit', () => process.off('exit', kill));
  return envoy;
}

/** The control plane ends by itself when nobody talks to it any more, and then writes its profile. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  if (child.connected) child.disconnect();
  else child.kill('SIGKILL');
  await exited;
}
