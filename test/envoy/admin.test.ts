import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AdminError, createAdmin, type EnvoyAdmin } from '../../src/envoy/admin.ts';
import { findEnvoy } from '../../src/envoy/binary.ts';
import { envoyArguments } from '../../src/envoy/command-line.ts';
import { createSupervisor, type Supervisor } from '../../src/process/supervisor.ts';
import { type Backend, fetchOnce, freePort, open, startBackend } from '../support/process/process-harness.ts';
import { eventually } from '../support/process/processes.ts';
import { staticBootstrap } from '../support/process/static-proxy.ts';

let folder: string;
let adminSocket: string;
let port: number;
let backend: Backend;
let envoy: Supervisor;
let admin: EnvoyAdmin;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'admin-test-'));
  adminSocket = join(folder, 'admin.sock');
  const bootstrapPath = join(folder, 'bootstrap.json');
  port = await freePort();
  backend = await startBackend();
  const bootstrap = staticBootstrap({ adminSocket, listenPort: port, backendPort: backend.port });
  await writeFile(bootstrapPath, JSON.stringify(bootstrap));
  const { path } = await findEnvoy();
  const args = envoyArguments({ bootstrapPath, concurrency: 2, drainTimeS: 240, logLevel: 'warning' });
  envoy = createSupervisor({ spawn: () => spawn(path, args, { stdio: 'inherit' }) });
  admin = createAdmin({ socketPath: adminSocket });
});
afterEach(async () => {
  await envoy.stop({ killAfterMs: 5_000 });
  backend.close();
  await rm(folder, { recursive: true });
});

async function startEnvoy(): Promise<void> {
  envoy.start();
  await eventually('Envoy', admin.ready);
}

test('before Envoy runs, nothing answers', async () => {
  expect(await admin.ready()).toBe(false);
  await expect(admin.traffic()).rejects.toThrow(AdminError);
  await expect(admin.drainListeners()).rejects.toThrow("Envoy's admin interface does not answer /drain_listeners");
});

test('an admin interface that hangs is given up', async () => {
  await startEnvoy();
  const patient = createAdmin({ socketPath: adminSocket, timeoutMs: 200 });
  envoy.child()?.kill('SIGSTOP');
  await expect(patient.traffic()).rejects.toThrow(AdminError);
  envoy.child()?.kill('SIGCONT');
});

test('the socket is for its user alone', async () => {
  await startEnvoy();
  expect((await stat(adminSocket)).mode & 0o777).toBe(0o600);
});

test('listeners, connections and requests are counted, the admin interface is not', async () => {
  await startEnvoy();
  await eventually('the listener', async () => (await admin.activeListeners()).length === 1);
  expect(await admin.traffic()).toEqual({ connections: 0, httpConnections: 0, requests: 0 });

  const idle = connect(port, '127.0.0.1');
  await once(idle, 'connect');
  const slow = await open(port, '/slow');
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const streams = [session.request({ ':path': '/slow' }), session.request({ ':path': '/slow' })];
  await Promise.all(streams.map((stream) => once(stream, 'response')));
  await eventually('the idle connection', async () => (await admin.traffic()).connections === 3);
  expect(await admin.traffic()).toEqual({ connections: 3, httpConnections: 3, requests: 3 });

  idle.destroy();
  slow.destroy();
  session.destroy();
  await eventually('no traffic', async () => (await admin.traffic()).connections === 0);
});

test('a failed health check keeps serving and says goodbye, drained listeners refuse', async () => {
  await startEnvoy();
  expect((await fetchOnce(port)).connection).toBeUndefined();
  await admin.failHealthCheck();
  expect(await admin.ready()).toBe(false);
  expect(await fetchOnce(port)).toEqual({ connection: 'close', body: 'begin end' });
  await admin.drainListeners();
  await eventually('a refusal', () =>
    fetchOnce(port).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
    ),
  );
});
