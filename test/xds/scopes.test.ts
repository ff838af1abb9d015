/** Scopes lead requests to routes: they change only when the client has the routes. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { ResourceChange } from '../../src/xds/resource.ts';
import { SnapshotStore } from '../../src/xds/store.ts';
import { CDS, Client, LDS, put, RDS, remove, resource, SRDS, TestClock } from './support.ts';

let clock: TestClock;
let store: SnapshotStore;

beforeEach(() => {
  clock = new TestClock();
  store = new SnapshotStore();
});

function commit(...changes: ResourceChange[][]): void {
  store.commit(changes.flat());
  clock.run();
}

/** `scope('key', 'r')`: the version is the routes that it leads to. */
function scope(name: string, routes: string): ResourceChange[] {
  return [{ typeUrl: SRDS, name, resource: resource(name, routes, { routes }) }];
}

/** A client whose scope `key` leads to the routes `old`, as do the scopes of that name. */
function synced(): Client {
  commit(put(RDS, 'old'), scope('key', 'old'), scope('old', 'old'));
  const client = new Client({ store, clock }).request(SRDS);
  client.ack().subscribe(RDS, 'old').ack();
  client.next();
  return client;
}

/** What a divided shard is: new routes, a scope for them, and the key that moves. */
function move(): void {
  commit(put(RDS, 'new'), remove(RDS, 'old'), scope('key', 'new'), scope('new', 'new'), remove(SRDS, 'old'));
}

describe('a scope that the client holds', () => {
  test('moves to other routes when the client has accepted them, and the former ones go last', () => {
    const client = synced();
    move();
    expect(client.next()).toEqual(['SRDS new -old']);
    client.ack();
    expect(client.next()).toEqual([]);
    client.subscribe(RDS, 'new');
    expect(client.next()).toEqual(['RDS new']);
    expect(client.names(RDS)).toContain('old');
    client.ack();
    expect(client.next()).toEqual(['SRDS key']);
    clock.advance(10_000);
    expect(client.next()).toEqual([]);
    client.ack();
    clock.advance(10_000);
    expect(client.next()).toEqual(['RDS -old']);
  });

  test('stays when the client rejects the routes, until they are others', () => {
    const client = synced();
    move();
    client.ack().subscribe(RDS, 'new').nack(RDS);
    clock.advance(60_000);
    expect(client.next()).toEqual(['SRDS new -old', 'RDS new']);
    commit(put(RDS, 'new@2'));
    expect(client.next()).toEqual(['RDS new']);
    client.ack();
    expect(client.next()).toEqual(['SRDS key']);
  });

  test('waits for the version of the routes that is current', () => {
    const client = synced();
    move();
    client.ack().subscribe(RDS, 'new');
    commit(put(RDS, 'new@2'));
    client.ack();
    expect(client.next()).toEqual(['SRDS new -old', 'RDS new', 'RDS new']);
    client.ack();
    expect(client.next()).toEqual(['SRDS key']);
  });

  test('that moves back in time was never sent', () => {
    const client = synced();
    move();
    client.ack().subscribe(RDS, 'new').unsubscribe(RDS, 'new');
    commit(put(RDS, 'old'), remove(RDS, 'new'), scope('key', 'old'), scope('old', 'old'), remove(SRDS, 'new'));
    expect(client.next()).toEqual(['SRDS new -old', 'RDS new', 'SRDS old -new']);
  });

  test('that waits does not hold up others', () => {
    const client = synced();
    commit(scope('key', 'nowhere'), scope('other', 'old'));
    expect(client.next()).toEqual(['SRDS other']);
  });

  test('is not complete before it has moved', () => {
    const client = synced();
    client.request(CDS);
    client.request(LDS);
    while (client.waitingForReply.length > 0) client.ack();
    expect(client.stream.programmedSeq).toBe(store.seq);
    move();
    client.ack().subscribe(RDS, 'new');
    expect(client.stream.programmedSeq).toBeLessThan(store.seq);
    client.ack().ack();
    expect(client.stream.programmedSeq).toBe(store.seq);
  });
});

test('a client that comes back gets a changed scope after its routes, too', () => {
  synced().stream.close();
  move();
  const versions = (...entries: [string, string][]) => ({ initialVersions: new Map(entries) });
  const client = new Client({ store, clock })
    .request(CDS)
    .ack()
    .request(SRDS, versions(['key', 'old'], ['old', 'old']))
    .request(RDS, { subscribe: ['old'], ...versions(['old', '1']) });
  // It has asked for `old` by name, so that it has to be told; Envoy keeps the routes all the same while a scope leads there.
  expect(client.next()).toEqual(['CDS', 'SRDS new -old', 'RDS -old']);
  client.ack(SRDS).ack(RDS).subscribe(RDS, 'new');
  expect(client.next()).toEqual(['RDS new']);
  client.ack(RDS);
  expect(client.next()).toEqual(['SRDS key']);
});

test('scopes that the client does not hold go at once: it asks for their routes only then', () => {
  commit(put(RDS, 'r'), scope('key', 'r'));
  expect(new Client({ store, clock }).request(SRDS).next()).toEqual(['SRDS key']);
});
