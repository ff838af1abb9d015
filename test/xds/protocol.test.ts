/** The rules of the delta protocol for one type, one test each. Clusters stand for wildcard types, endpoints for named ones. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { ResourceChange } from '../../src/xds/resource.ts';
import { SnapshotStore } from '../../src/xds/store.ts';
import { CDS, Client, type ClientOptions, EDS, LDS, put, RDS, remove, SDS, SRDS, TestClock } from './support.ts';

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

const versions = (entries: Record<string, string>) => ({ initialVersions: new Map(Object.entries(entries)) });

describe('subscriptions', () => {
  test.each([CDS, LDS, SRDS])('a first request without names means everything: %s', (typeUrl) => {
    commit(put(typeUrl, 'a', 'b'));
    const client = connect().request(typeUrl);
    expect(client.names(typeUrl)).toEqual(['a', 'b']);
  });

  test.each([EDS, RDS, SDS])('a first request without names means nothing for a named type: %s', (typeUrl) => {
    commit(put(typeUrl, 'a'));
    expect(connect().request(typeUrl).next()).toEqual([]);
  });

  test('a wildcard is answered even when there is nothing', () => {
    commit();
    expect(connect().request(CDS).next()).toEqual(['CDS']);
  });

  test('a first request with names is no wildcard', () => {
    commit(put(CDS, 'a', 'b'));
    expect(connect().subscribe(CDS, 'a').next()).toEqual(['CDS a']);
  });

  test('an explicit wildcard works for any type', () => {
    commit(put(EDS, 'a', 'b'));
    expect(connect().subscribe(EDS, '*').next()).toEqual(['EDS a b']);
  });

  test('an explicit wildcard may come after names', () => {
    commit(put(CDS, 'a', 'b'));
    const client = connect().subscribe(CDS, 'a').ack();
    expect(client.subscribe(CDS, '*').next()).toEqual(['CDS a', 'CDS b']);
  });

  test('a wildcard asked for again is answered', () => {
    commit(put(CDS, 'a'));
    const client = connect().request(CDS).ack();
    expect(client.subscribe(CDS, '*').next()).toEqual(['CDS a', 'CDS']);
  });

  test('names added later do not end the legacy wildcard', () => {
    commit(put(CDS, 'a'));
    const client = connect().request(CDS).ack().subscribe(CDS, 'x').ack();
    commit(put(CDS, 'b'));
    expect(client.next()).toEqual(['CDS a', 'CDS -x', 'CDS b']);
  });

  test.each([[[]], [['*']]])('unsubscribing * ends the wildcard, legacy or explicit: %j', (names) => {
    commit(put(CDS, 'a'));
    const client = connect()
      .subscribe(CDS, ...names)
      .ack()
      .unsubscribe(CDS, '*');
    commit(put(CDS, 'b', 'a@2'));
    expect(client.next()).toEqual(['CDS a']);
  });

  test('after the end of the wildcard, explicit names stay', () => {
    commit(put(CDS, 'a', 'b'));
    const client = connect().subscribe(CDS, '*', 'a').ack().unsubscribe(CDS, '*');
    commit(put(CDS, 'a@2', 'b@2'));
    expect(client.next()).toEqual(['CDS a b', 'CDS a']);
  });

  test('a name asked for again is sent again', () => {
    commit(put(EDS, 'a'));
    const client = connect().subscribe(EDS, 'a').ack().subscribe(EDS, 'a');
    expect(client.next()).toEqual(['EDS a', 'EDS a']);
  });

  test('a name that does not exist is told at once, and sent when it comes', () => {
    commit();
    const client = connect().subscribe(EDS, 'a').ack();
    expect(client.next()).toEqual(['EDS -a']);
    commit(put(EDS, 'a'));
    expect(client.next()).toEqual(['EDS a']);
  });

  test('a removed resource keeps its subscription', () => {
    commit(put(LDS, 'a'));
    const client = connect().subscribe(LDS, 'a').ack();
    commit(remove(LDS, 'a'));
    client.ack();
    commit(put(LDS, 'a'));
    expect(client.next()).toEqual(['LDS a', 'LDS -a', 'LDS a']);
  });

  test('unsubscribing a name under a wildcard tells where it stands', () => {
    commit(put(CDS, 'a'));
    const client = connect().subscribe(CDS, '*', 'a', 'x').ack();
    client.unsubscribe(CDS, 'a', 'x');
    expect(client.next()).toEqual(['CDS a -x', 'CDS a -x']);
  });

  test('unsubscribing without a wildcard is silent, and so are unknown names', () => {
    commit(put(EDS, 'a'));
    const client = connect().subscribe(EDS, 'a').ack().unsubscribe(EDS, 'a', 'unknown');
    commit(put(EDS, 'a@2', 'unknown'));
    expect(client.next()).toEqual(['EDS a']);
  });

  test('a name in both lists ends up subscribed and is sent', () => {
    commit(put(EDS, 'a'));
    const client = connect().subscribe(EDS, 'a').ack();
    client.request(EDS, { subscribe: ['a'], unsubscribe: ['a'] });
    expect(client.next()).toEqual(['EDS a', 'EDS a']);
  });

  test('an empty name is no name, but no wildcard either', () => {
    commit(put(CDS, 'a'));
    expect(connect().subscribe(CDS, '').next()).toEqual([]);
  });

  test('what was unsubscribed before it was written is not sent', () => {
    commit(put(EDS, 'a', 'b'));
    const client = connect().subscribe(EDS, 'a', 'b');
    commit(put(EDS, 'a@2', 'b@2'));
    client.unsubscribe(EDS, 'a').ack();
    expect(client.next()).toEqual(['EDS a b', 'EDS b']);
  });

  test('a type that is unknown is answered', () => {
    commit();
    const client = connect()
      .subscribe('type.googleapis.com/unknown.Type', 'a')
      .request('type.googleapis.com/other.Type');
    expect(client.next()).toEqual(['type.googleapis.com/unknown.Type -a', 'type.googleapis.com/other.Type']);
  });

  test('types are independent', () => {
    commit(put(CDS, 'a'), put(EDS, 'a'));
    const client = connect().request(CDS).subscribe(EDS, 'a');
    expect(client.next()).toEqual(['CDS a', 'EDS a']);
  });
});

describe('replies', () => {
  test('an ACK is not answered', () => {
    commit(put(CDS, 'a'));
    expect(connect().request(CDS).ack().next()).toEqual(['CDS a']);
  });

  test('one response of a type is under way at a time, and the newest state follows', () => {
    commit(put(EDS, 'a'));
    const client = connect().subscribe(EDS, 'a');
    commit(put(EDS, 'a@2'));
    commit(put(EDS, 'a@3'));
    expect(client.next()).toEqual(['EDS a']);
    client.ack();
    expect(client.next()).toEqual(['EDS a']);
    expect(client.held.get(EDS)?.get('a')).toBe('3');
  });

  test('what was rejected alone is not sent again, before it changes', () => {
    commit(put(EDS, 'a', 'b'));
    const client = connect().subscribe(EDS, 'a').nack().subscribe(EDS, 'b').ack();
    commit(put(EDS, 'b@2'));
    client.ack();
    clock.advance(60_000);
    commit(put(EDS, 'a@2'));
    expect(client.next()).toEqual(['EDS a', 'EDS b', 'EDS b', 'EDS a']);
  });

  /** Rejects whatever holds one of these, as Envoy does: the rest of the response is lost with it. */
  function rejectAll(client: Client, ...bad: string[]): void {
    for (let [response] = client.waitingForReply; response !== undefined; [response] = client.waitingForReply) {
      if (response.resources.some(({ name }) => bad.includes(name))) client.nack();
      else client.ack();
    }
  }

  test('a rejected response is sent again in halves, until what is refused stands alone', () => {
    commit(put(SDS, 'a', 'bad', 'c', 'd', 'e'));
    const client = connect().subscribe(SDS, 'a', 'bad', 'c', 'd', 'e');
    rejectAll(client, 'bad');
    expect(client.next()).toEqual([
      'SDS a bad c d e',
      'SDS a bad c',
      'SDS d e',
      'SDS a bad',
      'SDS c',
      'SDS a',
      'SDS bad',
    ]);
    clock.advance(60_000);
    commit(put(SDS, 'a@2'));
    client.ack();
    commit(put(SDS, 'bad@2'));
    expect(client.next()).toEqual(['SDS a', 'SDS bad']);
    const nacks = client.events.filter((event) => event.kind === 'nack');
    expect(nacks.map(({ divided, resources }) => [resources.length, divided])).toEqual([
      [5, true],
      [3, true],
      [2, true],
      [1, false],
    ]);
  });

  test('what a rejected response removed is removed again; what has changed since comes once, as it is now', () => {
    commit(put(CDS, 'a', 'b', 'gone'));
    const client = connect().request(CDS).ack();
    commit(put(CDS, 'a@2', 'b@2'), remove(CDS, 'gone'));
    commit(put(CDS, 'a@3'));
    client.nack();
    expect(client.next()).toEqual(['CDS a b gone', 'CDS a b -gone', 'CDS b']);
    expect(client.stream.describe().types).toMatchObject([{ rejection: 'rejected' }]);
    client.ack().ack();
    expect(client.next()).toEqual(['CDS -gone', 'CDS a']);
  });

  test.each([CDS, LDS])('what Envoy names of %s is not sent again, and neither is the rest, which it took', (type) => {
    commit(put(type, 'a', 'b', 'c'));
    const client = connect().request(type).nack(type, 'Error adding/updating x(s) b: no, c: no');
    clock.advance(60_000);
    expect(client.next()).toHaveLength(1);
    const [nack] = client.events.filter((event) => event.kind === 'nack');
    expect(nack?.resources.map(({ name }) => name)).toEqual(['b', 'c']);
  });

  test('a NACK does not stop other types', () => {
    commit(put(CDS, 'a'), put(LDS, 'l'));
    const client = connect().request(CDS).nack().request(LDS);
    expect(client.next()).toEqual(['CDS a', 'LDS l']);
  });

  test('a NACK names what was rejected and who made it', () => {
    commit(put(LDS, 'a@7', 'b'));
    const client = connect().request(LDS);
    commit(put(LDS, 'b@2'));
    client.nack(LDS, 'no such filter');
    expect(client.events.filter(({ kind }) => kind === 'nack')).toMatchObject([
      {
        typeUrl: LDS,
        message: 'no such filter',
        code: 13,
        resources: [
          { name: 'a', version: '7', origin: ['ns/a'] },
          { name: 'b', version: '1', origin: [] },
        ],
      },
    ]);
  });

  test('an unknown nonce is no reply, but its changes count', () => {
    commit(put(EDS, 'a', 'b'));
    const client = connect().subscribe(EDS, 'a');
    client.request(EDS, { nonce: 'foreign', subscribe: ['b'] });
    client.request(EDS, { nonce: 'foreign', error: { code: 13, message: 'no' } });
    expect(client.next()).toEqual(['EDS a']);
    client.ack();
    expect(client.next()).toEqual(['EDS b']);
    expect(client.events.filter(({ kind }) => kind === 'nack')).toEqual([]);
  });

  test('a reply may come twice', () => {
    commit(put(EDS, 'a'));
    const client = connect().subscribe(EDS, 'a').ack();
    client.request(EDS, { nonce: '1', error: { code: 13, message: 'late' } });
    commit(put(EDS, 'a@2'));
    expect(client.next()).toEqual(['EDS a', 'EDS a']);
  });

  test('an ACK may carry a change', () => {
    commit(put(EDS, 'a', 'b'));
    const client = connect().subscribe(EDS, 'a');
    client.request(EDS, { nonce: '1', subscribe: ['b'] });
    expect(client.next()).toEqual(['EDS a', 'EDS b']);
  });

  test('nonces are unique on a stream', () => {
    commit(put(CDS, 'a'), put(LDS, 'l'));
    const client = connect({ acknowledges: true }).request(CDS).request(LDS);
    commit(put(CDS, 'a@2'), put(LDS, 'l@2'));
    expect(client.responses.map(({ nonce }) => nonce)).toEqual(['1', '2', '3', '4']);
  });
});

describe('coming back', () => {
  test('what is equal is not sent, what differs is, what is gone is removed, and a wildcard is answered', () => {
    commit(put(LDS, 'a', 'b@2', 'd'));
    const client = connect().request(LDS, versions({ a: '1', b: '1', c: '1' }));
    expect(client.next()).toEqual(['LDS b d -c']);
  });

  test('a wildcard that has everything gets an empty answer', () => {
    commit(put(CDS, 'a'));
    expect(
      connect()
        .request(CDS, versions({ a: '1' }))
        .next(),
    ).toEqual(['CDS']);
  });

  test('names that are equal need no answer, others do', () => {
    commit(put(EDS, 'a', 'b@2', 'c'));
    const client = connect().request(CDS).ack();
    client.request(EDS, { subscribe: ['a', 'b', 'c', 'd'], ...versions({ a: '1', b: '1', d: '1' }) });
    expect(client.next()).toEqual(['CDS', 'EDS c b -d']);
  });

  test('initial versions are no subscriptions', () => {
    commit(put(EDS, 'a', 'b@2'));
    const client = connect().request(CDS).ack();
    client.request(EDS, { subscribe: ['a'], ...versions({ a: '1', b: '1' }) });
    commit(put(EDS, 'b@3'), remove(EDS, 'b'));
    expect(client.next()).toEqual(['CDS']);
  });

  test('initial versions of what is not subscribed are forgotten', () => {
    commit(put(EDS, 'a', 'b'));
    const client = connect().request(CDS).ack();
    client.request(EDS, { subscribe: ['a'], ...versions({ a: '1', b: '1' }) }).subscribe(EDS, '*');
    expect(client.next()).toEqual(['CDS', 'EDS b']);
  });

  test('initial versions count in the first request of a type only', () => {
    commit(put(CDS, 'a'));
    const client = connect().request(CDS).ack();
    client.request(CDS, versions({ a: 'foreign', b: '1' }));
    expect(client.next()).toEqual(['CDS a']);
  });

  test('endpoints of clusters that were sent on this stream are sent, be they equal', () => {
    commit(put(CDS, 'a@2>x', 'b>y'), put(EDS, 'x', 'y'));
    const client = connect()
      .request(CDS, versions({ a: '1', b: '1' }))
      .ack();
    client.request(EDS, { subscribe: ['x', 'y'], ...versions({ x: '1', y: '1' }) });
    expect(client.next()).toEqual(['CDS a', 'EDS x']);
  });
});

describe('coming back while a cluster warms, which makes Envoy silent about clusters', () => {
  test('all endpoints are sent, be they equal, for the cluster waits for some of them', () => {
    commit(put(CDS, 'a>x'), put(EDS, 'x', 'y'));
    const client = connect().request(EDS, { subscribe: ['x', 'y'], ...versions({ x: '1', y: '1' }) });
    expect(client.next()).toEqual(['EDS x y']);
  });
});

describe('before and after', () => {
  test('nothing is answered before the first commit, not even absence', () => {
    const client = connect().request(CDS).subscribe(EDS, 'x');
    clock.advance(100_000);
    expect(client.next()).toEqual([]);
    commit(put(CDS, 'a'));
    expect(client.next()).toEqual(['CDS a', 'EDS -x']);
  });

  test('what a returning client holds is not removed before the first commit', () => {
    const client = connect().request(LDS, versions({ a: '1', b: '1' }));
    commit(put(LDS, 'a'));
    expect(client.next()).toEqual(['LDS -b']);
  });

  test('an equal commit sends nothing', () => {
    commit(put(CDS, 'a'));
    const client = connect({ acknowledges: true }).request(CDS);
    commit(put(CDS, 'a'), remove(CDS, 'unknown'));
    expect(client.next()).toEqual(['CDS a']);
  });

  test('what was added and removed before it could be sent is not mentioned', () => {
    commit(put(EDS, 'a'));
    const client = connect().subscribe(EDS, '*');
    commit(put(EDS, 'b'));
    commit(remove(EDS, 'b'));
    clock.advance(5000);
    expect(client.ack().next()).toEqual(['EDS a']);
  });

  test('a closed stream is silent and leaves nothing behind', () => {
    commit(put(CDS, 'a'));
    const client = connect().request(CDS);
    commit(put(CDS, 'a@2'));
    client.stream.close();
    commit(put(CDS, 'a@3'));
    client.request(CDS, { nonce: '1' });
    expect(client.next()).toEqual(['CDS a']);
    expect(clock.waiting).toBe(0);
  });

  test('a stream that finishes waits for the replies under way', () => {
    commit(put(CDS, 'a'));
    const client = connect().request(CDS);
    client.stream.finish();
    commit(put(CDS, 'a@2'));
    expect(client.status).toBeUndefined();
    client.ack();
    expect(client.status).toEqual({ code: 14, message: 'the control plane is shutting down' });
    expect(client.next()).toEqual(['CDS a']);
  });

  test('a stream that finishes before the first commit ends at once', () => {
    const client = connect().request(CDS);
    client.stream.finish();
    clock.run();
    expect(client.status?.code).toBe(14);
  });

  test('a client that does not read is dropped', () => {
    commit(put(CDS, 'a'));
    const client = connect();
    client.blocked = true;
    client.request(CDS);
    clock.advance(59_000);
    expect(client.status).toBeUndefined();
    clock.advance(2000);
    expect(client.status).toEqual({ code: 14, message: 'the client does not read' });
  });

  test('a stream that is closed in the middle of a write leaves nothing behind', () => {
    commit(put(CDS, 'a'));
    const client = connect();
    client.blocked = true;
    client.request(CDS);
    client.stream.close();
    expect(clock.waiting).toBe(0);
  });
});

describe('refusals', () => {
  test('a request without a type', () => {
    expect(connect().request('').status).toEqual({ code: 3, message: 'the request has no type_url' });
  });

  test.each([
    [{ major: 1, minor: 39, patch: 5 }, 'runs 1.39.5'],
    [{ major: 0, minor: 99, patch: 0 }, 'runs 0.99.0'],
    [undefined, 'does not tell its version'],
  ])('an Envoy that is too old: %j', (version, reason) => {
    const node = { id: 'gateway-1', cluster: '', userAgent: 'envoy', ...(version && { version }) };
    const client = connect().request(CDS, { node });
    expect(client.status?.code).toBe(9);
    expect(client.status?.message).toContain(`node gateway-1 ${reason}`);
  });

  test.each([
    { id: 'a', cluster: '', userAgent: 'envoy', version: { major: 2, minor: 0, patch: 0 } },
    { id: 'a', cluster: '', userAgent: 'envoy', version: { major: 1, minor: 40, patch: 0 } },
    { id: 'a', cluster: '', userAgent: 'grpcurl' },
  ])('other clients are served: %j', (node) => {
    commit(put(CDS, 'a'));
    expect(connect().request(CDS, { node }).next()).toEqual(['CDS a']);
  });

  test('who asks for secrets first, where they are not allowed', () => {
    commit(put(SDS, 's'));
    const client = connect({ secretsAllowed: false });
    client.subscribe(SDS, 's');
    expect(client.status?.code).toBe(7);
    expect(client.next()).toEqual([]);
  });

  test('who asks for other types first gets those; to it no secret exists, now and later', () => {
    commit(put(CDS, 'a'), put(SDS, 's'));
    const client = connect({ secretsAllowed: false, acknowledges: true }).request(CDS);
    expect(client.next()).toEqual(['CDS a']);
    client.subscribe(SDS, 's');
    expect(client.next()).toEqual(['SDS -s']);
    commit(put(SDS, 's@2'), put(CDS, 'a@2'));
    expect(client.next()).toEqual(['CDS a']);
    expect(client.status).toBeUndefined();
  });
});
