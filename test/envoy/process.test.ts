import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SAME_REQUEST_MS } from '../../src/cli/signals.ts';
import { findEnvoy } from '../../src/envoy/binary.ts';
import {
  type Backend,
  fetchOnce,
  open,
  type ParentSettings,
  type RunningParent,
  readBody,
  startBackend,
  startParent,
} from '../support/process/process-harness.ts';
import { eventually, isAlive } from '../support/process/processes.ts';

let backend: Backend;
let parent: RunningParent;

beforeEach(async () => {
  backend = await startBackend();
});
afterEach(async () => {
  await parent.close();
  backend.close();
});

async function start(settings: Partial<ParentSettings> = {}): Promise<RunningParent> {
  const { path } = await findEnvoy();
  parent = await startParent({
    envoyPath: path,
    backendPort: backend.port,
    drain: { gracePeriodMs: 0, deadlineMs: 20_000 },
    ...settings,
  });
  return parent;
}

async function startServing(settings: Partial<ParentSettings> = {}): Promise<RunningParent> {
  await start(settings);
  await parent.serving();
  return parent;
}

async function expectDead(...pids: readonly number[]): Promise<void> {
  await eventually(`the end of ${pids.join(', ')}`, () => !pids.some(isAlive));
}

describe('a child that dies', () => {
  test('Envoy is restarted, the control plane lives on', async () => {
    await startServing();
    const [controlPlane, envoy] = [await parent.controlPlane(), await parent.envoy()];
    process.kill(envoy, 'SIGKILL');
    expect(await parent.waitForLine('SIGKILL')).toBe(
      'error parent: Envoy was ended by SIGKILL; it starts again in 100 ms',
    );
    await parent.serving();
    expect(await parent.envoy()).not.toBe(envoy);
    expect(await parent.controlPlane()).toBe(controlPlane);
  });

  test('the control plane is restarted, Envoy serves meanwhile', async () => {
    await startServing();
    const [controlPlane, envoy] = [await parent.controlPlane(), await parent.envoy()];
    const slow = await open(parent.port, '/slow');
    process.kill(controlPlane, 'SIGKILL');
    await expectDead(controlPlane);
    expect((await fetchOnce(parent.port)).body).toBe('begin end');
    expect(await parent.controlPlane()).not.toBe(controlPlane);
    backend.finishSlow();
    expect(await readBody(slow)).toBe('begin end');
    expect(await parent.envoy()).toBe(envoy);
  });

  test('a control plane that cannot work with its configuration ends everything with its code', async () => {
    await start({ controlPlaneArgs: ['exit=2'] });
    expect(await parent.exit).toBe(2);
    expect(await parent.runtimeFolders()).toEqual([]);
  });

  test('a control plane that crashes before it listens is tried again', async () => {
    await start({ controlPlaneArgs: ['exit=1'] });
    await parent.waitForLine('The control plane ended with code 1; it starts again in 200 ms');
    parent.process.kill('SIGTERM');
    expect(await parent.exit).toBe(0);
  });
});

describe('a parent that is killed', () => {
  test('leaves no process behind', async () => {
    await startServing();
    const pids = [await parent.controlPlane(), await parent.envoy(), await parent.guard()];
    parent.process.kill('SIGKILL');
    await expectDead(...pids);
  });

  test('nor after its guard was killed and replaced', async () => {
    await startServing();
    const [controlPlane, envoy, guard] = [await parent.controlPlane(), await parent.envoy(), await parent.guard()];
    process.kill(guard, 'SIGKILL');
    await expectDead(guard);
    const next = await parent.guard();
    parent.process.kill('SIGKILL');
    await expectDead(controlPlane, envoy, next);
  });

  test('nor after Envoy was restarted, nor a child that is stopped or deaf', async () => {
    await startServing({ controlPlaneArgs: ['stubborn'] });
    const first = await parent.envoy();
    process.kill(first, 'SIGKILL');
    await expectDead(first);
    // Its successor is visible a moment before the parent has told the guard of it.
    await parent.serving();
    const pids = [await parent.controlPlane(), await parent.envoy(), await parent.guard()];
    for (const pid of pids.slice(0, 2)) process.kill(pid, 'SIGSTOP');
    parent.process.kill('SIGKILL');
    await expectDead(...pids);
  });
});

describe('SIGTERM', () => {
  test('a request in flight is answered, new connections are refused, then everything ends in order', async () => {
    await startServing();
    const slow = await open(parent.port, '/slow');
    parent.process.kill('SIGTERM');
    await parent.waitForLine('Waiting for 1 open connection, at most 20 s');
    await expect(fetchOnce(parent.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    backend.finishSlow();
    expect(await readBody(slow)).toBe('begin end');
    expect(await parent.exit).toBe(0);
    expect(parent.lines.filter((line) => !line.includes(' envoy: '))).toEqual([
      'info parent: Ending; a second signal ends at once',
      'stub: draining',
      'info parent: Waiting for 1 open connection, at most 20 s',
      'info parent: Drained',
      'stub: stop',
    ]);
    expect(await parent.runtimeFolders()).toEqual([]);
  });

  test('new connections are served during the grace period, and asked to close', async () => {
    await startServing({ drain: { gracePeriodMs: 20_000, deadlineMs: 20_000 } });
    parent.process.kill('SIGTERM');
    await parent.waitForLine('stub: draining');
    await eventually('an answer that closes', async () => (await fetchOnce(parent.port)).connection === 'close');
    expect(isAlive(await parent.envoy())).toBe(true);
  });

  test('what outlasts the deadline is cut', async () => {
    await startServing({ drain: { gracePeriodMs: 0, deadlineMs: 100 } });
    const slow = await open(parent.port, '/slow');
    parent.process.kill('SIGTERM');
    await expect(readBody(slow)).rejects.toThrow('aborted');
    expect(await parent.exit).toBe(0);
    expect(parent.lines).toContain('warn parent: The time to drain is over: 1 open connection will be cut');
  });

  test('idle connections are cut where nobody wants to wait for them', async () => {
    await startServing({ drain: { gracePeriodMs: 0, deadlineMs: 20_000, quietMs: 50 } });
    const idle = connect(parent.port, '127.0.0.1');
    await once(idle, 'connect');
    parent.process.kill('SIGTERM');
    expect(await parent.exit).toBe(0);
    idle.destroy();
    expect(parent.lines).toContain('info parent: Drained');
  });

  test('a control plane that does not stop when told is ended', async () => {
    await startServing({ controlPlaneArgs: ['stubborn'] });
    parent.process.kill('SIGTERM');
    expect(await parent.exit).toBe(0);
    const stub = parent.lines.filter((line) => line.startsWith('stub'));
    expect(stub).toEqual(['stub: draining', 'stub: stop', 'stub: SIGTERM']);
  });
});

test('a terminal that is closed does not cut the drain short', async () => {
  await startServing();
  const controlPlane = await parent.controlPlane();
  const slow = await open(parent.port, '/slow');
  parent.process.stdout?.destroy();
  parent.process.kill('SIGHUP');
  await eventually('the end of the listener', () =>
    fetchOnce(parent.port).then(
      () => false,
      () => true,
    ),
  );
  expect(await parent.controlPlane()).toBe(controlPlane);
  backend.finishSlow();
  expect(await readBody(slow)).toBe('begin end');
  expect(await parent.exit).toBe(0);
});

describe('Ctrl-C', () => {
  test('drains, although npm passes on what the terminal has already sent', async () => {
    await startServing();
    const slow = await open(parent.port, '/slow');
    parent.pressCtrlC();
    parent.process.kill('SIGINT');
    await parent.waitForLine('Waiting for 1 open connection');
    backend.finishSlow();
    expect(await readBody(slow)).toBe('begin end');
    expect(await parent.exit).toBe(0);
  });

  test('a second time ends everything at once', async () => {
    await startServing();
    const pids = [await parent.controlPlane(), await parent.envoy(), await parent.guard()];
    const slow = await open(parent.port, '/slow');
    parent.pressCtrlC();
    await parent.waitForLine('Waiting for 1 open connection');
    const cut = expect(readBody(slow)).rejects.toThrow('aborted');
    await delay(SAME_REQUEST_MS + 100);
    parent.pressCtrlC();
    expect(await parent.exit).toBe(130);
    await cut;
    await expectDead(...pids);
    expect(await parent.runtimeFolders()).toEqual([]);
  });
});

test('a port that is taken is named before anything starts', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await start({ listenPort: port });
  expect(await parent.exit).toBe(1);
  server.close();
  expect(parent.lines).toEqual([
    `error parent: Port ${port} is already in use on 0.0.0.0: end what listens there, or choose another port with --http-port`,
  ]);
  expect(await parent.runtimeFolders()).toEqual([]);
});
