import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRuntimeFolder, removeRuntimeFolder, runtimePaths } from './runtime-folder.ts';

let base: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'runtime-folder-test-'));
});
afterEach(() => rm(base, { recursive: true }));

/** The number of a process that has ended. */
function deadPid(): number {
  return spawnSync('/bin/sh', ['-c', 'exit 0']).pid;
}

test('a new folder is for its user alone, and goes with everything in it', async () => {
  const paths = await createRuntimeFolder(base);
  expect((await stat(paths.folder)).mode & 0o777).toBe(0o700);
  await writeFile(paths.bootstrap, '{}');
  await removeRuntimeFolder(paths);
  expect(await readdir(base)).toEqual([]);
});

test('folders of dead processes are removed, everything else stays', async () => {
  const kept = [`ingress-xds-${process.ppid}-AAAAAA`, `ingress-xds-${deadPid()}`, 'ingress-xds-tests-abcdef', 'other'];
  const stale = [`ingress-xds-${deadPid()}-AAAAAA`, `ingress-xds-${process.pid}-BBBBBB`];
  for (const name of [...kept, ...stale]) await mkdir(join(base, name));
  await writeFile(join(base, stale[0]!, 'bootstrap.json'), '{}');
  for (const name of stale) await utimes(join(base, name), 0, 0);
  await symlink(join(base, 'other'), join(base, `ingress-xds-${deadPid()}-CCCCCC`));
  const { folder } = await createRuntimeFolder(base);
  const names = await readdir(base);
  expect(names).toEqual(expect.arrayContaining([...kept, basename(folder)]));
  expect(names).not.toContain(stale[0]);
  expect(names).not.toContain(stale[1]);
  // A link is not ours to follow.
  expect(names.filter((name) => name.endsWith('CCCCCC'))).toHaveLength(1);
});

test('a folder whose socket answers is in use, whatever its number says', async () => {
  const { folder, adminSocket } = runtimePaths(join(base, `ingress-xds-${deadPid()}-AAAAAA`));
  await mkdir(folder);
  await utimes(folder, 0, 0);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(adminSocket, resolve));
  await createRuntimeFolder(base);
  expect(await readdir(base)).toContain(basename(folder));
  server.close();
});

test('a folder is in use from the moment it is made, also where its process is not seen', async () => {
  const made = await createRuntimeFolder(base);
  const unseen = join(base, `ingress-xds-${deadPid()}-AAAAAA`);
  await rename(made.folder, unseen);
  await createRuntimeFolder(base);
  await utimes(unseen, 0, 0);
  await createRuntimeFolder(base);
  expect(await readdir(base)).toContain(basename(unseen));
  const young = join(base, `ingress-xds-${deadPid()}-BBBBBB`);
  await mkdir(young);
  await createRuntimeFolder(base);
  expect(await readdir(base)).toContain(basename(young));
});
