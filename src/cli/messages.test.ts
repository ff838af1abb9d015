import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { main } from './main.ts';
import { version } from './version.ts';

const HINT = '(see ingress-xds --help)';

test.each<[string[], string]>([
  [['--no-such-flag=x', '--q'], `unknown flag --no-such-flag ${HINT}`],
  [['--ingress-clas', 'x'], `unknown flag --ingress-clas; did you mean --ingress-class? ${HINT}`],
  [['--xds-insecure'], `--xds-insecure is a flag of serve ${HINT}`],
  [['--output=xml'], `--output=xml: must be yaml or json ${HINT}`],
  [['--http-port=abc'], `--http-port=abc: must be a number ${HINT}`],
  [['--manifests'], `--manifests needs a value ${HINT}`],
  [['--http3-advertised-port=443'], `--http3-advertised-port needs --http3 ${HINT}`],
  [
    ['--http3', '--http3-advertised-port=0'],
    `--http3-advertised-port=0: a port is a whole number from 1 to 65535 ${HINT}`,
  ],
  [
    ['--http3', '--tls-on-demand'],
    `--http3 and --tls-on-demand exclude each other: Envoy looks up no certificate over QUIC ${HINT}`,
  ],
])('%j is refused in one line', async (flags, message) => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(await main(['translate', '--manifests', 'nowhere', ...flags])).toBe(2);
    expect(written.mock.calls).toEqual([[`ingress-xds: ${message}\n`]]);
  } finally {
    written.mockRestore();
  }
});

test.each([
  ['--tls-on-demand', 'is for Envoy: nginx looks up certificates by name in any case'],
  ['--http3', 'is for Envoy: nginx cuts HTTP/3 whenever it reloads'],
  ['--route-sharding', 'is for Envoy: nginx has no route tables'],
])('nginx refuses %s', async (flag, reason) => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(await main(['nginx', '--manifests', 'nowhere', flag])).toBe(2);
    expect(written.mock.calls).toEqual([[`ingress-xds: ${flag} ${reason} ${HINT}\n`]]);
  } finally {
    written.mockRestore();
  }
});

test.each(['translate', 'check'])('%s for nginx refuses what nginx itself would', async (command) => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(await main([command, '--manifests', 'nowhere', '--proxy', 'nginx', '--http3'])).toBe(2);
    expect(written.mock.calls).toEqual([
      [`ingress-xds: --http3 is for Envoy: nginx cuts HTTP/3 whenever it reloads ${HINT}\n`],
    ]);
  } finally {
    written.mockRestore();
  }
});

test.each([
  ['inspect', 'ingress-xds inspect <what> [type] [name]'],
  ['compare', 'ingress-xds compare <first> <second>'],
])('%s without arguments says which are missing', async (command, synopsis) => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(await main([command])).toBe(2);
    expect(written.mock.calls).toEqual([[`ingress-xds: arguments are missing: ${synopsis} ${HINT}\n`]]);
  } finally {
    written.mockRestore();
  }
});

test('a reader that has seen enough is no failure', () => {
  const program = [process.execPath, 'src/cli/main.ts', 'translate', '--manifests', 'examples/quickstart'];
  // The reader ends before anything is written, and the status is that of `translate`.
  const script = '{ "$@"; echo "status $?" >&2; } | true';
  const { stderr } = spawnSync('/bin/sh', ['-c', script, 'sh', ...program], { encoding: 'utf8' });
  expect(stderr).not.toContain('EPIPE');
  expect(stderr).toContain('status 0');
});

test.runIf(existsSync('/dev/full'))('a full disk is told, and a failure', () => {
  const program = [process.execPath, 'src/cli/main.ts', 'check', '--manifests', 'examples/quickstart'];
  const { status, stderr } = spawnSync('/bin/sh', ['-c', '"$@" > /dev/full', 'sh', ...program], { encoding: 'utf8' });
  expect(stderr).toBe('ingress-xds: The standard output cannot be written: ENOSPC: no space left on device, write\n');
  expect(status).toBe(1);
});

test.each(['/proc/none', '/dev/null'])('a cache folder that cannot be made is done without: %s', (base) => {
  const env = { ...process.env, XDG_CACHE_HOME: base };
  const { stdout } = spawnSync(process.execPath, ['src/cli/main.ts', '--version'], {
    encoding: 'utf8',
    env,
    timeout: 20_000,
  });
  expect(stdout).toBe(`${version()}\n`);
});
