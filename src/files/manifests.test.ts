import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectChange } from '../cluster/cluster-state.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectKey } from '../model/object-ref.ts';
import { createFilesSource, type FilesSource } from './manifests.ts';

let root: string;
const sources: FilesSource[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'manifests-'));
});

afterEach(async () => {
  for (const source of sources.splice(0)) await source.stop();
  rmSync(root, { recursive: true, force: true });
});

function service(name: string, port: number | string): string {
  return `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec:\n  ports:\n    - port: ${port}\n`;
}

function put(path: string, text: string | Uint8Array): void {
  writeFileSync(join(root, path), text);
}

/** A source and what its batches add up to. */
async function watchFolders(folders: readonly string[] = [root], watch = true) {
  const ports = new Map<string, number | undefined>();
  const seen = {
    ports,
    diagnostics: [] as readonly Diagnostic[],
    batches: 0,
    removals: 0,
    changes: [] as ObjectChange[],
  };
  const source = createFilesSource({
    folders,
    watch,
    onChange(batch) {
      seen.batches++;
      seen.diagnostics = batch.diagnostics;
      for (const change of batch.changes) {
        seen.changes.push(change);
        if ('remove' in change) {
          seen.removals++;
          ports.delete(objectKey(change.remove));
        } else ports.set(objectKey(change.upsert), 'ports' in change.upsert ? change.upsert.ports[0]?.port : undefined);
      }
    },
    onError(error) {
      throw error;
    },
  });
  sources.push(source);
  await source.start();
  return { ...seen, seen, source, shows: () => Object.fromEntries([...ports].sort()) };
}

function shown(record: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(record).map(([name, port]) => [`default/${name}`, port]));
}

function poll(read: () => unknown) {
  return expect.poll(read, { timeout: 5000, interval: 5 });
}

describe('start', () => {
  it('gives everything in one batch', async () => {
    mkdirSync(join(root, 'deep/.hidden'), { recursive: true });
    put('a.yaml', `\uFEFF${service('web', 1)}---\n${service('api', 2).replaceAll('\n', '\r\n')}`);
    put('deep/b.YML', service('db', 3));
    put(
      'deep/c.json',
      '{"apiVersion":"v1","kind":"Service","metadata":{"name":"c"},\n\t"spec":{"ports":[{"port":4}]}}',
    );
    put('deep/.hidden/d.yaml', service('hidden', 5));
    put('.e.yaml', service('hidden', 5));
    put('f.txt', service('text', 5));
    put('values.yaml', 'replicas: 3\n');
    const folder = await watchFolders();
    expect(folder.shows()).toEqual(shown({ web: 1, api: 2, db: 3, c: 4 }));
    expect(folder.seen).toMatchObject({ batches: 1, diagnostics: [] });
  });

  it('gives an empty batch for an empty folder, and takes single files', async () => {
    expect((await watchFolders()).seen.batches).toBe(1);
    put('one.txt', service('web', 1));
    const folder = await watchFolders([join(root, 'one.txt')]);
    expect(folder.shows()).toEqual(shown({ web: 1 }));
    put('one.txt', service('web', 2));
    await poll(folder.shows).toEqual(shown({ web: 2 }));
  });

  it('names a folder that is missing', async () => {
    const source = createFilesSource({ folders: [root, join(root, 'nope')], onChange() {}, onError() {} });
    await expect(source.start()).rejects.toThrow(`${join(root, 'nope')} cannot be read: no such file or directory`);
  });

  it('parses what is large before the batch', async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `web-${index}`);
    put('large.yaml', names.map((name) => service(name, 1)).join('---\n'));
    const folder = await watchFolders();
    expect(Object.keys(folder.shows())).toHaveLength(1_000);
    expect(folder.seen).toMatchObject({ batches: 1, diagnostics: [] });
  });

  it('takes each file once, whatever links and folders lead to it, also in circles', async () => {
    mkdirSync(join(root, 'a/b'), { recursive: true });
    put('a/b/x.yaml', service('web', 1));
    symlinkSync('..', join(root, 'a/b/up'));
    symlinkSync('b', join(root, 'a/other'));
    symlinkSync('self', join(root, 'self'));
    symlinkSync('b/x.yaml', join(root, 'a/y.yaml'));
    symlinkSync('nowhere.yaml', join(root, 'dangling.yaml'));
    const folder = await watchFolders([root, join(root, 'a')]);
    expect(folder.shows()).toEqual(shown({ web: 1 }));
    expect(folder.seen.diagnostics).toEqual([]);
  });

  it.each([
    ['bytes that are no UTF-8', Buffer.from('a: \xff', 'latin1'), 'FileUnreadable', 'The file is not text in UTF-8'],
    ['UTF-16', Buffer.from(`\uFEFF${service('x', 1)}`, 'utf16le'), 'FileUnreadable', 'The file is not text in UTF-8'],
    ['binary data', Buffer.from('\x7fELF\0\0'), 'FileInvalid', 'A zero byte: this is no text'],
    [
      'large files',
      Buffer.alloc(10 * 1024 * 1024 + 1, ' '),
      'FileUnreadable',
      '10485761 bytes are more than the limit of 10485760 bytes',
    ],
    ['a template', '{{- if .Values.x }}\na: 1\n', 'FileInvalid', expect.any(String)],
  ])('says what is wrong with %s, and reads the rest', async (_, bytes, code, message) => {
    put('bad.yaml', bytes);
    put('good.yaml', service('web', 1));
    const folder = await watchFolders();
    expect(folder.shows()).toEqual(shown({ web: 1 }));
    expect(folder.seen.diagnostics).toMatchObject([{ code, message, source: { file: join(root, 'bad.yaml') } }]);
  });

  it('is not held up by a pipe', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(root, 'pipe.yaml')]);
    expect((await watchFolders()).shows()).toEqual({});
  });
});

describe('watching', () => {
  it('sees an edit at once, and parses only the document that changed', async () => {
    put('a.yaml', `${service('web', 1)}---\n${service('api', 1)}`);
    put('b.yaml', service('db', 1));
    const folder = await watchFolders();
    const start = performance.now();
    put('a.yaml', `${service('web', 2)}---\n${service('api', 1)}`);
    await poll(folder.shows).toEqual(shown({ web: 2, api: 1, db: 1 }));
    expect(performance.now() - start).toBeLessThan(1000);
    expect(folder.seen.changes).toHaveLength(4);
  });

  it('sees the last of many writes', async () => {
    put('a.yaml', service('web', 1));
    const folder = await watchFolders();
    for (let port = 2; port <= 40; port++) {
      put('a.yaml', service('web', port));
      await new Promise((resolve) => setTimeout(resolve, port % 7));
    }
    await poll(folder.shows).toEqual(shown({ web: 40 }));
    expect(folder.seen.removals).toBe(0);
  });

  it('sees saves by rename', async () => {
    put('a.yaml', service('web', 1));
    const folder = await watchFolders();
    for (let port = 2; port <= 5; port++) {
      put('a.yaml.tmp', service('web', port));
      renameSync(join(root, 'a.yaml.tmp'), join(root, 'a.yaml'));
      await poll(folder.shows).toEqual(shown({ web: port }));
    }
    execFileSync('sed', ['-i', 's/port: 5/port: 6/', join(root, 'a.yaml')]);
    await poll(folder.shows).toEqual(shown({ web: 6 }));
    expect(folder.seen.removals).toBe(0);
  });

  it('does not take objects away while an editor writes', async () => {
    put('a.yaml', `${service('web', 1)}---\n${service('api', 1)}`);
    const folder = await watchFolders();
    // Backup first, then a new file; truncated, then written in two halves.
    renameSync(join(root, 'a.yaml'), join(root, 'a.yaml~'));
    await new Promise((resolve) => setTimeout(resolve, 60));
    put('a.yaml', `${service('web', 2)}---\n${service('api', 2)}`);
    await poll(folder.shows).toEqual(shown({ web: 2, api: 2 }));
    truncateSync(join(root, 'a.yaml'));
    await new Promise((resolve) => setTimeout(resolve, 60));
    const file = openSync(join(root, 'a.yaml'), 'w');
    writeSync(file, `${service('web', 3)}---\n`);
    await new Promise((resolve) => setTimeout(resolve, 60));
    writeSync(file, service('api', 3));
    await poll(folder.shows).toEqual(shown({ web: 3, api: 3 }));
    expect(folder.seen.removals).toBe(0);
  });

  it('removes the objects of a file that goes', async () => {
    put('a.yaml', service('web', 1));
    put('b.yaml', `${service('web', 2)}---\n${service('api', 2)}`);
    const folder = await watchFolders();
    expect(folder.seen.diagnostics).toMatchObject([{ code: 'ObjectDuplicate' }]);
    unlinkSync(join(root, 'a.yaml'));
    await poll(folder.shows).toEqual(shown({ web: 2, api: 2 }));
    await poll(() => folder.seen.diagnostics).toEqual([]);
    unlinkSync(join(root, 'b.yaml'));
    await poll(folder.shows).toEqual({});
  });

  it('sees a renamed file as the same objects', async () => {
    put('a.yaml', service('web', 1));
    const folder = await watchFolders();
    renameSync(join(root, 'a.yaml'), join(root, 'z.yaml'));
    await poll(() => folder.source.locate({ kind: 'Service', namespace: 'default', name: 'web' })?.file).toBe(
      join(root, 'z.yaml'),
    );
    expect(folder.seen).toMatchObject({ removals: 0, diagnostics: [] });
  });

  it('sees an object that moves to another file, without a duplicate in between', async () => {
    put('a.yaml', `${service('web', 1)}---\n${service('api', 1)}`);
    put('b.yaml', service('db', 1));
    const folder = await watchFolders();
    put('a.yaml', service('web', 1));
    put('b.yaml', `${service('db', 1)}---\n${service('api', 2)}`);
    await poll(folder.shows).toEqual(shown({ web: 1, api: 2, db: 1 }));
    expect(folder.seen).toMatchObject({ batches: 2, removals: 0 });
  });

  it('sees a file that is replaced by a link', async () => {
    put('a.yaml', service('web', 1));
    put('b.yaml', service('api', 1));
    const folder = await watchFolders();
    symlinkSync('b.yaml', join(root, 'tmp'));
    renameSync(join(root, 'tmp'), join(root, 'a.yaml'));
    await poll(folder.shows).toEqual(shown({ api: 1 }));
    await poll(() => folder.source.locate({ kind: 'Service', namespace: 'default', name: 'api' })?.file).toBe(
      join(root, 'a.yaml'),
    );
    put('b.yaml', service('api', 2));
    await poll(folder.shows).toEqual(shown({ api: 2 }));
    expect(folder.seen.diagnostics).toEqual([]);
  });

  it('keeps what a broken file had, says where it is broken, and recovers', async () => {
    put('a.yaml', service('web', 1));
    const folder = await watchFolders();
    appendFileSync(join(root, 'a.yaml'), 'x: @\n');
    const source = { file: join(root, 'a.yaml'), line: 7, column: 4 };
    await poll(() => folder.seen.diagnostics).toMatchObject([{ code: 'FileInvalid', source }]);
    expect(folder.shows()).toEqual(shown({ web: 1 }));
    put('a.yaml', service('web', 2));
    await poll(() => folder.seen.diagnostics).toEqual([]);
    expect(folder.shows()).toEqual(shown({ web: 2 }));
  });

  it('sees folders that come, go and come again', async () => {
    const folder = await watchFolders();
    for (const port of [1, 2, 3]) {
      mkdirSync(join(root, 'new/deep'), { recursive: true });
      put('new/deep/a.yaml', service('web', port));
      await poll(folder.shows).toEqual(shown({ web: port }));
      put('new/deep/a.yaml', service('web', port + 10));
      await poll(folder.shows).toEqual(shown({ web: port + 10 }));
      rmSync(join(root, 'new'), { recursive: true });
      await poll(folder.shows).toEqual({});
    }
    mkdirSync(join(root, 'aside'));
    put('aside/a.yaml', service('web', 7));
    await poll(folder.shows).toEqual(shown({ web: 7 }));
    renameSync(join(root, 'aside'), join(root, 'back'));
    put('back/a.yaml', service('web', 8));
    await poll(folder.shows).toEqual(shown({ web: 8 }));
  });

  it('keeps what it has while a given folder is away', async () => {
    mkdirSync(join(root, 'dir'));
    put('dir/a.yaml', service('web', 1));
    const folder = await watchFolders([join(root, 'dir')]);
    renameSync(join(root, 'dir'), join(root, 'away'));
    await poll(() => folder.seen.diagnostics).toMatchObject([{ code: 'FileUnreadable' }]);
    expect(folder.shows()).toEqual(shown({ web: 1 }));
    mkdirSync(join(root, 'dir'));
    put('dir/a.yaml', service('web', 2));
    await poll(folder.shows).toEqual(shown({ web: 2 }));
    await poll(() => folder.seen.diagnostics).toEqual([]);
  });

  it('sees the swaps of volumes that Kubernetes mounts', async () => {
    const swap = (version: string, files: Record<string, string>) => {
      mkdirSync(join(root, version));
      for (const [name, text] of Object.entries(files)) put(join(version, name), text);
      symlinkSync(version, join(root, '..data_tmp'));
      renameSync(join(root, '..data_tmp'), join(root, '..data'));
    };
    swap('..1', { 'a.yaml': service('web', 1), 'b.yaml': service('api', 1) });
    symlinkSync('..data/a.yaml', join(root, 'a.yaml'));
    symlinkSync('..data/b.yaml', join(root, 'b.yaml'));
    const folder = await watchFolders();
    expect(folder.shows()).toEqual(shown({ web: 1, api: 1 }));
    swap('..2', { 'a.yaml': service('web', 2), 'b.yaml': service('api', 1) });
    rmSync(join(root, '..1'), { recursive: true });
    await poll(folder.shows).toEqual(shown({ web: 2, api: 1 }));
    swap('..3', { 'a.yaml': service('web', 3), 'b.yaml': service('api', 3) });
    rmSync(join(root, '..2'), { recursive: true });
    await poll(folder.shows).toEqual(shown({ web: 3, api: 3 }));
    expect(folder.seen.removals).toBe(0);
  });

  it('sees when a link on the way to the folder, or to a file outside of it, leads elsewhere', async () => {
    for (const version of ['1', '2']) {
      mkdirSync(join(root, `work/${version}/manifests`), { recursive: true });
      put(`work/${version}/manifests/a.yaml`, service('web', Number(version)));
      put(`work/${version}/outside.yaml`, service('outside', Number(version)));
    }
    const point = (version: string) => {
      symlinkSync(`work/${version}`, join(root, 'tmp'));
      renameSync(join(root, 'tmp'), join(root, 'current'));
    };
    point('1');
    mkdirSync(join(root, 'links'));
    symlinkSync('current/manifests', join(root, 'entry'));
    symlinkSync('../current/outside.yaml', join(root, 'links/out.yaml'));
    const folder = await watchFolders([join(root, 'entry'), join(root, 'links')]);
    expect(folder.shows()).toEqual(shown({ web: 1, outside: 1 }));
    point('2');
    await poll(folder.shows).toEqual(shown({ web: 2, outside: 2 }));
    put('work/2/outside.yaml', service('outside', 3));
    await poll(folder.shows).toEqual(shown({ web: 2, outside: 3 }));
  });

  it('forgets a folder that goes while the others are looked through', async () => {
    for (let index = 0; index < 300; index++) mkdirSync(join(root, `other-${index}`));
    const folder = await watchFolders();
    for (let round = 0; round < 12; round++) {
      mkdirSync(join(root, 'brief'));
      // Mostly in the middle of the look that its appearance leads to.
      await new Promise((resolve) => setTimeout(resolve, 22 + 2 * round));
      rmdirSync(join(root, 'brief'));
      put('a.yaml', service('web', round + 1));
      await poll(folder.shows).toEqual(shown({ web: round + 1 }));
      await poll(() => folder.seen.diagnostics).toEqual([]);
    }
  });

  it('goes on to see a folder in which something has the name of the folder', async () => {
    mkdirSync(join(root, 'web'));
    const folder = await watchFolders();
    put('web/web', 'not a manifest');
    put('web/a.yaml', service('web', 1));
    await poll(folder.shows).toEqual(shown({ web: 1 }));
    put('web/a.yaml', service('web', 2));
    await poll(folder.shows).toEqual(shown({ web: 2 }));
    put('web/web', 'still not a manifest');
    await new Promise((resolve) => setTimeout(resolve, 100));
    put('web/a.yaml', service('web', 3));
    await poll(folder.shows).toEqual(shown({ web: 3 }));
  });

  it('leaves nothing running', async () => {
    const folder = await watchFolders();
    put('a.yaml', service('web', 1));
    await folder.source.stop();
    const { batches } = folder.seen;
    put('b.yaml', service('api', 1));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(folder.seen.batches).toBe(batches);
  });
});

describe('a large file', () => {
  const large = (port: number) =>
    `apiVersion: v1\nkind: List\nitems:\n${Array.from({ length: 1_500 }, (_, index) => `- {apiVersion: v1, kind: Service, metadata: {name: web-${index}}, spec: {ports: [{port: ${port}}]}}\n`).join('')}`;

  it('keeps no other file waiting, and the last of its versions counts', async () => {
    const folder = await watchFolders();
    const order: string[] = [];
    put('large.yaml', large(1));
    put('large.yaml', large(2));
    put('small.yaml', service('small', 1));
    await poll(folder.shows).toMatchObject(shown({ small: 1 }));
    for (const change of folder.seen.changes) if ('upsert' in change) order.push(change.upsert.name);
    expect(order).toEqual(['small']);
    await expect.poll(folder.shows, { timeout: 25_000 }).toMatchObject(shown({ small: 1, 'web-0': 2, 'web-1499': 2 }));
    put('large.yaml', large(3));
    put('large.yaml', service('large', 1));
    await poll(folder.shows).toEqual(shown({ small: 1, large: 1 }));
  });
});

describe('after any sequence of edits', () => {
  const file = fc.constantFrom('a.yaml', 'b.yml', 'd/a.yaml', 'd/c.json', 'd/e/f.yaml', 'g/h.yaml');
  const name = fc.constantFrom('web', 'api', 'db');
  const objects = fc.array(fc.tuple(name, fc.integer({ min: 1, max: 9 })), { maxLength: 3 });
  const edit = fc.record({
    file,
    other: file,
    objects,
    kind: fc.constantFrom(
      'write',
      'write',
      'replace',
      'unlink',
      'move',
      'remove folder',
      'move folder',
      'link',
      'wait',
    ),
    pause: fc.integer({ min: 0, max: 40 }),
  });

  async function perform({ file, other, objects, kind, pause }: typeof edit extends fc.Arbitrary<infer E> ? E : never) {
    const path = join(root, file);
    const text = objects.map(([name, port]) => service(name, port)).join('---\n');
    mkdirSync(join(path, '..'), { recursive: true });
    mkdirSync(join(root, other, '..'), { recursive: true });
    // The path may be a link whose target's folder is gone.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() && !existsSync(path)) unlinkSync(path);
    if (lstatSync(join(root, other), { throwIfNoEntry: false })?.isSymbolicLink()) unlinkSync(join(root, other));
    if (kind === 'write') writeFileSync(path, text);
    else if (kind === 'replace') {
      writeFileSync(join(root, '.tmp'), text);
      renameSync(join(root, '.tmp'), path);
    } else if (kind === 'unlink') rmSync(path, { force: true });
    else if (kind === 'remove folder') rmSync(join(root, 'd'), { recursive: true, force: true });
    else if (kind === 'move folder') {
      rmSync(join(root, 'g'), { recursive: true, force: true });
      mkdirSync(join(root, 'd'), { recursive: true });
      renameSync(join(root, 'd'), join(root, 'g'));
    } else {
      if (kind === 'move') writeFileSync(join(root, other), text);
      if (kind === 'move') renameSync(join(root, other), path);
      if (kind === 'link') {
        rmSync(path, { force: true });
        if (file !== other) symlinkSync(join(root, other), path);
      }
    }
    if (pause > 20) await new Promise((resolve) => setTimeout(resolve, pause));
  }

  it('shows what a fresh start shows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 5, maxLength: 25 }), async (edits) => {
        rmSync(root, { recursive: true, force: true });
        mkdirSync(root);
        const folder = await watchFolders();
        for (const one of edits) await perform(one);
        const fresh = await watchFolders([root], false);
        await poll(folder.shows).toEqual(fresh.shows());
        await poll(() => folder.seen.diagnostics).toEqual(fresh.seen.diagnostics);
        await folder.source.stop();
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });
});
