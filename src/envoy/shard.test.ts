import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Engine } from '../derive.ts';
import type { VirtualHost } from '../model/proxy-model.ts';
import { hostKey, KEYS } from './parity-hash.ts';
import { deriveShards, isInShard, keysOf, LAYOUT, type Shard, shardName, shardsOf } from './shard.ts';
import { respond, host as virtualHost } from './testing.ts';

const counts = fc.record({
  byKey: fc.array(fc.nat({ max: 200 }), { minLength: KEYS, maxLength: KEYS }),
  everywhere: fc.nat({ max: 2000 }),
});

function hostsIn({ byKey }: { readonly byKey: readonly number[] }, shard: Shard): number {
  return keysOf(shard).reduce((sum, key) => sum + byKey[key]!, 0);
}

const even = (hosts: number) => Array.from({ length: KEYS }, (_, key) => Math.floor((hosts + key) / KEYS));

describe('shards', () => {
  test('cover every key once, in order', () => {
    fc.assert(
      fc.property(counts, (hosts) => {
        expect(shardsOf(hosts).flatMap(keysOf)).toEqual(Array.from({ length: KEYS }, (_, key) => key));
      }),
    );
  });

  test.each([
    [0, 1],
    [128, 1],
    [129, 2],
    [1_000, 8],
    [5_000, 64],
    [20_000, 256],
    [50_000, 256],
  ])('%i hosts that are spread evenly are in %i shards', (hosts, shards) => {
    expect(shardsOf({ byKey: even(hosts), everywhere: 1 }).length).toBe(shards);
  });

  test('hold 128 hosts at most, unless all of them have one key; two neighbours never fit into one', () => {
    fc.assert(
      fc.property(counts, ({ byKey }) => {
        const shards = shardsOf({ byKey, everywhere: 1 });
        for (const shard of shards) {
          if (shard.first !== shard.last) expect(hostsIn({ byKey }, shard)).toBeLessThanOrEqual(128);
        }
        shards.forEach((shard, index) => {
          const next = shards[index + 1];
          const size = shard.last - shard.first + 1;
          if (next === undefined || next.last - next.first + 1 !== size || shard.first % (2 * size) !== 0) return;
          expect(hostsIn({ byKey }, shard) + hostsIn({ byKey }, next)).toBeGreaterThan(128);
        });
      }),
    );
  });

  test('one host more or less divides or joins one range, and leaves the others alone', () => {
    fc.assert(
      fc.property(counts, fc.nat({ max: KEYS - 1 }), ({ byKey }, key) => {
        const more = byKey.map((count, index) => (index === key ? count + 1 : count));
        const names = (hosts: readonly number[]) =>
          new Set(shardsOf({ byKey: hosts, everywhere: 1 }).map((shard) => shardName('https', shard)));
        const [before, after] = [names(byKey), names(more)];
        const gone = [...before].filter((name) => !after.has(name));
        expect(gone.length).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('together hold three times the hosts at most, however many stand in each of them', () => {
    fc.assert(
      fc.property(fc.nat({ max: 30_000 }), fc.nat({ max: 5_000 }), (hosts, everywhere) => {
        const shards = shardsOf({ byKey: even(hosts), everywhere });
        const held = hosts + shards.length * everywhere;
        expect(held).toBeLessThanOrEqual(3 * hosts + 2 * everywhere + 2 * KEYS);
      }),
    );
  });
});

describe('a host', () => {
  test('is in the one shard of its key', () => {
    const shards = shardsOf({ byKey: even(20_000), everywhere: 1 });
    const holding = shards.filter((shard) => isInShard('shop.example.com', shard));
    expect(holding.map((shard) => shardName('https', shard))).toEqual([`https/${hostKey('shop.example.com')}`]);
  });

  test.each(['*', '*.example.com'])('%s is in every shard', (host) => {
    expect(shardsOf({ byKey: even(20_000), everywhere: 2 }).every((shard) => isInShard(host, shard))).toBe(true);
  });
});

test('names tell the range', () => {
  expect(shardName('https', { first: 0, last: 255 })).toBe('https/0-255');
  expect(shardName('http', { first: 17, last: 17 })).toBe('http/17');
});

test('the layout depends on the set of hosts, not on what they hold or how they came', () => {
  const engine = new Engine();
  const hosts = engine.input<VirtualHost>('host');
  const shards = deriveShards(engine, hosts);
  for (let index = 0; index < 300; index++) hosts.set(`h${index}.example.com`, virtualHost(`h${index}.example.com`));
  engine.pass();
  const three = shards.get(LAYOUT);
  expect(three?.length).toBeGreaterThan(1);
  hosts.set('h1.example.com', virtualHost('h1.example.com', respond('/', 404)));
  expect([...engine.pass().of(shards)]).toEqual([]);
  for (let index = 300; index < 3000; index++) hosts.set(`h${index}.example.com`, virtualHost(`h${index}.example.com`));
  engine.pass();
  for (let index = 300; index < 3000; index++) hosts.set(`h${index}.example.com`, undefined);
  engine.pass();
  expect(shards.get(LAYOUT)).toEqual(three);
});
