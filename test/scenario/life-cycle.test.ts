/** The beginning and the end of a control plane as a container sees them: health, signals, the preStop hook. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Command, startCommand } from '../support/command.ts';
import { poll } from '../support/gateway.ts';
import { makePair } from '../support/pki.ts';
import { isAlive } from '../support/process/processes.ts';
import { freePorts } from '../support/static-envoy.ts';

vi.setConfig({ testTimeout: 120_000 });

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

let folder: string;
let manifests: string;
/** Of its own for each test: nothing else on this machine is to be found, or ended. */
let temporary: string;
let ports: Readonly<Record<'http' | 'https' | 'health' | 'webhook' | 'closed', number>>;
const started: Command[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'life-cycle-'));
  manifests = join(folder, 'manifests');
  temporary = join(folder, 'tmp');
  await mkdir(manifests);
  await mkdir(temporary);
  const [http = 0, https = 0, health = 0, webhook = 0, closed = 0] = await freePorts(5);
  ports = { http, https, health, webhook, closed };
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((command) => command.kill()));
  await rm(folder, { recursive: true, force: true });
});

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Command {
  const command = startCommand(args, { TMPDIR: temporary, ...env });
  started.push(command);
  return command;
}

function portFlags(): string[] {
  const { http, https, health } = ports;
  const numbers = Object.entries({ 'http-port': http, 'https-port': https, 'healthz-port': health });
  return [...numbers.map(([name, port]) => `--${name}=${port}`), '--healthz-host=127.0.0.1'];
}

async function health(path: string): Promise<{ readonly status: number; readonly text: string } | undefined> {
  const answer = await fetch(`http://127.0.0.1:${ports.health}${path}`).catch(() => undefined);
  return answer && { status: answer.status, text: await answer.text() };
}

async function untilHealth(path: string, status: number | undefined, command: Command): Promise<void> {
  await poll(
    async () => (await health(path))?.status === status,
    () => `${path} does not answer ${status}:\n${command.output()}`,
  );
}

/** What the chart of ingress-nginx 1.15 gives to its container, webhook and metrics included. */
const CHART = [
  '/nginx-ingress-controller',
  '--publish-service=ingress-nginx/ingress-nginx-controller',
  '--election-id=ingress-nginx-leader',
  '--controller-class=k8s.io/ingress-nginx',
  '--ingress-class=nginx',
  '--configmap=ingress-nginx/ingress-nginx-controller',
  '--validating-webhook=:8443',
  '--validating-webhook-certificate=/usr/local/certificates/cert',
  '--validating-webhook-key=/usr/local/certificates/key',
  '--enable-metrics=true',
];

/** The same as a Deployment here would be given: other ports and files, which count because they come last. */
async function chartHere(): Promise<{ args: string[]; env: Record<string, string> }> {
  const pair = await makePair(['webhook']);
  const [certificate, key, kubeconfig] = ['cert', 'key', 'kubeconfig'].map((name) => join(folder, name));
  await writeFile(certificate!, pair.chain);
  await writeFile(key!, pair.key);
  const cluster = { server: `http://127.0.0.1:${ports.closed}` };
  await writeFile(
    kubeconfig!,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'here', cluster }],
      users: [{ name: 'me', user: {} }],
      contexts: [{ name: 'here', context: { cluster: 'here', user: 'me' } }],
      'current-context': 'here',
    }),
  );
  const files = [`--validating-webhook-certificate=${certificate}`, `--validating-webhook-key=${key}`];
  const here = [...files, `--validating-webhook=127.0.0.1:${ports.webhook}`, `--kubeconfig=${kubeconfig}`];
  return {
    args: [...CHART, ...here, ...portFlags()],
    env: { POD_NAME: 'controller-0', POD_NAMESPACE: 'ingress-nginx' },
  };
}

describe('without an API server', () => {
  test('the arguments of the chart start, and the control plane goes on trying and says why', async () => {
    const { args, env } = await chartHere();
    const command = start([...args, '--post-shutdown-grace-period=0'], env);
    await untilHealth('/healthz', 500, command);
    await command.printed(/not ready yet: .*API server[\s\S]*not ready yet: .*API server/);
    expect((await health('/healthz'))?.status).toBe(500);
    expect((await health('/readyz'))?.text).toMatch(/API server/);
    expect(command.output().split('--enable-metrics does nothing here')).toHaveLength(2);
    command.process.kill('SIGTERM');
    expect(await command.exit).toBe(0);
    expect(await readdir(temporary)).toEqual([]);
  });
});

describe('wait-shutdown', () => {
  const served = (socket = 'xds.sock') => [
    ...['serve', '--manifests', manifests, ...portFlags()],
    `--xds-address=unix:${join(folder, socket)}`,
  ];

  test('waits for the drain of run, which then waits for its pod to be removed', async () => {
    const grace = ['--drain-timeout=100', '--post-shutdown-grace-period=100'];
    const command = start(['run', '--manifests', manifests, ...portFlags(), ...grace]);
    await untilHealth('/healthz', 200, command);
    const client = connect(ports.http, '127.0.0.1');
    client.on('error', () => {});
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(client, 'data');
    // A request that does not come to its end.
    client.write('GET / HTTP/1.1\r\n');
    const hook = start(['wait-shutdown']);
    await untilHealth('/healthz', 500, command);
    await command.printed(/Waiting for 1 open connection/);
    expect(isAlive(hook.pid)).toBe(true);
    expect(hook.process.exitCode).toBeNull();
    client.destroy();
    expect(await hook.exit).toBe(0);
    expect(isAlive(command.pid)).toBe(true);
    expect(await health('/healthz')).toBeUndefined();
    expect(await readdir(temporary)).toEqual([]);
    // What kubelet does after the hook: it ends the wait, and the end was an orderly one.
    command.process.kill('SIGTERM');
    expect(await command.exit).toBe(0);
  });

  test('finds a control plane behind a shell', async () => {
    const shell = spawn('sh', ['-c', '"$@"; echo "ended with $?"', 'sh', process.execPath, MAIN, ...served()], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(shell, 'close');
    let output = '';
    shell.stdout.on('data', (data) => {
      output += data;
    });
    await poll(
      async () => (await health('/healthz'))?.status === 200,
      () => output,
    );
    const hook = start(['wait-shutdown']);
    expect(await hook.exit).toBe(0);
    await closed;
    expect(output).toContain('ended with 0');
  });

  test('ends a control plane that is the first process of its container', async () => {
    const space = spawn('unshare', ['--pid', '--fork', '--mount-proc', process.execPath, MAIN, ...served()], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: 'ignore',
    });
    await poll(
      async () => (await health('/healthz'))?.status === 200,
      () => 'nothing is served',
    );
    const [first = ''] = (await readFile(`/proc/${space.pid}/task/${space.pid}/children`, 'utf8')).split(' ');
    // It may end together with the container, but does not fail by itself.
    const enter = ['--target', first, '--pid', '--mount', process.execPath, MAIN, 'wait-shutdown'];
    const hook = spawn('nsenter', enter, { env: { ...process.env, TMPDIR: temporary }, stdio: 'inherit' });
    const [code] = await once(space, 'close');
    expect(code).toBe(0);
    if (hook.exitCode === null && hook.signalCode === null) await once(hook, 'close');
    expect([0, 137, null]).toContain(hook.exitCode);
    expect(await readdir(temporary)).toEqual([]);
  });

  test('returns at once when there is nothing to end', async () => {
    const hook = start(['/wait-shutdown']);
    expect(await hook.exit).toBe(0);
    expect(hook.output()).toBe('ingress-xds: no control plane is running here\n');
  });

  test('ends no process that has got the number of one that is dead', async () => {
    const stranger = spawn('sleep', ['100']);
    const left = join(temporary, `ingress-xds-${stranger.pid}-abcdef`);
    await mkdir(left);
    await writeFile(join(left, 'owner'), '1');
    try {
      const hook = start(['wait-shutdown']);
      expect(await hook.exit).toBe(0);
      // A signal would have arrived by now: it is delivered before kill returns.
      await delay(0);
      expect(stranger.signalCode).toBeNull();
      expect(isAlive(stranger.pid!)).toBe(true);
      await access(left);
    } finally {
      stranger.kill();
    }
  });

  test('asks which, when there are several', async () => {
    const first = start(served());
    await untilHealth('/healthz', 200, first);
    const second = start([...served('other.sock'), `--healthz-port=${ports.webhook}`]);
    await second.printed(/serving xDS/);
    const hook = start(['wait-shutdown']);
    expect(await hook.exit).toBe(2);
    expect(hook.output()).toMatch(/several are running: give --pid, one of \d+, \d+/);
    expect(hook.output()).toContain(String(first.pid));
    expect(await start(['wait-shutdown', `--pid=${second.pid}`]).exit).toBe(0);
    expect(await second.exit).toBe(0);
    expect(isAlive(first.pid)).toBe(true);
  });
});
