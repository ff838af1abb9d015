/** Resources that are found in upper and lower case, such as certificates by server name. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { ResourceChange } from '../../src/xds/resource.ts';
import { MAX_SPELLINGS } from '../../src/xds/spellings.ts';
import { SnapshotStore } from '../../src/xds/store.ts';
import { Client, put, remove, resource, SDS, TestClock } from './support.ts';

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

/** A resource whose bytes name the spelling and the version. */
function putSpelled(name: string, version = '1'): ResourceChange[] {
  const bytesAs = (spelling: string) => Buffer.from(`${spelling}@${version}`);
  return [{ typeUrl: SDS, name, resource: resource(name, version, { bytesAs }) }];
}

const connect = () => new Client({ store, clock, acknowledges: true });
const bodies = (client: Client) => client.responses.flatMap(({ resources }) => resources.map(({ body }) => body));

describe('a resource that has spellings', () => {
  test('is sent under the name that was asked for, in its bytes too', () => {
    commit(putSpelled('shop'));
    const client = connect().subscribe(SDS, 'Shop', 'shop', 'SHOP');
    expect(client.next()).toEqual(['SDS Shop shop SHOP']);
    expect(bodies(client)).toEqual(['Shop@1', 'shop@1', 'SHOP@1']);
  });

  test('changes and goes in every spelling', () => {
    commit(putSpelled('shop'));
    const client = connect().subscribe(SDS, 'Shop', 'SHOP');
    commit(putSpelled('shop', '2'));
    commit(remove(SDS, 'shop'));
    clock.advance(1000);
    expect(client.next()).toEqual(['SDS Shop SHOP', 'SDS Shop SHOP', 'SDS -Shop -SHOP']);
    expect(bodies(client)).toEqual(['Shop@1', 'SHOP@1', 'Shop@2', 'SHOP@2']);
  });

  test('is sent when it comes after it was asked for', () => {
    commit();
    const client = connect().subscribe(SDS, 'Shop');
    commit(putSpelled('shop'));
    expect(client.next()).toEqual(['SDS -Shop', 'SDS Shop']);
  });

  test('is not sent again to a client that comes back with its version', () => {
    commit(putSpelled('shop'));
    const client = connect().request(SDS, { subscribe: ['Shop'], initialVersions: new Map([['Shop', '1']]) });
    expect(client.next()).toEqual([]);
    commit(putSpelled('shop', '2'));
    expect(client.next()).toEqual(['SDS Shop']);
  });

  test('is sent no more in a spelling that is given up', () => {
    commit(putSpelled('shop'));
    const client = connect().subscribe(SDS, 'Shop', 'SHOP').unsubscribe(SDS, 'SHOP');
    commit(putSpelled('shop', '2'));
    expect(client.next()).toEqual(['SDS Shop SHOP', 'SDS Shop']);
  });

  test('is unknown in one spelling too many, until another one is given up', () => {
    commit(putSpelled('abcdefghij'));
    const spellings = Array.from({ length: MAX_SPELLINGS + 1 }, (_, index) => spell('abcdefghij', index));
    const last = spellings.at(-1) ?? '';
    const client = connect().subscribe(SDS, ...spellings);
    expect(client.names(SDS)).toHaveLength(MAX_SPELLINGS);
    expect(client.next()).toEqual([`SDS ${spellings.slice(0, -1).join(' ')} -${last}`]);
    client.unsubscribe(SDS, spellings[0] ?? '', last).subscribe(SDS, last);
    expect(client.next()).toEqual([`SDS ${last}`]);
    expect(client.subscribe(SDS, 'abcdefghij').next()).toEqual(['SDS abcdefghij']);
  });
});

test('a resource without spellings is found under its own name alone', () => {
  commit(put(SDS, 'shop', 'Mixed'));
  expect(connect().subscribe(SDS, 'Shop', 'Mixed', 'mixed').next()).toEqual(['SDS Mixed -Shop -mixed']);
});

test('names that do not exist leave nothing behind once they are given up', () => {
  commit(putSpelled('shop'));
  const client = connect().subscribe(SDS, 'shop');
  for (let index = 0; index < 2000; index++) {
    const name = `Unknown-${index}`;
    client.subscribe(SDS, name).unsubscribe(SDS, name);
  }
  expect(client.stream.subscribed(SDS)).toBe(1);
  commit(putSpelled('unknown-7'), putSpelled('shop', '2'));
  expect(client.next().at(-1)).toBe('SDS shop');
});

/** One letter in upper case. */
function spell(name: string, index: number): string {
  return name.slice(0, index) + name.slice(index, index + 1).toUpperCase() + name.slice(index + 1);
}
