/**
 * A private network in which everything of the cluster runs. Pods need addresses that are not loopback (the API server refuses
 * those in EndpointSlices), each a different one, and nothing may reach the world.
 */
import { type ChildProcess, execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { childrenOf } from '../../support/process/processes.ts';

const run = promisify(execFile);

export const NODE_NAME = 'node';
/** The node, and what listens on every address: Envoy on ports 80 and 443. */
export const NODE_ADDRESS = '10.200.0.1';
/** All of it answers on this machine; pods get addresses of their own out of it. */
const POD_RANGE = '10.200.0.1/16';
/** Each address answers, although none is configured: endpoints of one responder. */
const MANY_ENDPOINTS_RANGE = '10.128.0.0/10';

/** What runs a command in new namespaces; processes in it die with it. */
export const UNSHARE = ['unshare', '--net', '--pid', '--fork', '--mount-proc', '--kill-child'] as const;

/** `unshare` ignores signals: what it runs is what can end in order. */
export function signalInside(unshare: ChildProcess, signal: NodeJS.Signals): void {
  for (const { pid } of childrenOf(unshare.pid ?? 0)) process.kill(pid, signal);
}

/**
 * Checks what the namespace needs, and installs `ip` where it is missing and may be installed.
 * @throws Error that says what is missing.
 */
export async function prepareHost(onProgress: (line: string) => void): Promise<void> {
  if (process.platform !== 'linux') throw new Error('the test cluster needs Linux: network namespaces');
  if (process.getuid?.() !== 0) {
    throw new Error(
      'the test cluster needs root: network namespaces, ports 80 and 443. Run it with sudo or in a container',
    );
  }
  if (!(await runs('ip', ['-Version']))) await installIproute(onProgress);
  for (const program of ['unshare', 'setpriv', 'flock']) {
    if (!(await runs(program, ['--version']))) throw new Error(`${program} is missing: install util-linux`);
  }
  const [program, ...args] = UNSHARE;
  await run(program, [...args, 'true']).catch((error: Error) => {
    throw new Error(`no network namespace can be made here, it takes CAP_SYS_ADMIN: ${error.message.trim()}`);
  });
}

/** To be called inside. */
export function setUpNetwork(): void {
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  execFileSync('ip', ['address', 'add', POD_RANGE, 'dev', 'lo']);
  execFileSync('ip', ['route', 'add', 'local', MANY_ENDPOINTS_RANGE, 'dev', 'lo']);
  // Ports of the tests' own servers lie below.
  writeFileSync('/proc/sys/net/ipv4/ip_local_port_range', '20000 65000');
  writeFileSync('/proc/sys/net/core/somaxconn', '8192');
}

/** @throws Error outside of the namespace, where the ports may be somebody's. */
export function requireNetwork(): void {
  const addresses = execFileSync('ip', ['-4', 'address', 'show', 'dev', 'lo'], { encoding: 'utf8' });
  if (!addresses.includes(POD_RANGE)) {
    throw new Error('the test cluster runs in a network namespace only: npm run test:cluster -- FILE');
  }
}

async function installIproute(onProgress: (line: string) => void): Promise<void> {
  const help = 'the command ip is missing: install iproute2';
  if (!(await runs('apt-get', ['--version']))) throw new Error(help);
  onProgress('installing iproute2');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = () => run('apt-get', ['install', '--yes', '--no-install-recommends', 'iproute2'], { env });
  try {
    await install().catch(async () => {
      await run('apt-get', ['update'], { env });
      await install();
    });
  } catch (error) {
    throw new Error(`${help} (${(error as Error).message.trim().split('\n').at(-1)})`);
  }
}

async function runs(program: string, args: readonly string[]): Promise<boolean> {
  return await run(program, args).then(
    () => true,
    () => false,
  );
}
