import { describe, expect, test } from 'vitest';
import { type Resource, typeUrls } from './resource.ts';
import { type Commit, SnapshotStore } from './store.ts';

const { cluster, listener } = typeUrls;

function put(
  name: string,
  version: string,
  more: Partial<Resource> = {},
  typeUrl: typeof cluster | typeof listener = cluster,
) {
  const resource = { name, version, bytes: () => Buffer.from(version), origin: [`ns/${name}`], ...more };
  return { typeUrl, name, resource };
}

const remove = (name: string) => ({ typeUrl: cluster, name, resource: undefined });

describe('a commit', () => {
  test('tells what changed and what is gone, per type', () => {
    const store = new SnapshotStore();
    store.commit([put('a', '1'), put('b', '1')]);
    const commit = store.commit([put('a', '2'), remove('b'), put('l', '1', {}, listener)]);
    expect(commit).toEqual({
      seq: 2,
      types: new Map([
        [cluster, { changed: new Set(['a']), removed: new Set(['b']) }],
        [listener, { changed: new Set(['l']), removed: new Set() }],
      ]),
    });
  });

  test('without a change is none, apart from the first', () => {
    const store = new SnapshotStore();
    expect(store.ready).toBe(false);
    expect(store.commit([])?.seq).toBe(1);
    expect(store.ready).toBe(true);
    store.commit([put('a', '1')]);
    expect(store.commit([put('a', '1'), remove('unknown')])).toBeUndefined();
    expect(store.seq).toBe(2);
  });

  test('that says one thing after the other counts as the last', () => {
    const store = new SnapshotStore();
    const commit = store.commit([put('a', '1'), remove('a'), put('b', '1'), put('b', '2')]);
    expect(commit?.types.get(cluster)).toEqual({ changed: new Set(['b']), removed: new Set(['a']) });
    expect(store.get(cluster, 'b')?.version).toBe('2');
  });

  test('is visible as a whole when listeners hear of it, until they leave', () => {
    const store = new SnapshotStore();
    const seen: [Commit['seq'], string[]][] = [];
    const leave = store.subscribe(({ seq }) => seen.push([seq, [...store.names(cluster)]]));
    store.commit([put('a', '1'), put('b', '1')]);
    leave();
    store.commit([put('c', '1')]);
    expect(seen).toEqual([[1, ['a', 'b']]]);
  });

  test('under a wrong name is a bug', () => {
    expect(() => new SnapshotStore().commit([{ ...put('a', '1'), name: 'b' }])).toThrow('under the name b');
  });
});

describe('a resource', () => {
  test('of equal version keeps its bytes and takes over the origin', () => {
    const store = new SnapshotStore();
    store.commit([put('a', '1')]);
    const before = store.get(cluster, 'a')?.body();
    store.commit([put('a', '1', { origin: () => ['other/b'], bytes: () => Buffer.from('never asked for') })]);
    expect(store.get(cluster, 'a')?.body()).toBe(before);
    expect(store.get(cluster, 'a')?.origin()).toEqual(['other/b']);
  });

  test('is encoded once per version, and only when asked for', () => {
    const encoded: string[] = [];
    const store = new SnapshotStore((event) => event.kind === 'encoded' && encoded.push(event.name));
    store.commit([put('a', '1'), put('b', '1')]);
    store.get(cluster, 'a')?.body();
    store.get(cluster, 'a')?.body();
    store.commit([put('a', '2')]);
    store.get(cluster, 'a')?.body();
    expect(encoded).toEqual(['a', 'a']);
  });

  test('that is transient is not kept, and yet counts once', () => {
    const encoded: string[] = [];
    const store = new SnapshotStore((event) => event.kind === 'encoded' && encoded.push(event.name));
    store.commit([put('a', '1', { transient: true })]);
    const [first, second] = [store.get(cluster, 'a')?.body(), store.get(cluster, 'a')?.body()];
    expect([second, second === first]).toEqual([first, false]);
    expect(encoded).toEqual(['a']);
  });
});

describe('the label of a type', () => {
  test('changes with names and versions, and returns with the content', () => {
    const store = new SnapshotStore();
    const empty = store.systemVersion(cluster);
    store.commit([put('a', '1')]);
    const one = store.systemVersion(cluster);
    store.commit([put('a', '2')]);
    const two = store.systemVersion(cluster);
    store.commit([remove('a'), put('b', '2')]);
    const renamed = store.systemVersion(cluster);
    expect(new Set([empty, one, two, renamed]).size).toBe(4);
    store.commit([remove('b'), put('a', '1')]);
    expect(store.systemVersion(cluster)).toBe(one);
    store.commit([remove('a')]);
    expect(store.systemVersion(cluster)).toBe(empty);
  });
});
