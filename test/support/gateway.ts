import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasIpv6 } from '../../src/cli/ipv6.ts';
import { createPipeline, type Pipeline } from '../../src/cli/pipeline.ts';
import { createStapling, type Stapling } from '../../src/cli/stapling.ts';
import type { ObjectChange } from '../../src/cluster/cluster-state.ts';
import { decodeObject } from '../../src/cluster/decode.ts';
import type { ObjectKind } from '../../src/cluster/objects.ts';
import type { Settled } from '../../src/controller.ts';
import { createAdmin, type EnvoyAdmin } from '../../src/envoy/admin.ts';
import { findEnvoy } from '../../src/envoy/binary.ts';
import { buildBootstrap } from '../../src/envoy/bootstrap.ts';
import { envoyArguments } from '../../src/envoy/command-line.ts';
import type { EmitOptions } from '../../src/envoy/emit.ts';
import type { BuildOptions } from '../../src/ingress/build.ts';
import { defaultOptions } from '../../src/ingress/testing.ts';
import { createAsk } from '../../src/ocsp/ask.ts';
import type { XdsEvent } from '../../src/xds/observer.ts';
import { createXdsServer, type XdsServer } from '../../src/xds/server.ts';
import type { Manifest } from './manifests.ts';
import { makePair } from './pki.ts';
import { freePorts } from './static-envoy.ts';

export interface GatewayOptions {
  readonly manifests?: readonly Manifest[];
  readonly build?: Partial<BuildOptions>;
  readonly emit?: Partial<EmitOptions>;
  readonly concurrency?: number;
  readonly drainTimeS?: number;
}

/** The whole product in this process, and a real Envoy that it serves over delta ADS on a Unix socket. */
export interface Gateway {
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly pipeline: Pipeline;
  readonly server: XdsServer;
  /** Path of the socket on which Envoy looks for the server. */
  readonly xdsSocket: string;
  readonly admin: EnvoyAdmin;
  /** Path of the admin socket. */
  readonly adminSocket: string;
  /** Process number of Envoy. */
  readonly envoyPid: number;
  /** Everything that the xDS server said so far. */
  readonly events: readonly XdsEvent[];
  readonly passes: readonly Settled[];
  /** Everything that Envoy logged so far. */
  log(): string;
  /** Puts the objects into the state and resolves when Envoy has accepted what became of them. */
  apply(...manifests: readonly Manifest[]): Promise<void>;
  /** The same for objects that go. */
  remove(kind: ObjectKind, name: string, namespace?: string): Promise<void>;
  /** Puts changes into the state without waiting. */
  change(changes: readonly ObjectChange[]): void;
  /** Resolves when nothing is pending and Envoy has accepted everything. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

const DEADLINE_MS = 30_000;

export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const [httpPort = 0, httpsPort = 0] = await freePorts(2);
  const generated = await makePair(['ingress.local']);
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  const events: XdsEvent[] = [];
  const passes: Settled[] = [];
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const check of waiting) check();
  };
  const observe = (event: XdsEvent) => {
    events.push(event);
    wake();
  };
  let stapling: Stapling | undefined;
  const pipeline = createPipeline({
    build: { ...defaultOptions(generated), httpPort, httpsPort, ...options.build },
    emit: { ipv6: await hasIpv6(), ...options.emit },
    observe,
    onSettled: (settled) => {
      passes.push(settled);
      stapling?.settled(settled.pass);
      wake();
    },
  });
  const { state, controller, store } = pipeline;
  stapling = createStapling({
    state,
    model: pipeline.build.model,
    onChange: () => controller.notify(false),
    ask: createAsk({ isAllowed: () => true }),
  });
  const server = createXdsServer({ store, observe });
  const xdsSocket = join(folder, 'xds.sock');
  const adminSocket = join(folder, 'admin.sock');
  const admin = createAdmin({ socketPath: adminSocket });
  state.apply(changesOf(options.manifests ?? []));
  await controller.start();
  await server.listen(`unix:${xdsSocket}`);
  const envoy = await startEnvoy(folder, xdsSocket, adminSocket, options);

  let requested = 0;
  const isSettled = () =>
    passes.length > requested &&
    server.streams().length > 0 &&
    server.streams().every(({ programmedSeq }) => programmedSeq >= store.seq);
  const settled = async () => {
    await until(isSettled, waiting, () => `Envoy did not accept everything:\n${envoy.log()}`);
  };
  const change = (changes: readonly ObjectChange[]) => {
    requested = passes.length;
    state.apply(changes);
    controller.notify(true);
  };
  await settled();
  const listening = async () => {
    const active = await admin.activeListeners();
    return active.includes('http') && active.includes('https');
  };
  await poll(listening, () => `the listeners of Envoy did not open:\n${envoy.log()}`);
  return {
    httpPort,
    httpsPort,
    pipeline,
    server,
    xdsSocket,
    admin,
    adminSocket,
    envoyPid: envoy.pid,
    events,
    passes,
    log: envoy.log,
    change,
    settled,
    apply: async (...manifests) => {
      change(changesOf(manifests));
      await settled();
    },
    remove: async (kind, name, namespace = 'default') => {
      change([{ remove: { kind, name, namespace } }]);
      await settled();
    },
    close: async () => {
      stapling?.stop();
      controller.stop();
      await envoy.stop();
      await server.close({ graceMs: 0 });
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** @throws Error for a manifest that is no valid object: a fault of the test. */
export function changesOf(manifests: readonly Manifest[]): ObjectChange[] {
  return manifests.flatMap((manifest) => {
    const { objects, problems, invalid } = decodeObject(manifest, {
      defaultNamespace: 'default',
      keepResourceVersion: false,
    });
    if (invalid) throw new Error(`invalid ${manifest.kind}: ${JSON.stringify(problems)}`);
    return objects.map((upsert) => ({ upsert }));
  });
}

async function startEnvoy(folder: string, xdsSocket: string, adminSocket: string, options: GatewayOptions) {
  const { path } = await findEnvoy();
  const bootstrapPath = join(folder, 'bootstrap.json');
  const bootstrap = buildBootstrap({
    node: { id: 'test', cluster: 'test' },
    xds: { kind: 'unix', path: xdsSocket },
    adminSocket,
  });
  await writeFile(bootstrapPath, JSON.stringify(withRuntime(bootstrap)), { mode: 0o600 });
  const { concurrency = 1, drainTimeS = 600 } = options;
  const child = spawn(path, envoyArguments({ bootstrapPath, concurrency, drainTimeS, logLevel: 'warning' }), {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  }
  return { pid: child.pid ?? 0, log: () => log, stop: () => end(child) };
}

/** Spans are sent as they come, so that tests need not wait for them. */
function withRuntime(bootstrap: object): object {
  const { layered_runtime } = bootstrap as { layered_runtime: { layers: readonly object[] } };
  const layer = { name: 'test', static_layer: { 'tracing.opentelemetry.min_flush_spans': 1 } };
  return { ...bootstrap, layered_runtime: { layers: [...layered_runtime.layers, layer] } };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** Resolves as soon as the condition holds; it is looked at whenever something happens. */
function until(condition: () => boolean, waiting: Set<() => void>, describe: () => string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const finish = () => {
    waiting.delete(check);
    clearTimeout(timer);
  };
  const check = () => {
    if (!condition()) return;
    finish();
    resolve();
  };
  const timer = setTimeout(() => {
    finish();
    reject(new Error(describe()));
  }, DEADLINE_MS);
  waiting.add(check);
  check();
  return promise;
}

/** For what tells nobody that it has happened. Rejects when the deadline is over. */
export async function poll(condition: () => boolean | Promise<boolean>, describe: () => string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(describe());
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
