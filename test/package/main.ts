/**
 * `npm run test:package`: what somebody has who installs the published package into an empty folder, on the oldest Node that is
 * supported and on the one that the project runs. Needs the network (npm), so it has a command of its own.
 */
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from 'node:assert/strict';
import { type ExecFileOptions, execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');
const MANIFESTS = join(ROOT, 'examples/quickstart');

interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

interface PackageFile {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
}

const DEADLINE_MS = 120_000;

const execute = promisify(execFile);
async function run(file: string, args: readonly string[], options: ExecFileOptions = {}): Promise<Output> {
  const limits = { timeout: DEADLINE_MS, maxBuffer: 64 * 1024 * 1024 };
  return execute(file, args, { ...limits, ...options, encoding: 'utf8' });
}
const { dependencies, devDependencies, engines } = JSON.parse(
  await readFile(join(ROOT, 'package.json'), 'utf8'),
) as PackageFile;
const oldest = engines.node.replace('>=', '');
const versions = [/^\d+\.\d+$/.test(oldest) ? `${oldest}.0` : oldest, devDependencies['node'] ?? ''];

/** Many machines still have it. */
const TOO_OLD = '20.19.0';

let folder: string;
let tarball: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'package-'));
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: ROOT });
  // The scripts that build it print before the report.
  const [report] = Object.values(JSON.parse(stdout.slice(stdout.search(/^[[{]$/m))) as readonly { filename: string }[]);
  tarball = join(folder, report?.filename ?? '');
});
after(() => rm(folder, { recursive: true, force: true }));

for (const version of versions) {
  describe(`on Node ${version}`, () => {
    const place = () => join(folder, `on-${version}`);
    let env: NodeJS.ProcessEnv;

    before(async () => {
      const bin = await nodeOf(version);
      const home = join(folder, `home-${version}`);
      await Promise.all([mkdir(place()), mkdir(home)]);
      const outside = process.env['PATH']?.split(delimiter).filter((entry) => !entry.includes('node_modules'));
      const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|XDG_|NODE$|INIT_CWD)/i.test(name));
      // npm's cache is shared, so that a second run needs no network; nothing else of the user's home is.
      env = {
        ...Object.fromEntries(inherited),
        PATH: [bin, ...(outside ?? [])].join(delimiter),
        HOME: home,
        npm_config_cache: await npmCache(),
      };
      await writeFile(join(place(), 'package.json'), '{ "private": true }');
      const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', tarball];
      const { stderr } = await run('npm', install, { cwd: place(), env });
      doesNotMatch(stderr, /EBADENGINE|ERESOLVE|deprecated/);
    });

    const ingressXds = async (...args: readonly string[]): Promise<string> => {
      const { stdout, stderr } = await run('npx', ['--no-install', 'ingress-xds', ...args], {
        cwd: place(),
        env,
      });
      // What Node itself warns of, such as what it calls experimental.
      doesNotMatch(stderr, /Warning:/);
      return stdout;
    };

    test('the right Node runs', async () => {
      equal((await run('node', ['--version'], { env })).stdout.trim(), `v${version}`);
    });

    test('it brings what it needs and no more: neither Node nor tools', async () => {
      const installed = await readdir(join(place(), 'node_modules'));
      const tools = Object.keys(devDependencies).filter((name) => existsSync(join(place(), 'node_modules', name)));
      // Types that a dependency itself asks for.
      deepEqual(
        tools.filter((name) => !name.startsWith('@types/')),
        [],
      );
      for (const name of Object.keys(dependencies)) ok(existsSync(join(place(), 'node_modules', name)), name);
      ok(installed.includes('ingress-xds'));
    });

    test('it holds every file that the program reads at run time', async () => {
      const inPackage = new Set(await filesBelow(join(place(), 'node_modules/ingress-xds/dist')));
      const assets = (await filesBelow(join(ROOT, 'src'))).filter((path) => !path.endsWith('.ts'));
      ok(assets.includes('gen/descriptors.binpb'));
      ok(assets.includes('gen/rules.json'));
      deepEqual(
        assets.filter((path) => !inPackage.has(path)),
        [],
      );
      deepEqual(
        [...inPackage].filter((path) => /\.test\.|(^|\/)testing\./.test(path)),
        [],
      );
    });

    test('translate prints what a folder of manifests becomes', async () => {
      const resources = await ingressXds('translate', '--manifests', MANIFESTS);
      match(resources, /^routes:$/m);
      match(resources, /domains:/);
    });

    test('the script for shell completion prints', async () => {
      match(await ingressXds('completion'), /ingress-xds/);
    });
  });
}

describe('on a Node that is too old', () => {
  test('it says so and fails', async () => {
    const place = join(folder, `on-${versions[0]}`);
    const env = { ...process.env, PATH: [await nodeOf(TOO_OLD), process.env['PATH']].join(delimiter) };
    const main = join(place, 'node_modules/ingress-xds/dist/cli/main.js');
    await rejects(run('node', [main, 'check', '--manifests', MANIFESTS], { env }), {
      code: 1,
      stderr: `ingress-xds: Node v${TOO_OLD} is too old (package.json says which is needed)\n`,
    });
  });
});

/** The folder with the `node` of a version, which npm brings once. */
async function nodeOf(version: string): Promise<string> {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'ingress-xds');
  const kept = join(cache, `node-${version}`);
  const bin = join(kept, 'node_modules/node/bin');
  if (existsSync(bin)) return bin;
  await mkdir(cache, { recursive: true });
  const fresh = await mkdtemp(join(cache, 'node-'));
  await writeFile(join(fresh, 'package.json'), JSON.stringify({ private: true, allowScripts: { node: true } }));
  await run('npm', ['install', '--no-audit', '--no-fund', `node@${version}`], { cwd: fresh });
  await rename(fresh, kept);
  return bin;
}

async function npmCache(): Promise<string> {
  return (await run('npm', ['config', 'get', 'cache'], { cwd: tmpdir() })).stdout.trim();
}

/** Paths of all files, relative to the folder. */
async function filesBelow(top: string): Promise<string[]> {
  const entries = await readdir(top, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(top.length + 1));
}
