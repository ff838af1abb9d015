/** Who dies, hangs or ends in the process tree of `ingress-xds nginx`, and what becomes of the others and of requests. */
import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SAME_REQUEST_MS } from '../../src/cli/signals.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { poll } from '../support/gateway.ts';
import { ingress, type Manifest, service } from '../support/manifests.ts';
import { eventually, isAlive } from '../support/process/processes.ts';
import { type NginxCommand, startNginxCommand } from './support/nginx-command.ts';
import { workersOf } from './support/workers.ts';

vi.setConfig({ testTimeout: 120_000 });

let backend: Backend;
let other: Backend;
let nginx: NginxCommand;
let slow: PromiseWithResolvers<void>;
let arrived: PromiseWithResolvers<void>;

beforeEach(async () => {
  slow = Promise.withResolvers();
  arrived = Promise.withResolvers();
  backend = await startBackend('pod', async (request, response) => {
    if (request.url === '/slow') {
      arrived.resolve();
      await slow.promise;
    }
    response.end('done');
  });
  other = await startBackend('other', (_, response) => response.writeHead(203).end());
});
afterEach(async () => {
  slow.resolve();
  await nginx.close();
  await backend.close();
  await other.close();
});

function site(name: string): Manifest {
  return ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{}] }] });
}

function objects(endpoints: Backend, ...names: readonly string[]): Manifest[] {
  return [service('web'), endpoints.slice('web', { suffix: 'a' }), ...names.map(site)];
}

async function start(...flags: readonly string[]): Promise<void> {
  nginx = await startNginxCommand(objects(backend, 'web'), flags);
  await nginx.answers('web.example.com', 200);
}

/** A request that has reached the backend. Nobody but the backend and nginx ends it. */
async function slowRequest(): Promise<{ readonly answer: Promise<string> }> {
  const { promise: answer, resolve, reject } = Promise.withResolvers<string>();
  answer.catch(() => {});
  const target = { host: '127.0.0.1', port: nginx.httpPort, path: '/slow', headers: { host: 'web.example.com' } };
  get({ ...target, agent: false }, (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    response.on('end', () => resolve(body)).on('error', reject);
  }).on('error', reject);
  await arrived.promise;
  return { answer };
}

async function everybody(): Promise<number[]> {
  const master = await nginx.master();
  return [await nginx.controlPlane(), await nginx.guard(), master, ...(await workersOf(master))];
}

async function expectDead(pids: readonly number[]): Promise<void> {
  await poll(
    () => !pids.some(isAlive),
    () => `${pids.filter(isAlive).join(', ')} of ${pids.join(', ')} live on:\n${nginx.command.output()}`,
  );
}

describe('a master that is killed', () => {
  test('is replaced, its workers finish what is under way, and the next one has everything', async () => {
    await start();
    const [master, controlPlane] = [await nginx.master(), await nginx.controlPlane()];
    const workers = await workersOf(master);
    const { answer } = await slowRequest();
    process.kill(master, 'SIGKILL');
    await nginx.command.printed(/nginx was ended by SIGKILL; it starts again in 100 ms/);
    await eventually('another master', async () => (await nginx.master()) !== master);
    await nginx.answers('web.example.com', 200);
    slow.resolve();
    expect(await answer).toBe('done');
    await expectDead(workers);
    await nginx.write(...objects(other, 'web', 'second'));
    await nginx.answers('second.example.com', 203);
    expect(await nginx.controlPlane()).toBe(controlPlane);
  });

  test('is replaced although a worker of it hangs and keeps the ports', async () => {
    await start();
    const master = await nginx.master();
    const workers = await workersOf(master);
    for (const worker of workers) process.kill(worker, 'SIGSTOP');
    process.kill(master, 'SIGKILL');
    await expectDead(workers);
    await nginx.answers('web.example.com', 200);
  });
});

test('a worker that dies is replaced by its master', async () => {
  await start();
  const master = await nginx.master();
  const [worker = 0] = await workersOf(master);
  process.kill(worker, 'SIGKILL');
  await eventually('another worker', async () => {
    const now = await workersOf(master);
    return now.length === 2 && !now.includes(worker);
  });
  await nginx.answers('web.example.com', 200);
});

test('a control plane that dies is replaced: nginx serves meanwhile, and then what has changed', async () => {
  await start();
  const [master, controlPlane] = [await nginx.master(), await nginx.controlPlane()];
  const { answer } = await slowRequest();
  process.kill(controlPlane, 'SIGKILL');
  await expectDead([controlPlane]);
  expect(await nginx.status('web.example.com')).toBe(200);
  await nginx.write(...objects(other, 'web', 'second'));
  await nginx.answers('second.example.com', 203);
  await nginx.write(...objects(backend, 'web', 'second'));
  await nginx.answers('second.example.com', 200);
  slow.resolve();
  expect(await answer).toBe('done');
  expect(await nginx.master()).toBe(master);
  await eventually('health', async () => (await nginx.health()) === 200);
});

describe('a parent that is killed', () => {
  test('leaves no process behind', async () => {
    await start();
    const pids = await everybody();
    nginx.command.process.kill('SIGKILL');
    await expectDead(pids);
  });

  test('nor workers whose master was killed before', async () => {
    await start();
    const pids = await everybody();
    await slowRequest();
    process.kill(await nginx.master(), 'SIGKILL');
    await nginx.command.printed(/nginx was ended by SIGKILL/);
    nginx.command.process.kill('SIGKILL');
    await expectDead(pids);
  });
});

describe('SIGTERM', () => {
  test('lets requests in flight come to their end, and everything ends in order', async () => {
    await start();
    const pids = await everybody();
    const { answer } = await slowRequest();
    nginx.command.process.kill('SIGTERM');
    await eventually(
      'the end of the listeners',
      async () => (await nginx.status('web.example.com')) === 'ECONNREFUSED',
    );
    slow.resolve();
    expect(await answer).toBe('done');
    expect(await nginx.command.exit).toBe(0);
    await expectDead(pids);
  });

  test('takes no longer than it may', async () => {
    await start('--drain-timeout=1');
    const pids = await everybody();
    const { answer } = await slowRequest();
    nginx.command.process.kill('SIGTERM');
    await expect(answer).rejects.toThrow();
    expect(await nginx.command.exit).toBe(0);
    await expectDead(pids);
  });

  test('a second time ends everything at once', async () => {
    await start();
    const pids = await everybody();
    const { answer } = await slowRequest();
    nginx.command.process.kill('SIGTERM');
    await nginx.command.printed(/a second signal ends at once/);
    await delay(SAME_REQUEST_MS + 100);
    nginx.command.process.kill('SIGTERM');
    await expect(answer).rejects.toThrow();
    expect(await nginx.command.exit).toBe(143);
    await expectDead(pids);
  });
});

test('metrics say what became of configurations', async () => {
  await start();
  const read = async () => {
    const metrics = await nginx.metrics();
    const of = (name: string) => metrics[`nginx_ingress_controller_${name}`];
    return { good: of('config_last_reload_successful'), success: of('success'), hash: of('config_hash') };
  };
  const first = await read();
  expect(first).toMatchObject({ good: 1, success: 1 });
  await nginx.write(...objects(backend, 'web', 'second'));
  await nginx.answers('second.example.com', 200);
  await eventually('the count', async () => (await read()).success === 2);
  expect((await read()).hash).not.toBe(first.hash);
});
