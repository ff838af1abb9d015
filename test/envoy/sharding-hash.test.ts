/** The key that Envoy computes of a request's host is the one that the control plane computes. */
import { type ClientHttp2Session, connect as http2Connect } from 'node:http2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encode } from '../../src/envoy/codec.ts';
import { hostKey, KEYS } from '../../src/envoy/parity-hash.ts';
import { SHARD_HEADER, shardMutations } from '../../src/envoy/scoped-routes.ts';
import { families } from '../support/host-families.ts';
import { sendRaw } from '../support/http-client.ts';
import { freePorts, type StaticEnvoy, startStaticEnvoy } from '../support/static-envoy.ts';

let port: number;
let envoy: StaticEnvoy;

beforeAll(async () => {
  [port = 0] = await freePorts(1);
  const bytes = encode('envoy.config.listener.v3.Listener', {
    name: 'http',
    address: { socket_address: { address: '127.0.0.1', port_value: port } },
    filter_chains: [{ filters: [{ name: 'http', typed_config: answerKey() }] }],
  });
  const typeUrl = 'type.googleapis.com/envoy.config.listener.v3.Listener';
  envoy = await startStaticEnvoy([{ typeUrl, name: 'http', bytes: () => bytes }]);
});
afterAll(() => envoy?.stop());

/** Every request is answered with the key of its host. */
function answerKey() {
  return {
    '@type': 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    stat_prefix: 'http',
    early_header_mutation_extensions: [
      {
        name: 'shard',
        typed_config: {
          '@type': 'type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation',
          mutations: shardMutations('http'),
        },
      },
    ],
    route_config: {
      virtual_hosts: [
        {
          name: 'all',
          domains: ['*'],
          response_headers_to_add: [{ header: { key: 'x-key', value: `%REQ(${SHARD_HEADER})%` } }],
          routes: [{ match: { prefix: '/' }, direct_response: { status: 200 } }],
        },
      ],
    },
    http_filters: [
      {
        name: 'router',
        typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' },
      },
    ],
  } as const;
}

/** The keys of the hosts, in their order; requests of HTTP/2 over one connection, many at a time. */
async function keysOf(hosts: readonly string[]): Promise<string[]> {
  const session = http2Connect(`http://127.0.0.1:${port}`);
  try {
    return await Promise.all(hosts.map((host) => keyOf(session, host)));
  } finally {
    session.close();
  }
}

function keyOf(session: ClientHttp2Session, host: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const stream = session.request({ ':path': '/', ':authority': host, [SHARD_HEADER]: 'forged' });
  stream.on('response', (headers) => resolve(String(headers['x-key'])));
  stream.on('error', reject);
  stream.resume();
  stream.end();
  return promise;
}

/** Shows the hosts that differ, not all of them. */
function expectKeys(hosts: readonly string[], keys: readonly string[]): void {
  const expected = hosts.map((host) => `http-${hostKey(host.toLowerCase())}`);
  const different = hosts.flatMap((host, index) =>
    keys[index] === expected[index] ? [] : [`${host}: ${keys[index]}, not ${expected[index]}`],
  );
  expect(different.slice(0, 10)).toEqual([]);
  expect(keys.length).toBe(hosts.length);
}

/** A small generator of numbers, so that a failure can be seen again. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Of every length up to the longest that DNS has, with characters that hosts have and some that they seldom have. */
function oddHosts(count: number): string[] {
  const random = createRandom(7);
  const characters = [...'abcdefghijklmnopqrstuvwxyz0123456789', ...'ABCXYZ', ...'-._-._', ...'~!$&()*+,;='];
  return Array.from({ length: count }, (_, index) => {
    const length = 1 + (index % 253);
    const name = Array.from({ length }, () => characters[random(characters.length)]).join('');
    return random(3) === 0 ? `${name}:${random(65_536)}` : name;
  });
}

const literals = [
  '127.0.0.1',
  '10.0.0.255:8080',
  '[::1]',
  '[::1]:8080',
  '[2001:db8::17]:443',
  'localhost',
  'a',
  '0',
  '_',
];

test('for hosts of every family, written in several ways', async () => {
  const hosts = [...families(300).values()].flat();
  const written = hosts.flatMap((host) => [host, host.toUpperCase(), `${host}:8443`, `${host}.`]);
  const all = [...written, ...literals];
  const keys = await keysOf(all);
  expect(all.length).toBeGreaterThan(5_000);
  expectKeys(all, keys);
});

test('for 5,000 odd hosts', async () => {
  const hosts = oddHosts(5_000);
  const keys = await keysOf(hosts);
  expectKeys(hosts, keys);
});

test.each([`a'b`, 'a"b', '%41', '%', 'a\\b', `'`, 'é.example.com', 'a,b', '-', ':', ''])(
  'a request for %j has a key that there is a scope for, whatever the client says',
  async (host) => {
    const headers = `Host: ${host}\r\n${SHARD_HEADER}: forged\r\nConnection: close`;
    const answer = await sendRaw(port, `GET / HTTP/1.1\r\n${headers}\r\n\r\n`);
    if (answer.startsWith('HTTP/1.1 400')) return;
    const [, key] = /^x-key: http-(\d{1,3})\r$/m.exec(answer) ?? [];
    expect(Number(key)).toBeLessThan(KEYS);
  },
);
