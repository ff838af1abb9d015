/** What is sent before what, what waits for what, and for how long. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { ResourceChange } from '../../src/xds/resource.ts';
import { SnapshotStore } from '../../src/xds/store.ts';
import {
  CDS,
  Client,
  type ClientOptions,
  EDS,
  LDS,
  put,
  RDS,
  remove,
  resource,
  SDS,
  SRDS,
  TestClock,
} from './support.ts';

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

function connect(options: Partial<ClientOptions> = {}): Client {
  return new Client({ store, clock, ...options });
}

/** A proxy that has one cluster, its endpoints, a secret, a listener and a route table, all accepted. */
function synced(): Client {
  commit(put(CDS, 'a>x'), put(EDS, 'x'), put(SDS, 's'), put(LDS, 'l'), put(RDS, 'r'));
  const client = connect().request(CDS).request(LDS).subscribe(EDS, 'x').subscribe(SDS, 's').subscribe(RDS, 'r');
  while (client.waitingForReply.length > 0) client.ack();
  expect(client.next().sort()).toEqual(['CDS a', 'EDS x', 'LDS l', 'RDS r', 'SDS s']);
  return client;
}

const gateTimeouts = (client: Client) => client.events.filter(({ kind }) => kind === 'gateTimeout').length;
const initial = (...names: string[]) => ({ initialVersions: new Map(names.map((name) => [name, '1'])) });

describe('additions', () => {
  test('go clusters, endpoints, secrets, listeners, and routes after the ACK of clusters', () => {
    const client = synced();
    commit(put(RDS, 'r@2'), put(LDS, 'l@2'), put(SDS, 's@2'), put(EDS, 'x@2'), put(CDS, 'b'));
    expect(client.next()).toEqual(['CDS b', 'EDS x', 'SDS s', 'LDS l']);
    client.ack(CDS);
    expect(client.next()).toEqual(['RDS r']);
  });

  test('routes come before scopes', () => {
    commit(put(RDS, 'r'), put(SRDS, 'k'));
    const client = connect({ acknowledges: true }).request(SRDS).subscribe(RDS, 'r');
    commit(put(SRDS, 'k@2'), put(RDS, 'r@2'));
    expect(client.next()).toEqual(['SRDS k', 'RDS r', 'RDS r', 'SRDS k']);
  });

  test('routes do not wait for clusters that are only changed', () => {
    const client = synced();
    commit(put(CDS, 'a@2'), put(RDS, 'r@2'));
    expect(client.next()).toEqual(['CDS a', 'RDS r']);
  });

  test('a rejected cluster opens the gate as well', () => {
    const client = synced();
    commit(put(CDS, 'b'), put(RDS, 'r@2'));
    client.nack(CDS);
    expect(client.next()).toEqual(['CDS b', 'RDS r']);
    expect(gateTimeouts(client)).toBe(0);
  });

  test('a client that does not ask for clusters gets routes at once', () => {
    commit(put(CDS, 'a'), put(RDS, 'r'));
    expect(connect().subscribe(RDS, 'r').next()).toEqual(['RDS r']);
  });

  test('routes stop waiting after a second, which is counted', () => {
    const client = synced();
    commit(put(CDS, 'b'), put(RDS, 'r@2'));
    clock.advance(999);
    expect(client.next()).toEqual(['CDS b']);
    clock.advance(1);
    expect(client.next()).toEqual(['RDS r']);
    expect(gateTimeouts(client)).toBe(1);
  });

  test('routes see what is newest when the gate opens', () => {
    const client = synced();
    commit(put(CDS, 'b'), put(RDS, 'r@2'));
    commit(put(CDS, 'c'), put(RDS, 'r@3'));
    client.ack(CDS);
    expect(client.next()).toEqual(['CDS b', 'CDS c']);
    client.ack(CDS);
    expect(client.next()).toEqual(['RDS r']);
    expect(client.held.get(RDS)?.get('r')).toBe('3');
  });
});

describe('a listener that leads to a cluster by itself', () => {
  const leading = (name: string, version: string, cluster: string): ResourceChange[] => [
    { typeUrl: LDS, name, resource: resource(name, version, { cluster }) },
  ];

  test('waits for the ACK of clusters, whether it is new or changed, and others do not', () => {
    const client = synced();
    commit(leading('tcp', '1', 'b'), put(LDS, 'l@2'), put(CDS, 'b'));
    expect(client.next()).toEqual(['CDS b', 'LDS l']);
    client.ack(LDS);
    expect(client.next()).toEqual([]);
    client.ack(CDS);
    expect(client.next()).toEqual(['LDS tcp']);
    client.ack(LDS);
    commit(leading('tcp', '2', 'c'), put(CDS, 'c'));
    expect(client.next()).toEqual(['CDS c']);
    client.ack(CDS);
    expect(client.next()).toEqual(['LDS tcp']);
    expect(gateTimeouts(client)).toBe(0);
  });

  test('does not wait where the client has its cluster', () => {
    const client = synced();
    commit(leading('tcp', '1', 'a'), put(CDS, 'a@2'));
    expect(client.next()).toEqual(['CDS a', 'LDS tcp']);
  });

  test('stops waiting after a second, which is counted', () => {
    const client = synced();
    commit(leading('tcp', '1', 'b'), put(CDS, 'b'));
    clock.advance(999);
    expect(client.next()).toEqual(['CDS b']);
    clock.advance(1);
    expect(client.next()).toEqual(['LDS tcp']);
    expect(gateTimeouts(client)).toBe(1);
  });

  test('is not waited for by a client that asks for no clusters', () => {
    commit(leading('tcp', '1', 'b'), put(CDS, 'b'));
    expect(connect().request(LDS).next()).toEqual(['LDS tcp']);
  });

  test.each<[string, boolean]>([
    ['Error adding/updating listener(s) tcp-1: cannot bind\n', true],
    ['Error adding/updating listener(s) tcp-2: cannot bind\ntcp-1: cannot bind\n', true],
    ['Error adding/updating listener(s) l: cannot bind\n', false],
    ['Error adding/updating listener(s) tcp-1: cannot bind\nl: cannot bind\n', false],
    ['Error adding/updating listener(s) tcp: cannot bind\n', false],
    ['rejected', false],
  ])('whose port cannot be had holds up nothing else: %j', (message, goesOn) => {
    const client = synced();
    commit(leading('tcp-1', '1', 'a'), leading('tcp-2', '1', 'a'), put(LDS, 'l@2'));
    client.nack(LDS, message);
    expect(client.events.filter(({ kind }) => kind === 'nack')).toHaveLength(1);
    client.next();
    commit(remove(CDS, 'a'));
    expect(client.next()).toEqual(goesOn ? ['CDS -a'] : []);
  });

  test('is removed before its cluster', () => {
    const client = synced();
    commit(leading('tcp', '1', 'b'), put(CDS, 'b'));
    client.ack(CDS);
    client.ack(LDS);
    client.next();
    commit(remove(LDS, 'tcp'), remove(CDS, 'b'));
    expect(client.next()).toEqual(['LDS -tcp']);
    client.ack(LDS);
    clock.advance(1000);
    expect(client.next()).toEqual(['CDS -b']);
  });
});

describe('a cluster with secrets', () => {
  const naming = (name: string, ...secrets: string[]): ResourceChange[] => [
    { typeUrl: CDS, name, resource: resource(name, '1', { endpoints: 'x', secrets }) },
  ];

  test('is ready for routes when the client has its endpoints and its secrets', () => {
    const client = synced();
    commit(naming('b', 'k'), put(SDS, 'k'), put(RDS, 'r@2'));
    expect(client.next()).toEqual(['CDS b', 'EDS x']);
    client.ack(EDS);
    client.subscribe(SDS, 'k');
    expect(client.next()).toEqual(['SDS k']);
    client.ack(SDS);
    expect(client.next()).toEqual(['RDS r']);
    expect(gateTimeouts(client)).toBe(0);
  });

  test('does not wait for secrets that the client has', () => {
    const client = synced();
    commit(naming('b', 's'), put(RDS, 'r@2'));
    client.ack(EDS);
    expect(client.next()).toEqual(['CDS b', 'EDS x', 'RDS r']);
  });

  test('waits for the ACK of a secret that changes meanwhile', () => {
    const client = synced();
    commit(naming('b', 's'), put(SDS, 's@2'), put(RDS, 'r@2'));
    client.ack(EDS);
    expect(client.next()).toEqual(['CDS b', 'EDS x', 'SDS s']);
    client.ack(SDS);
    expect(client.next()).toEqual(['RDS r']);
  });
});

describe('a cluster that does not warm', () => {
  test('holds up the next clusters for a second at most, and routes of those for another', () => {
    const client = synced();
    commit(put(CDS, 'slow'));
    clock.advance(500);
    commit(put(CDS, 'b'), put(RDS, 'r@2'));
    clock.advance(499);
    expect(client.next()).toEqual(['CDS slow']);
    clock.advance(1);
    expect(client.next()).toEqual(['CDS b']);
    clock.advance(1000);
    expect(client.next()).toEqual(['RDS r']);
  });

  test('later holds up nothing that is asked for after that second', () => {
    const client = synced();
    commit(put(CDS, 'slow'));
    clock.advance(1000);
    commit(put(RDS, 'r@2'), put(CDS, 'a@2'));
    expect(client.next()).toEqual(['CDS slow', 'CDS a', 'RDS r']);
    client.ack(RDS);
    commit(put(RDS, 'r@3'));
    expect(client.next()).toEqual(['RDS r']);
    expect(gateTimeouts(client)).toBe(1);
    expect(client.events.filter((event) => event.kind === 'response' && event.superseding)).toHaveLength(1);
  });

  test('and whose ACK comes late says nothing about the clusters after it', () => {
    const client = synced();
    commit(put(CDS, 'slow'));
    clock.advance(1000);
    commit(put(CDS, 'b'), put(RDS, 'r@2'));
    client.ack(CDS);
    expect(client.next()).toEqual(['CDS slow', 'CDS b']);
    client.ack(CDS);
    expect(client.next()).toEqual(['RDS r']);
  });

  test('and is changed meanwhile is still new to the client', () => {
    const client = synced();
    commit(put(CDS, 'b'));
    clock.advance(1000);
    commit(put(CDS, 'b@2'), put(RDS, 'r@2'));
    expect(client.next()).toEqual(['CDS b', 'CDS b']);
  });

  test('late replies to superseded clusters are taken in any order', () => {
    const client = synced();
    commit(put(CDS, 'slow'));
    clock.advance(1000);
    commit(put(CDS, 'b'));
    const [first, second] = client.waitingForReply;
    client.request(CDS, { nonce: second?.nonce ?? '' });
    expect(client.stream.programmedSeq).toBe(1);
    client.request(CDS, { nonce: first?.nonce ?? '' });
    expect(client.stream.programmedSeq).toBe(3);
  });

  test('does not hold up others whose endpoints were accepted, although Envoy withholds their ACK too', () => {
    const client = synced();
    commit(put(CDS, 'slow'));
    clock.advance(1000);
    commit(put(CDS, 'b>y'), put(EDS, 'y'), put(RDS, 'r@2'));
    client.subscribe(EDS, 'y');
    expect(client.next()).toEqual(['CDS slow', 'CDS b', 'EDS y']);
    client.ack(EDS);
    clock.advance(0);
    commit(put(CDS, 'c>z'), put(EDS, 'z'), put(RDS, 'r@3'));
    client.subscribe(EDS, 'z').ack(RDS).ack(EDS);
    expect(client.next()).toEqual(['RDS r', 'CDS c', 'EDS z', 'RDS r']);
  });

  test('endpoints that were under way before the cluster do not count', () => {
    const client = synced();
    commit(put(EDS, 'x@2'));
    commit(put(CDS, 'b>x'), put(RDS, 'r@2'));
    client.ack(EDS);
    expect(client.next()).toEqual(['EDS x', 'CDS b', 'EDS x']);
    client.ack(EDS);
    expect(client.next()).toEqual(['RDS r']);
  });

  test('never holds up endpoints and secrets', () => {
    const client = synced();
    commit(put(CDS, 'slow>y'), put(EDS, 'y', 'x@2'), put(SDS, 's@2'));
    client.subscribe(EDS, 'y').ack(EDS).ack(SDS);
    expect(client.next()).toEqual(['CDS slow', 'EDS x', 'SDS s', 'EDS y']);
  });
});

describe('endpoints follow their cluster', () => {
  test('when it was changed', () => {
    const client = synced();
    commit(put(CDS, 'a@2>x'));
    expect(client.next()).toEqual(['CDS a', 'EDS x']);
  });

  test('when it is new and the client watches the endpoints already', () => {
    const client = synced();
    commit(put(CDS, 'b>x'));
    expect(client.next()).toEqual(['CDS b', 'EDS x']);
  });

  test('but not when the client has not asked for them, or they do not exist', () => {
    const client = synced();
    client.subscribe(EDS, 'z').ack();
    commit(put(CDS, 'b>y', 'c>z'), put(EDS, 'y'));
    expect(client.next()).toEqual(['EDS -z', 'CDS b c']);
  });

  test('once more after the ACK, if endpoints are under way', () => {
    const client = synced();
    commit(put(EDS, 'x@2'));
    commit(put(CDS, 'a@2>x'));
    expect(client.next()).toEqual(['EDS x', 'CDS a']);
    client.ack(EDS);
    expect(client.next()).toEqual(['EDS x']);
  });
});

describe('removals', () => {
  test('of a cluster wait for the ACK of the routes of that commit', () => {
    const client = synced();
    commit(put(RDS, 'r@2'), remove(CDS, 'a'));
    clock.advance(10_000);
    expect(client.next()).toEqual(['RDS r']);
    client.ack(RDS);
    expect(client.next()).toEqual(['CDS -a']);
  });

  test('of a cluster come at once when routes have moved on before', () => {
    const client = synced();
    commit(put(RDS, 'r@2'));
    client.ack();
    commit(remove(CDS, 'a'));
    expect(client.next()).toEqual(['RDS r', 'CDS -a']);
  });

  test('of a cluster wait for listeners too', () => {
    const client = synced();
    commit(put(LDS, 'l@2'), put(RDS, 'r@2'), remove(CDS, 'a'));
    client.ack(RDS);
    expect(client.next()).toEqual(['LDS l', 'RDS r']);
    client.ack(LDS);
    expect(client.next()).toEqual(['CDS -a']);
  });

  test('are not released by a NACK, but by the routes that are accepted later', () => {
    const client = synced();
    commit(put(RDS, 'r@2'), remove(CDS, 'a'));
    client.nack(RDS);
    clock.advance(10_000);
    commit(put(RDS, 'r@3'));
    expect(client.next()).toEqual(['RDS r', 'RDS r']);
    client.ack(RDS);
    expect(client.next()).toEqual(['CDS -a']);
  });

  test('wait for all the routes of the commit, however many responses they take', () => {
    commit(put(CDS, 'a'), put(RDS, 'r', 'q'));
    const client = connect({ limits: { maxResponseBytes: 1 } })
      .request(CDS)
      .ack()
      .subscribe(RDS, 'r', 'q')
      .ack()
      .ack();
    commit(put(RDS, 'r@2', 'q@2'), remove(CDS, 'a'));
    client.ack();
    expect(client.next()).toEqual(['CDS a', 'RDS r', 'RDS q', 'RDS r', 'RDS q']);
    client.ack();
    expect(client.next()).toEqual(['CDS -a']);
  });

  test('are taken back when the cluster returns', () => {
    const client = synced();
    commit(put(RDS, 'r@2'), remove(CDS, 'a'));
    commit(put(RDS, 'r@3'), put(CDS, 'a>x'));
    client.ack(RDS).ack(RDS);
    clock.advance(10_000);
    expect(client.next()).toEqual(['RDS r', 'RDS r']);
  });

  test('that were taken back hold up no others', () => {
    const client = synced();
    commit(put(RDS, 'r@2'), remove(CDS, 'a'));
    commit(put(CDS, 'a>x'));
    client.ack(RDS);
    commit(remove(EDS, 'x'));
    clock.advance(1000);
    expect(client.next()).toEqual(['RDS r', 'EDS -x']);
  });

  test('are not forgotten when the late ACK of an earlier removal arrives', () => {
    const client = synced();
    commit(remove(CDS, 'a'));
    commit(put(CDS, 'a>x'));
    clock.advance(1000);
    commit(put(RDS, 'r@2'), remove(CDS, 'a'));
    expect(client.next()).toEqual(['CDS -a', 'CDS a', 'EDS x']);
    client.ack(CDS).ack(CDS).ack(EDS).ack(RDS);
    expect(client.next()).toEqual(['RDS r', 'CDS -a']);
  });

  test('are replaced by the changed cluster that returns', () => {
    const client = synced();
    commit(put(RDS, 'r@2'), remove(CDS, 'a'));
    commit(put(CDS, 'a@2>x'));
    client.ack(RDS);
    expect(client.next()).toEqual(['RDS r', 'CDS a', 'EDS x']);
  });

  test('do not concern new streams', () => {
    synced();
    commit(put(RDS, 'r@2'), remove(CDS, 'a'), put(CDS, 'b'));
    expect(connect().request(CDS).next()).toEqual(['CDS b']);
  });

  test('of a cluster that a returning client still holds wait for its routes', () => {
    commit(put(CDS, 'b'), put(LDS, 'l'), put(RDS, 'r@2'));
    const client = connect().request(CDS, initial('a', 'b'));
    client.request(LDS, initial('l')).request(RDS, { subscribe: ['r'], ...initial('r') });
    expect(client.next()).toEqual(['CDS', 'LDS', 'RDS r']);
    clock.advance(1000);
    client.ack(CDS).ack(LDS);
    expect(client.next()).toEqual([]);
    client.ack(RDS);
    expect(client.next()).toEqual(['CDS -a']);
  });

  test('of a cluster reach a returning client that asks for nothing else after a second', () => {
    commit(put(CDS, 'b'));
    const client = connect().request(CDS, initial('a', 'b')).ack();
    expect(client.next()).toEqual(['CDS']);
    clock.advance(1000);
    expect(client.next()).toEqual(['CDS -a']);
  });

  test('of endpoints and secrets are not sent to a client that drops them by itself', () => {
    const client = synced();
    commit(put(RDS, 'r@2'), put(LDS, 'l@2'), remove(CDS, 'a'), remove(EDS, 'x'), remove(SDS, 's'));
    client.ack(LDS).ack(RDS).ack(CDS).unsubscribe(EDS, 'x').unsubscribe(SDS, 's');
    clock.advance(10_000);
    expect(client.next()).toEqual(['LDS l', 'RDS r', 'CDS -a']);
  });

  test('of endpoints wait until the removal of the cluster was accepted', () => {
    const client = synced();
    commit(put(RDS, 'r@2'), remove(CDS, 'a'), remove(EDS, 'x'));
    clock.advance(10_000);
    client.ack(RDS);
    expect(client.next()).toEqual(['RDS r', 'CDS -a']);
    client.ack(CDS);
    expect(client.next()).toEqual(['EDS -x']);
  });

  test('of endpoints are told at once to a client that asks', () => {
    const client = synced();
    commit(put(RDS, 'r@2'), remove(CDS, 'a'), remove(EDS, 'x'));
    client.subscribe(EDS, 'x');
    expect(client.next()).toEqual(['RDS r', 'EDS -x']);
    client.ack(EDS).ack(RDS).ack(CDS);
    clock.advance(10_000);
    expect(client.next()).toEqual(['CDS -a']);
  });

  test('of routes wait for listeners', () => {
    const client = synced();
    commit(put(LDS, 'l@2'), remove(RDS, 'r'));
    clock.advance(1000);
    expect(client.next()).toEqual(['LDS l']);
    client.ack(LDS);
    expect(client.next()).toEqual(['RDS -r']);
  });
});

describe('the first sync', () => {
  const limits = { maxResponseBytes: 1 };

  test('gives listeners and routes only after all clusters were accepted, however long it takes', () => {
    commit(put(CDS, 'a', 'b'), put(LDS, 'l'), put(RDS, 'r'));
    const client = connect({ limits }).request(CDS).request(LDS).subscribe(RDS, 'r');
    clock.advance(500);
    client.ack();
    clock.advance(20_000);
    expect(client.next()).toEqual(['CDS a', 'CDS b']);
    client.ack();
    expect(client.next()).toEqual(['LDS l', 'RDS r']);
    expect(gateTimeouts(client)).toBe(0);
  });

  test('does not wait for ever', () => {
    commit(put(CDS, 'a'), put(LDS, 'l'));
    const client = connect().request(CDS).request(LDS);
    clock.advance(60_000);
    expect(client.next()).toEqual(['CDS a', 'LDS l']);
  });

  test('gives endpoints between the chunks of clusters', () => {
    commit(put(CDS, 'a>x', 'b'), put(EDS, 'x'));
    const client = connect({ limits }).request(CDS).subscribe(EDS, 'x');
    expect(client.next()).toEqual(['CDS a', 'EDS x']);
  });

  test('of a returning client whose clusters wait: routes stay back until it has asked for clusters', () => {
    commit(put(CDS, 'a', 'b'), put(RDS, 'r@2'));
    const client = connect().request(RDS, { subscribe: ['r'], ...initial('r') });
    expect(client.next()).toEqual([]);
    client.request(CDS, initial('a'));
    expect(client.next()).toEqual(['CDS b']);
    client.ack();
    expect(client.next()).toEqual(['RDS r']);
  });
});

describe('sizes', () => {
  test('responses are split before they become larger than the limit, and a larger resource goes alone', () => {
    const large = (name: string) => resource(name, '1', { bytes: () => Buffer.alloc(300_000) });
    const huge = resource('huge', '1', { bytes: () => Buffer.alloc(3_000_000) });
    const changes = [large('a'), large('b'), huge, ...put(EDS, 'c', 'd').map((change) => change.resource)];
    commit(changes.flatMap((one) => (one ? [{ typeUrl: EDS, name: one.name, resource: one }] : [])));
    const client = connect({ acknowledges: true }).subscribe(EDS, '*');
    expect(client.next()).toEqual(['EDS a', 'EDS b', 'EDS huge', 'EDS c d']);
  });

  test('every version is encoded once for all streams, and only if somebody wants it', () => {
    let encodes = 0;
    const counting = (version: string) => ({
      typeUrl: CDS,
      name: 'a',
      resource: resource('a', version, { bytes: () => Buffer.from(String(++encodes)) }),
    });
    commit([counting('1')]);
    expect(encodes).toBe(0);
    const clients = [connect({ acknowledges: true }), connect({ acknowledges: true })];
    for (const client of clients) client.request(CDS);
    commit([counting('1')]);
    connect().request(CDS);
    expect(encodes).toBe(1);
    commit([counting('2')]);
    expect(encodes).toBe(2);
    expect(clients.map((client) => client.next())).toEqual([
      ['CDS a', 'CDS a'],
      ['CDS a', 'CDS a'],
    ]);
  });
});

describe('progress', () => {
  const programmed = (client: Client) =>
    client.events.flatMap((event) => (event.kind === 'programmed' ? [event.seq] : []));

  test('is told when every type was accepted', () => {
    const client = synced();
    expect(programmed(client)).toEqual([1]);
    commit(put(CDS, 'b'), put(RDS, 'r@2'));
    client.ack(CDS);
    expect(client.stream.programmedSeq).toBe(1);
    client.ack(RDS);
    expect(programmed(client)).toEqual([1, 2]);
  });

  test('goes on with what a stream has no interest in', () => {
    const client = synced();
    commit(put(EDS, 'other'));
    expect(client.stream.programmedSeq).toBe(2);
  });

  test('does not stop at a rejected resource, but waits until it stands alone', () => {
    const client = synced();
    commit(put(RDS, 'r@2'));
    client.nack();
    commit(put(EDS, 'x@2'));
    client.ack();
    expect(programmed(client)).toEqual([1, 2, 3]);
    commit(put(CDS, 'a@2>x', 'b@2'));
    client.nack(CDS).ack(CDS).ack(EDS);
    expect(programmed(client)).toEqual([1, 2, 3]);
    client.nack(CDS);
    expect(programmed(client)).toEqual([1, 2, 3, 4]);
  });

  test('is known under constant change', () => {
    const client = synced();
    commit(put(RDS, 'r@2'));
    commit(put(RDS, 'r@3'));
    client.ack();
    commit(put(RDS, 'r@4'));
    client.ack();
    expect(programmed(client)).toEqual([1, 2, 3]);
  });

  test('does not wait for removals that wait themselves', () => {
    const client = synced();
    commit(put(RDS, 'r@2'), remove(EDS, 'x'), remove(CDS, 'a'));
    client.ack();
    expect(client.stream.programmedSeq).toBeGreaterThanOrEqual(1);
    client.ack();
    expect(client.stream.programmedSeq).toBe(2);
  });
});
