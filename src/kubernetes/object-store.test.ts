import { beforeEach, describe, expect, it } from 'vitest';
import type { ObjectRef } from '../model/object-ref.ts';
import { ObjectStore } from './object-store.ts';

const ref = { kind: 'Secret', namespace: 'shop', name: 'tls' };

/** As the API server has it, with a value to tell versions apart. */
function raw(version: string, value = version, name = 'tls'): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'shop', name, resourceVersion: version },
    type: 'Opaque',
    data: { value: Buffer.from(value).toString('base64') },
  };
}

let changes: string[];
let isWanted: (one: ObjectRef) => boolean;
let store: ObjectStore;

beforeEach(() => {
  changes = [];
  isWanted = () => true;
  store = new ObjectStore({
    kind: 'Secret',
    isWanted: (one) => isWanted(one),
    onUpsert: ({ name, resourceVersion }) => changes.push(`${name}@${resourceVersion}`),
    onRemove: ({ name }) => changes.push(`${name} removed`),
    onListed: () => changes.push('listed'),
    onDiagnostics: () => {},
  });
});

function list(version: string, ...items: object[]): void {
  store.begin();
  store.page(items);
  store.end(version);
}

describe('a watch that is behind what was read by name', () => {
  it('does not bring back a former version', () => {
    store.read(ref, raw('10'), '10');
    store.event('upsert', raw('8'), '8');
    store.event('delete', raw('9'), '9');
    expect(changes).toEqual(['tls@10']);
    store.event('upsert', raw('11'), '11');
    store.event('delete', raw('12'), '12');
    expect(changes).toEqual(['tls@10', 'tls@11', 'tls removed']);
  });

  it('does not bring back what was read as absent', () => {
    store.read(ref, undefined, '10');
    store.event('upsert', raw('9'), '9');
    expect(changes).toEqual([]);
    store.event('upsert', raw('11'), '11');
    expect(changes).toEqual(['tls@11']);
  });
});

describe('a list', () => {
  it('that began before an object was read by name does not undo it', () => {
    store.begin();
    store.page([]);
    store.read(ref, raw('10'), '10');
    store.end('9');
    expect(changes).toEqual(['tls@10', 'listed']);
  });

  it('that is older than what was read by name does not bring back a former version', () => {
    store.begin();
    store.page([raw('8')]);
    store.read(ref, raw('10'), '10');
    store.end('9');
    expect(changes).toEqual(['tls@10', 'listed']);
  });

  it('that is newer than what was read by name counts', () => {
    store.read(ref, raw('10'), '10');
    list('12', raw('11'));
    list('13');
    expect(changes).toEqual(['tls@10', 'tls@11', 'listed', 'tls removed', 'listed']);
  });

  it('tells only what differs from what is held', () => {
    list('10', raw('8'), raw('9', 'x', 'other'));
    list('12', raw('8'), raw('11', 'y', 'third'));
    expect(changes).toEqual(['tls@8', 'other@9', 'listed', 'other removed', 'third@11', 'listed']);
  });

  it('that breaks off leaves everything as it was', () => {
    list('10', raw('8'));
    store.begin();
    store.page([raw('11', 'x', 'other')]);
    list('12', raw('8'));
    expect(changes).toEqual(['tls@8', 'listed', 'listed']);
    expect(store.get({ ...ref, name: 'other' })).toBeUndefined();
  });

  it('keeps nothing of what is not wanted, nor what is no longer wanted at its end', () => {
    isWanted = ({ name }) => name === 'tls';
    list('10', raw('8'), raw('9', 'x', 'other'));
    expect([...store.inNamespace('shop')].map(({ name }) => name)).toEqual(['tls']);
    store.event('upsert', raw('11', 'x', 'other'), '11');
    store.begin();
    store.page([raw('12')]);
    store.drop(ref);
    isWanted = () => false;
    store.end('13');
    expect(store.inNamespace('shop')).toEqual([]);
  });
});

describe('an object that does not decode', () => {
  const bad = { ...raw('9'), data: { value: 'no base64!' } };

  it('is not even looked at when it is not wanted', () => {
    isWanted = () => false;
    list('10', bad);
    store.event('upsert', bad, '11');
    expect(store.diagnostics()).toEqual([]);
    expect(changes).toEqual(['listed']);
  });

  it('keeps its last good version, with a Diagnostic that does not show the value', () => {
    list('8', raw('8'));
    store.event('upsert', bad, '9');
    expect(store.get(ref)?.resourceVersion).toBe('8');
    expect(store.diagnostics()).toMatchObject([{ code: 'ObjectInvalid', field: 'data.value', ref }]);
    expect(JSON.stringify(store.diagnostics())).not.toContain('no base64!');
    list('10', bad);
    expect(store.get(ref)?.resourceVersion).toBe('8');
    store.event('upsert', raw('11'), '11');
    expect(store.diagnostics()).toEqual([]);
  });

  it('is no longer told of when it is gone, also if it never was good', () => {
    list('8', bad);
    expect(store.diagnostics()).toHaveLength(1);
    list('10');
    expect(store.diagnostics()).toEqual([]);
  });
});
