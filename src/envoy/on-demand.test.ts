import { beforeAll, expect, test } from 'vitest';
import { Engine } from '../derive.ts';
import type { envoy_config_listener_v3_Listener as ListenerMessage } from '../gen/messages.ts';
import { DEFAULT_CERTIFICATE, ON_DEMAND, PrivateKey, type ServerName } from '../model/proxy-model.ts';
import { decode, setStrict } from './codec.ts';
import { createEmitter } from './emit.ts';
import { type EncodedResource, typeUrls } from './resource.ts';
import { createTestModel } from './testing.ts';
import { createEncoder } from './wire-encoder.ts';

beforeAll(() => setStrict(true));

const SECRET = 'envoy.extensions.transport_sockets.tls.v3.Secret';

function certificate(name: string, key = 'key') {
  return { name, chain: Buffer.from(`chain of ${name}`), key: new PrivateKey(key), dnsNames: [], notAfter: 0 };
}

/** `own.example.com` has a certificate of its own, two hosts have the default; a wildcard has a chain. */
function setUp(serverNames: readonly ServerName[] = [{ name: '*.wild.example.com', certificate: 'shop/wild' }]) {
  const engine = new Engine();
  const model = createTestModel(engine);
  const emitter = createEmitter(engine, model, { ipv6: true }, createEncoder());
  model.listeners.set('https', { name: 'https', port: 443, serverNames, onDemand: true });
  for (const name of [DEFAULT_CERTIFICATE, 'shop/own', 'shop/wild']) model.certificates.set(name, certificate(name));
  model.onDemandNames.set('own.example.com', 'shop/own');
  model.onDemandNames.set('one.example.com', DEFAULT_CERTIFICATE);
  model.onDemandNames.set('two.example.com', DEFAULT_CERTIFICATE);
  expect(engine.pass().failures).toEqual([]);
  const tablesOf = (type: keyof typeof typeUrls) =>
    emitter.resources.filter(({ typeUrl }) => typeUrl === typeUrls[type]).map(({ table }) => table);
  return {
    engine,
    model,
    emitter,
    secretNames: () =>
      tablesOf('secret')
        .flatMap((table) => [...table.keys()])
        .toSorted(),
    secret: (name: string): EncodedResource | undefined =>
      tablesOf('secret')
        .map((table) => table.get(name))
        .find((found) => found !== undefined),
    listener: (): ListenerMessage =>
      decode('envoy.config.listener.v3.Listener', tablesOf('listener')[0]!.get('https')!.bytes()),
  };
}

test('secrets are those that chains name, and one for each server name that is looked up', () => {
  expect(setUp().secretNames()).toEqual([
    DEFAULT_CERTIFICATE,
    'one.example.com',
    'own.example.com',
    'shop/wild',
    'two.example.com',
  ]);
});

test('a secret carries the name that it is asked for by, in any spelling', () => {
  const secret = setUp().secret('own.example.com');
  const { name, tls_certificate: pair } = decode(SECRET, secret?.bytes() ?? new Uint8Array());
  expect(name).toBe('own.example.com');
  expect(Buffer.from(pair?.certificate_chain?.inline_bytes ?? []).toString()).toBe('chain of shop/own');
  const spelled = decode(SECRET, secret?.bytesAs?.('OWN.example.com') ?? new Uint8Array());
  expect(spelled).toEqual({ name: 'OWN.example.com', tls_certificate: pair });
});

test('a pair is encoded once, whatever names lead to it, and a rotated one gives each of them a new version', () => {
  const { engine, model, emitter, secret } = setUp();
  const versions = () => ['one.example.com', 'two.example.com', 'own.example.com'].map((name) => secret(name)?.version);
  const [one, two, own] = versions();
  const before = emitter.counters()['Secret'] ?? 0;
  model.certificates.set(DEFAULT_CERTIFICATE, certificate(DEFAULT_CERTIFICATE, 'other key'));
  engine.pass();
  // For the chain, and for all names.
  expect(emitter.counters()['Secret']).toBe(before + 2);
  const [oneNow, twoNow, ownNow] = versions();
  expect([oneNow === one, twoNow === two, ownNow === own]).toEqual([false, false, true]);
});

test('a secret goes with its name, and with its certificate', () => {
  const { engine, model, secretNames } = setUp();
  model.onDemandNames.set('one.example.com', undefined);
  model.certificates.set('shop/own', undefined);
  engine.pass();
  expect(secretNames()).toEqual([DEFAULT_CERTIFICATE, 'shop/wild', 'two.example.com']);
});

test('the listener looks up what it does not know, and has that chain by name only where a name leads to it', () => {
  const names = (message: ListenerMessage) => message.filter_chains?.map(({ name }) => name);
  expect(names(setUp().listener())).toEqual([DEFAULT_CERTIFICATE, 'shop/wild']);
  const { listener } = setUp([{ name: 'own.example.com', certificate: ON_DEMAND }]);
  expect(names(listener())).toEqual([DEFAULT_CERTIFICATE, ON_DEMAND]);
  expect(listener().default_filter_chain?.transport_socket).toEqual(listener().filter_chains?.[1]?.transport_socket);
});

test('a secret says whose it is, also when the same certificate comes to be that of another namespace', () => {
  const { engine, model, secret } = setUp();
  const { chain, key } = certificate('shop/own');
  model.certificates.set('blog/own', { ...certificate('blog/own'), chain, key });
  engine.pass();
  const namespaces = (...names: string[]) => names.map((name) => secret(name)?.namespace);
  expect(namespaces(DEFAULT_CERTIFICATE, 'one.example.com', 'own.example.com', 'shop/wild')).toEqual([
    '*',
    '*',
    'shop',
    'shop',
  ]);
  const before = secret('own.example.com');
  model.onDemandNames.set('own.example.com', 'blog/own');
  engine.pass();
  const after = secret('own.example.com');
  expect([after?.namespace, after?.bytes()]).toEqual(['blog', before?.bytes()]);
  expect(after?.version).not.toBe(before?.version);
});
