/** The state-of-the-world variant, rule by rule, against a stream in memory. */
import protobuf from 'protobufjs';
import { beforeEach, describe, expect, test } from 'vitest';
import { SnapshotStore } from '../../src/xds/store.ts';
import { type AdsStream, createAdsStream } from '../../src/xds/stream.ts';
import { sotwVariant } from '../../src/xds/variant.ts';
import { CDS, EDS, LDS, put, RDS, remove, resource, SDS, SRDS, TestClock } from './support.ts';

/** Written down once more, independent of the codec under test. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Any { string type_url = 1; bytes value = 2; }
  message Response { string version_info = 1; repeated Any resources = 2; bool canary = 3; string type_url = 4; string nonce = 5; }
  message Node { string id = 1; }
  message Status { int32 code = 1; string message = 2; }
  message Request { string version_info = 1; Node node = 2; repeated string resource_names = 3; string type_url = 4;
    string response_nonce = 5; Status error_detail = 6; }
`);
const responseType = root.lookupType('Response');
const requestType = root.lookupType('Request');

interface Received {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly versionInfo: string;
  readonly resources: readonly string[];
}

let clock: TestClock;
let store: SnapshotStore;
let stream: AdsStream;
let received: Received[];
let status: { code: number } | undefined;
let seen: number;

beforeEach(() => {
  clock = new TestClock();
  store = new SnapshotStore();
  connect();
});

function connect(onlyType?: string): void {
  received = [];
  seen = 0;
  status = undefined;
  stream = createAdsStream({
    id: 1,
    store,
    clock,
    variant: sotwVariant,
    secretsAllowed: true,
    observe: () => {},
    ...(onlyType !== undefined && { onlyType }),
    close: (ended) => {
      status = ended;
    },
    send: (bytes, done) => {
      const { resources, ...rest } = responseType.toObject(responseType.decode(bytes), { defaults: true });
      const bodies = resources.map(({ value }: { value: Buffer }) => Buffer.from(value).toString());
      received.push({ ...rest, resources: bodies } as Received);
      clock.soon(done);
    },
  });
}

function commit(...changes: Parameters<SnapshotStore['commit']>[0][]): void {
  store.commit(changes.flat());
  clock.run();
}

/** A request that says which names are wanted, and answers the response of that nonce. */
function ask(typeUrl: string, names: readonly string[], nonce = '', error?: { code: number; message: string }): void {
  const request = { typeUrl, resourceNames: names, responseNonce: nonce, ...(error && { errorDetail: error }) };
  stream.receive(sotwVariant.decode(requestType.encode(requestType.fromObject(request)).finish(), true));
  clock.run();
}

function lastNonce(typeUrl: string): string {
  return received.findLast((response) => response.typeUrl === typeUrl)?.nonce ?? '';
}

/** Accepts the last response of the type and goes on asking for these names. */
function accept(typeUrl: string, names: readonly string[]): void {
  ask(typeUrl, names, lastNonce(typeUrl));
}

/** The resources of each response since the last call, sorted. */
function next(): readonly (readonly string[])[] {
  const responses = received.slice(seen);
  seen = received.length;
  return responses.map(({ resources }) => resources.toSorted());
}

describe('what a request asks for', () => {
  test.each([CDS, LDS, SRDS])('%s: no names mean everything', (typeUrl) => {
    commit(put(typeUrl, 'b', 'a'));
    ask(typeUrl, []);
    expect(next()).toEqual([['a@1', 'b@1']]);
  });

  test.each([EDS, RDS, SDS])('%s: no names mean nothing', (typeUrl) => {
    commit(put(typeUrl, 'a'));
    ask(typeUrl, []);
    expect(next()).toEqual([]);
  });

  test('after any name, no names mean nothing, also for clusters', () => {
    commit(put(CDS, 'a', 'b'));
    ask(CDS, ['a']);
    expect(next()).toEqual([['a@1']]);
    accept(CDS, []);
    commit(put(CDS, 'a@2'));
    expect(next()).toEqual([]);
  });

  test('an empty name is no name, but ends the wildcard', () => {
    commit(put(CDS, 'a'));
    ask(CDS, []);
    expect(next()).toEqual([['a@1']]);
    accept(CDS, ['']);
    commit(put(CDS, 'a@2'));
    expect(next()).toEqual([]);
  });

  test('a star means everything, of any type, beside other names', () => {
    commit(put(RDS, 'a', 'b'));
    ask(RDS, ['*', 'a']);
    expect(next().flat().toSorted()).toEqual(['a@1', 'b@1']);
    accept(RDS, ['a']);
    commit(put(RDS, 'a@2', 'b@2'));
    expect(next()).toEqual([['a@2']]);
  });

  test('added names are answered, also those that were sent before; missing ones when they come', () => {
    commit(put(EDS, 'a', 'b'));
    ask(EDS, ['a']);
    expect(next()).toEqual([['a@1']]);
    accept(EDS, ['b', 'missing']);
    expect(next()).toEqual([['b@1']]);
    accept(EDS, ['a', 'b', 'missing']);
    expect(next()).toEqual([['a@1']]);
    accept(EDS, ['a', 'b', 'missing']);
    expect(next()).toEqual([]);
    commit(put(EDS, 'missing'));
    expect(next()).toEqual([['missing@1']]);
  });

  test('nothing is answered before the first commit; then even an empty snapshot is', () => {
    ask(CDS, []);
    expect(next()).toEqual([]);
    commit();
    expect(next()).toEqual([[]]);
  });
});

describe('what a response holds', () => {
  test('all clusters, sorted, when one changes or goes', () => {
    commit(put(CDS, 'a', 'b', 'c'));
    ask(CDS, []);
    accept(CDS, []);
    next();
    commit(put(CDS, 'b@2'));
    expect(next()).toEqual([['a@1', 'b@2', 'c@1']]);
    accept(CDS, []);
    commit(remove(CDS, 'a'));
    expect(next()).toEqual([['b@2', 'c@1']]);
  });

  test('of other types what is new only, in parts if it is much', () => {
    commit(put(EDS, 'a', 'b'));
    ask(EDS, ['a', 'b']);
    accept(EDS, ['a', 'b']);
    next();
    commit(put(EDS, 'b@2'));
    expect(next()).toEqual([['b@2']]);
    accept(EDS, ['a', 'b']);
    commit(remove(EDS, 'a'));
    expect(next()).toEqual([]);
  });

  test('a version that equal content has on every server', () => {
    commit(put(CDS, 'a', 'b'));
    ask(CDS, []);
    const [first] = received;
    store = new SnapshotStore();
    connect();
    commit(put(CDS, 'b'));
    commit(put(CDS, 'a'));
    ask(CDS, []);
    expect(received[0]).toEqual(first);
  });
});

describe('replies', () => {
  test('a rejected response is not repeated until something changes', () => {
    commit(put(LDS, 'a'));
    ask(LDS, []);
    next();
    ask(LDS, [], lastNonce(LDS), { code: 13, message: 'no' });
    clock.advance(60_000);
    expect(next()).toEqual([]);
    commit(put(LDS, 'a@2'));
    expect(next()).toEqual([['a@2']]);
  });

  test('what answers an older response says nothing about names', () => {
    commit(put(EDS, 'a', 'b'));
    ask(EDS, ['a']);
    const old = lastNonce(EDS);
    accept(EDS, ['a']);
    commit(put(EDS, 'a@2'));
    next();
    ask(EDS, ['b'], old);
    ask(EDS, ['b'], 'made up');
    expect(next()).toEqual([]);
    accept(EDS, ['a', 'b']);
    expect(next()).toEqual([['b@1']]);
  });

  test('one response of a type is under way, and then the latest state', () => {
    commit(put(RDS, 'a'));
    ask(RDS, ['a']);
    next();
    for (const version of ['2', '3', '4']) commit(put(RDS, `a@${version}`));
    expect(next()).toEqual([]);
    accept(RDS, ['a']);
    expect(next()).toEqual([['a@4']]);
  });
});

describe('make before break', () => {
  /** A proxy that holds two clusters, with endpoints, and routes. */
  function synced(): void {
    commit(put(CDS, 'a>a', 'b>b'), put(EDS, 'a', 'b'), put(LDS, 'l'), put(RDS, 'r'));
    ask(CDS, []);
    ask(EDS, ['a', 'b']);
    accept(EDS, ['a', 'b']);
    accept(CDS, []);
    ask(LDS, []);
    accept(LDS, []);
    ask(RDS, ['r']);
    accept(RDS, ['r']);
    next();
  }

  test('a cluster that is gone is repeated until the routes without it are accepted', () => {
    synced();
    commit(remove(CDS, 'a'), remove(EDS, 'a'), put(RDS, 'r@2'));
    expect(next()).toEqual([['r@2']]);
    commit(put(CDS, 'b@2>b'));
    expect(next()).toEqual([['a@1', 'b@2'], ['b@1']]);
    accept(CDS, []);
    accept(EDS, ['a', 'b']);
    expect(next()).toEqual([]);
    accept(RDS, ['r']);
    expect(next()).toEqual([['b@2']]);
  });

  test('routes that are gone, of which nothing can be told, hold up no cluster', () => {
    synced();
    commit(remove(RDS, 'r'), put(LDS, 'l@2'), remove(CDS, 'a'));
    expect(next()).toEqual([['l@2']]);
    accept(LDS, []);
    expect(next()).toEqual([['b@1']]);
  });

  test('endpoints follow a cluster that was added or changed, and no other', () => {
    synced();
    commit(put(CDS, 'b@2>b'));
    expect(next()).toEqual([['a@1', 'b@2'], ['b@1']]);
  });

  test('routes wait for the clusters that come with them', () => {
    synced();
    commit(put(CDS, 'c'), put(RDS, 'r@2'));
    expect(next()).toEqual([['a@1', 'b@1', 'c@1']]);
    accept(CDS, []);
    expect(next()).toEqual([['r@2']]);
  });
});

describe('make before break of a listener that leads to a cluster by itself', () => {
  const leading = (version: string, cluster: string) => [
    { typeUrl: LDS, name: 'tcp', resource: resource('tcp', version, { cluster }) },
  ];

  test('it is left out until its cluster is accepted, and repeated as it was while it may not change', () => {
    commit(put(CDS, 'a'), put(LDS, 'l'));
    ask(CDS, []);
    accept(CDS, []);
    ask(LDS, []);
    accept(LDS, []);
    next();
    commit(put(CDS, 'b'), leading('1', 'b'), put(LDS, 'l@2'));
    expect(next()).toEqual([['a@1', 'b@1'], ['l@2']]);
    accept(LDS, []);
    expect(next()).toEqual([]);
    accept(CDS, []);
    expect(next()).toEqual([['l@2', 'tcp@1']]);
    accept(LDS, []);
    commit(put(CDS, 'c'), leading('2', 'c'), put(LDS, 'l@3'));
    expect(next()).toEqual([
      ['a@1', 'b@1', 'c@1'],
      ['l@3', 'tcp@1'],
    ]);
    accept(LDS, []);
    accept(CDS, []);
    expect(next()).toEqual([['l@3', 'tcp@2']]);
  });
});

describe('a service of one type', () => {
  test('need not be told the type, and refuses another', () => {
    connect(CDS);
    commit(put(CDS, 'a'), put(LDS, 'l'));
    ask('', []);
    expect(next()).toEqual([['a@1']]);
    ask(LDS, []);
    expect(status?.code).toBe(3);
  });
});

test('a client that says nothing more gets what needs no reply, and the stream ends well', () => {
  commit(put(CDS, 'a'));
  ask(CDS, []);
  stream.endInput();
  clock.run();
  expect(next()).toEqual([['a@1']]);
  expect(status?.code).toBe(0);
});
