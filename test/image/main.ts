/**
 * `npm run test:image`: what the container image holds, laid out in a folder by the script that the Dockerfile runs, and started as a
 * container starts it: as user 101, in a network of its own. Needs root, util-linux, setcap and the network (npm).
 */
import { deepEqual, equal, match } from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findPinnedEnvoy } from '../../src/envoy/binary.ts';
import { pinnedVersion } from '../../src/envoy/envoy-version.ts';

const ROOT = join(import.meta.dirname, '../..');
const USER = 101;
/** CAP_NET_BIND_SERVICE as /proc shows it. */
const NET_BIND_SERVICE = '0000000000000400';
const DEADLINE_MS = 60_000;

const run = promisify(execFile);
let folder: string;
let image: string;

before(async () => {
  equal(process.getuid?.(), 0, 'needs root, to be another user');
  folder = await mkdtemp(join(tmpdir(), 'image-'));
  await chmod(folder, 0o755);
  const source = join(folder, 'source');
  image = join(folder, 'image');
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: ROOT });
  const [report] = Object.values(JSON.parse(stdout.slice(stdout.search(/^[[{]$/m))) as readonly { filename: string }[]);
  await mkdir(source);
  await run('tar', ['-xzf', join(folder, report?.filename ?? ''), '-C', source, '--strip-components=1']);
  // Of the sources that the Dockerfile copies this is the only one that the package does not have.
  await cp(join(ROOT, 'package-lock.json'), join(source, 'package-lock.json'));
  const { path } = await findPinnedEnvoy();
  const env = { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`, ENVOY_PATH: path };
  await run('sh', [join(source, 'envoy/install.sh'), image], { env, timeout: 3 * DEADLINE_MS });
  await cp(join(ROOT, 'examples/quickstart'), join(folder, 'manifests'), { recursive: true });
  await mkdir(join(folder, 'tmp'));
  await chmod(join(folder, 'tmp'), 0o1777);
});
after(() => rm(folder, { recursive: true, force: true }));

interface Container {
  readonly process: ChildProcess;
  /** Its first process, as this side of it sees it. */
  readonly pid: number;
  readonly exit: Promise<number | NodeJS.Signals>;
  output(): string;
}

const containers: Container[] = [];

/** A program of the image as user 101 with these capabilities at most, in a new network with a loopback. */
function start(args: readonly string[], capabilities: readonly string[], network?: number): Container {
  const bounds = ['-all', ...capabilities.map((name) => `+${name}`)].join(',');
  const user = ['--reuid', String(USER), '--regid', String(USER), '--clear-groups', `--bounding-set=${bounds}`];
  const program = ['setpriv', ...user, '--', ...args];
  const command =
    network === undefined
      ? ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', ...program]
      : ['nsenter', '--target', String(network), '--net', ...program];
  const child = spawn(command[0]!, command.slice(1), {
    stdio: ['ignore', 'pipe', 'pipe'],
    // What an image has, and nothing of the one who starts it.
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', TMPDIR: join(folder, 'tmp') },
  });
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exit = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  const container: Container = { process: child, pid: child.pid!, exit, output: () => output };
  containers.push(container);
  return container;
}

afterEach(async () => {
  for (const { process, exit } of containers.splice(0)) {
    if (process.exitCode === null && process.signalCode === null) process.kill('SIGTERM');
    await exit;
  }
});

/** Status of a request from inside the network of a container; 0 while nobody answers. */
async function ask({ pid }: Container, port: number, host: string, path = '/'): Promise<number> {
  const request = `require('node:http').get({ host: '127.0.0.1', port: ${port}, path: '${path}', headers: { host: '${host}' } },
    (answer) => { console.log(answer.statusCode); answer.destroy(); }).on('error', () => console.log(0));`;
  const args = ['--target', String(pid), '--net', process.execPath, '-e', request];
  return Number((await run('nsenter', args, { timeout: DEADLINE_MS })).stdout);
}

async function eventually(what: string, container: Container, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    const { exitCode } = container.process;
    if (exitCode !== null || Date.now() > deadline)
      throw new Error(`${what}, exit code ${exitCode}:\n${container.output()}`);
    await delay(100);
  }
}

/** User and effective capabilities of every process in the network of a container, by the name of the program. */
async function processesOf({ pid }: Container): Promise<Map<string, string>> {
  const { stdout } = await run('ps', ['-e', '-o', 'pid=,netns=']);
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const network = lines.find(([one]) => Number(one) === pid)?.[1];
  const found = new Map<string, string>();
  for (const [one] of lines.filter(([, other]) => other === network)) {
    const status = await readFile(`/proc/${one}/status`, 'utf8').catch(() => '');
    const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(status)?.[1] ?? '';
    found.set(field('Name'), `${field('Uid')} ${field('CapEff')}`);
  }
  return found;
}

const serve = () => [join(image, 'nginx-ingress-controller'), '--manifests', join(folder, 'manifests'), '--echo'];

test('the layout has its own Node and Envoy, and no tools', async () => {
  const version = async (name: string) => (await run(join(image, 'usr/local/bin', name), ['--version'])).stdout;
  equal((await version('node')).trim(), process.version);
  match(await version('envoy'), new RegExp(`/${pinnedVersion.replaceAll('.', '\\.')}/`));
  match(await version('ingress-xds'), /^\d+\.\d+\.\d+$/m);
  const library = await realpath(join(image, 'usr/local/lib/ingress-xds'));
  for (const tool of ['typescript', 'vitest', 'node'])
    await readFile(join(library, 'node_modules', tool, 'package.json')).then(
      () => Promise.reject(new Error(`${tool} is in the image`)),
      () => {},
    );
});

describe('as user 101', () => {
  test('it serves ports 80 and 443 with NET_BIND_SERVICE alone, and ends by /wait-shutdown', async () => {
    const container = start(serve(), ['net_bind_service']);
    await eventually('serves', container, async () => (await ask(container, 80, 'blog.example.com')) === 200);
    equal(await ask(container, 10254, 'health', '/healthz'), 200);
    const processes = await processesOf(container);
    const own = [...processes].filter(([name]) => /^(node|envoy|MainThread)/.test(name));
    deepEqual([...new Set(own.map(([, state]) => state))], [`${USER} ${NET_BIND_SERVICE}`]);
    equal(
      own.some(([name]) => name.startsWith('envoy')),
      true,
    );
    const hook = start([join(image, 'wait-shutdown')], ['net_bind_service'], container.pid);
    deepEqual([await hook.exit, hook.output()], [0, '']);
    equal(await container.exit, 0);
  });

  test('without any capability it serves other ports, and says what 80 would take', async () => {
    const refused = start(serve(), []);
    equal(await refused.exit, 1);
    match(refused.output(), /CAP_NET_BIND_SERVICE/);
    const container = start([...serve(), '--http-port=8080', '--https-port=8443'], []);
    await eventually('serves', container, async () => (await ask(container, 8080, 'blog.example.com')) === 200);
    const states = [...(await processesOf(container)).values()];
    deepEqual([...new Set(states)], [`${USER} 0000000000000000`]);
  });

  test('commands and arguments of ingress-nginx come through the entry point', async () => {
    const entry = join(image, 'usr/local/bin/ingress-xds');
    const wrong = start([entry, '/nginx-ingress-controller', '--http-port=0'], []);
    equal(await wrong.exit, 2);
    match(wrong.output(), /--http-port/);
    const tool = start([entry, 'translate', '--manifests', join(folder, 'manifests')], []);
    equal(await tool.exit, 0);
    match(tool.output(), /^routes:$/m);
  });
});
