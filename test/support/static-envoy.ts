import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createAdmin } from '../../src/envoy/admin.ts';
import { findEnvoy } from '../../src/envoy/binary.ts';
import { type StaticResource, staticBootstrap } from './static-bootstrap.ts';

export interface StaticEnvoy {
  /** Path of the Unix socket of its admin interface. */
  readonly adminSocket: string;
  /** Everything that Envoy logged so far. */
  log(): string;
  stop(): Promise<void>;
}

const START_DEADLINE_MS = 15_000;

/** A real Envoy that serves these resources without a control plane; resolves when its listeners are open. */
export function startStaticEnvoy(resources: Iterable<StaticResource>): Promise<StaticEnvoy> {
  return startEnvoyWith((adminSocket) => staticBootstrap(resources, { adminSocket }));
}

/** The same for a whole bootstrap, in JSON form. */
export async function startEnvoyWith(bootstrap: (adminSocket: string) => object): Promise<StaticEnvoy> {
  const { path } = await findEnvoy();
  const folder = await mkdtemp(join(tmpdir(), 'static-envoy-'));
  const adminSocket = join(folder, 'admin.sock');
  const config = join(folder, 'bootstrap.json');
  await writeFile(config, JSON.stringify(bootstrap(adminSocket)), { mode: 0o600 });
  const flags = ['--disable-hot-restart', '--concurrency', '1', '--log-level', 'warning'];
  const child = spawn(path, ['-c', config, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const stop = async () => {
    await end(child);
    await rm(folder, { recursive: true, force: true });
  };
  const admin = createAdmin({ socketPath: adminSocket });
  const deadline = Date.now() + START_DEADLINE_MS;
  while (!(await admin.ready())) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop();
      throw new Error(`Envoy did not start:\n${log}`);
    }
    await delay(20);
  }
  return { adminSocket, log: () => log, stop };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** A port that refuses connections for as long as a test runs: another test may take any that the system gives out. */
export const REFUSING_PORT = 1;

/** Ports of 127.0.0.1 that nobody listens on at this moment. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
