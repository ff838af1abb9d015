/**
 * The programs of a Kubernetes cluster, built from the Go modules in `tools/` and kept in the cache folder. The folder's name
 * is a hash of everything that decides what comes out, so a changed version is another folder.
 */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { access, constants, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

export interface ClusterBinaries {
  readonly etcd: string;
  readonly kubeApiServer: string;
  readonly kubeControllerManager: string;
  readonly kubectl: string;
}

interface GoModule {
  /** Folder with go.mod and go.sum. */
  readonly folder: string;
  readonly packages: readonly { readonly path: string; readonly program: string }[];
  readonly linkerFlags: string;
}

const TOOLS = join(import.meta.dirname, '../../../tools');

/** `v1.36.3` */
const KUBERNETES_VERSION = requiredVersion(join(TOOLS, 'k8s/go.mod'), 'k8s.io/kubernetes');
/** Without them the API server calls itself v0.0.0, and kubectl warns about it. */
const VERSION_VARIABLES = ['k8s.io/component-base/version.gitVersion', 'k8s.io/client-go/pkg/version.gitVersion'];

const modules: readonly GoModule[] = [
  {
    folder: join(TOOLS, 'etcd'),
    packages: [{ path: 'go.etcd.io/etcd/server/v3', program: 'etcd' }],
    linkerFlags: '-s -w',
  },
  {
    folder: join(TOOLS, 'k8s'),
    packages: ['kube-apiserver', 'kube-controller-manager', 'kubectl'].map((program) => ({
      path: `k8s.io/kubernetes/cmd/${program}`,
      program,
    })),
    linkerFlags: `-s -w ${VERSION_VARIABLES.map((name) => `-X ${name}=${KUBERNETES_VERSION}`).join(' ')}`,
  },
];

/** Static binaries that do not depend on where they were built. */
const BUILD_ENVIRONMENT = { CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -trimpath -buildvcs=false' };
const GO_PROGRAMS = ['go', '/usr/local/go/bin/go'];
const PROGRESS_MS = 10_000;
/** A build that was killed leaves its folder behind; the next one under the lock removes it. */
const WORK_PREFIX = '.build-';
const LOCK_TIMEOUT_S = 1800;

const run = promisify(execFile);

/** The binaries that were built before. @throws Error if some are missing. */
export async function findBinaries(): Promise<ClusterBinaries> {
  const folder = await binariesFolder();
  if (!(await isComplete(folder))) throw new Error(`${folder} is not complete: run npm run test:cluster`);
  return binariesIn(folder);
}

/**
 * As `findBinaries`, but builds what is missing: some minutes, with progress. Two that build at once wait for each other.
 * @throws Error when Go is missing or a build fails, with its last output.
 */
export async function ensureBinaries(onProgress: (line: string) => void): Promise<ClusterBinaries> {
  const folder = await binariesFolder();
  if (!(await isComplete(folder))) {
    await mkdir(cacheFolder(), { recursive: true });
    onProgress(`Kubernetes ${KUBERNETES_VERSION} and etcd are built once, for some minutes, into ${folder}`);
    // The lock belongs to a process, so that nothing is left locked whatever happens to the build.
    const lock = ['--wait', String(LOCK_TIMEOUT_S), '--close', join(cacheFolder(), 'kubernetes.lock')];
    await follow('flock', [...lock, process.execPath, import.meta.filename], { onLine: onProgress });
  }
  return await findBinaries();
}

function requiredVersion(goMod: string, module: string): string {
  const [, version] = new RegExp(`^\\s*${module} (v\\S+)`, 'm').exec(readFileSync(goMod, 'utf8')) ?? [];
  if (version === undefined) throw new Error(`${goMod} does not require ${module}`);
  return version;
}

function binariesIn(folder: string): ClusterBinaries {
  return {
    etcd: join(folder, 'etcd'),
    kubeApiServer: join(folder, 'kube-apiserver'),
    kubeControllerManager: join(folder, 'kube-controller-manager'),
    kubectl: join(folder, 'kubectl'),
  };
}

async function binariesFolder(): Promise<string> {
  const go = await findGo();
  const hash = createHash('sha256');
  for (const { folder } of modules) {
    for (const name of ['go.mod', 'go.sum']) hash.update(await readFile(join(folder, name)));
  }
  hash.update(JSON.stringify({ go: go.version, modules: modules.map((module) => module.linkerFlags) }));
  hash.update(JSON.stringify({ packages: modules.map((module) => module.packages), BUILD_ENVIRONMENT }));
  return join(cacheFolder(), `kubernetes-${KUBERNETES_VERSION}-${hash.digest('hex').slice(0, 16)}`);
}

/** As where Envoy is kept. */
function cacheFolder(): string {
  const { XDG_CACHE_HOME: xdg, HOME: home } = process.env;
  return join(xdg?.startsWith('/') ? xdg : join(home || homedir(), '.cache'), 'ingress-xds');
}

async function isComplete(folder: string): Promise<boolean> {
  const executable = Object.values(binariesIn(folder)).map((path) =>
    access(path, constants.X_OK).then(
      () => true,
      () => false,
    ),
  );
  return (await Promise.all(executable)).every((yes) => yes);
}

async function findGo(): Promise<{ readonly program: string; readonly version: string }> {
  const problems: string[] = [];
  for (const program of GO_PROGRAMS) {
    try {
      const { stdout } = await run(program, ['version'], { env: buildEnvironment(), cwd: modules[0]!.folder });
      return { program, version: stdout.trim() };
    } catch (error) {
      problems.push(`  - ${program}: ${(error as Error).message.trim().split('\n').at(-1)}`);
    }
  }
  throw new Error(
    `Go 1.26 or newer is needed to build kube-apiserver and etcd. Install it and put it in $PATH. Tried:\n${problems.join('\n')}`,
  );
}

/** The folder appears with everything in it. */
async function build(onProgress: (line: string) => void): Promise<void> {
  const folder = await binariesFolder();
  // Somebody else may have built it while this process waited for the lock.
  if (await isComplete(folder)) return;
  const { program } = await findGo();
  for (const name of await readdir(cacheFolder())) {
    if (name.startsWith(WORK_PREFIX)) await rm(join(cacheFolder(), name), { recursive: true, force: true });
  }
  const work = await mkdtemp(join(cacheFolder(), WORK_PREFIX));
  try {
    for (const module of modules) {
      for (const { path, program: name } of module.packages) {
        const flags = ['-v', '-ldflags', module.linkerFlags, '-o', join(work, name)];
        await compile(name, { go: program, folder: module.folder, args: ['build', ...flags, path], onProgress });
      }
    }
    await rm(folder, { recursive: true, force: true });
    await rename(work, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

interface Compilation {
  readonly go: string;
  readonly folder: string;
  readonly args: readonly string[];
  readonly onProgress: (line: string) => void;
}

async function compile(name: string, { go, folder, args, onProgress }: Compilation): Promise<void> {
  const begin = performance.now();
  let packages = 0;
  let downloads = 0;
  const tell = (what: string) => {
    const seconds = Math.round((performance.now() - begin) / 1000);
    onProgress(`${what} ${name}: ${seconds} s, ${downloads} modules fetched, ${packages} packages compiled`);
  };
  const timer = setInterval(() => tell('building'), PROGRESS_MS);
  try {
    await follow(go, args, {
      cwd: folder,
      onLine: (line) => {
        // `-v` names each package that is compiled; what is in Go's build cache is not named.
        if (line.startsWith('go: downloading')) downloads++;
        else packages++;
      },
    });
  } finally {
    clearInterval(timer);
  }
  tell('built');
}

function buildEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, ...BUILD_ENVIRONMENT };
}

const SHOWN_LINES = 20;

/** Runs a program to its end and hands over each line. @throws Error with the last lines. */
async function follow(
  program: string,
  args: readonly string[],
  { cwd, onLine }: { readonly cwd?: string; readonly onLine: (line: string) => void },
): Promise<void> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: buildEnvironment(),
    ...(cwd !== undefined && { cwd }),
  });
  const last: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      last.push(line);
      if (last.length > SHOWN_LINES) last.shift();
      onLine(line);
    });
  }
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${basename(program)} ${args[0]} ended with ${code ?? signal}:\n${last.join('\n')}`));
    });
  });
}

if (import.meta.main) await build((line) => console.log(line));
