/** `--tls-on-demand`: which certificate a server name gets when certificates are looked up, through a real Envoy. */
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BuildOptions } from '../../src/ingress/build.ts';
import { typeUrls } from '../../src/xds/resource.ts';
import { createXdsServer } from '../../src/xds/server.ts';
import { MAX_SPELLINGS } from '../../src/xds/spellings.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { peerCertificate, send, sendHttp2 } from '../support/http-client.ts';
import { ingress, type Manifest, tlsSecret } from '../support/manifests.ts';
import { makePair, type Pair } from '../support/pki.ts';
import { type Services, soon, startServices } from './behaviour/cases.ts';

/** The common name of the certificate that is generated at start. */
const GENERATED = 'ingress.local';
const REFUSED = 'refused';

let services: Services;
let gateway: Gateway;

beforeAll(async () => {
  services = await startServices('web');
  gateway = await start([
    ...(await site('own.example.com')),
    ...(await site('*.wild.example.com', { hosts: ['a.wild.example.com'] })),
    ...(await site('under.wild.example.com')),
    tlsSecret('multi', await makePair(['one.example.com', 'two.example.com', '*.multi.example.com'])),
    host('one.example.com', 'multi'),
    host('plain.example.com'),
    host('missing.example.com', 'nowhere'),
    host('plain.wild.example.com', 'nowhere'),
    host('*.claimed.example.com'),
    ...(await site('under.claimed.example.com')),
  ]);
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

function start(manifests: readonly Manifest[], build: Partial<BuildOptions> = {}): Promise<Gateway> {
  return startGateway({ build: { tlsOnDemand: true, ...build }, manifests: [...services.manifests, ...manifests] });
}

/** An Ingress for one host; `secretName` in its `spec.tls`. */
function host(name: string, secretName?: string): Manifest {
  return ingress({
    name: objectName(name),
    rules: [{ host: name, paths: [{ path: '/' }] }],
    ...(secretName !== undefined && { tls: [{ hosts: [name], secretName }] }),
  });
}

/** A certificate for this name, and an Ingress for each of the hosts that show it. */
async function site(
  name: string,
  { hosts = [name], pair }: { hosts?: string[]; pair?: Pair } = {},
): Promise<Manifest[]> {
  const secretName = objectName(name);
  return [tlsSecret(secretName, pair ?? (await makePair([name]))), ...hosts.map((one) => host(one, secretName))];
}

function objectName(host: string): string {
  return host.replace('*', 'any').replaceAll('.', '-');
}

/** The common name of the certificate that a server name gets. */
async function nameFor(serverName: string, { httpsPort } = gateway): Promise<string> {
  try {
    const { subject } = await peerCertificate(httpsPort, serverName);
    return String(subject.CN);
  } catch (error) {
    if ((error as Error).message.includes('alert handshake failure')) return REFUSED;
    throw error;
  }
}

const listeners = ({ events }: Gateway) =>
  events.filter((event) => event.kind === 'response' && event.typeUrl === typeUrls.listener).length;

const secretsAskedFor = ({ server }: Gateway) => server.streams()[0]?.subscribed(typeUrls.secret);

describe('a server name gets', () => {
  test.each([
    ['own.example.com', 'own.example.com'],
    ['OWN.Example.COM', 'own.example.com'],
    ['a.wild.example.com', '*.wild.example.com'],
    ['B.wild.example.com', '*.wild.example.com'],
    ['under.wild.example.com', 'under.wild.example.com'],
    ['Under.Wild.example.com', 'under.wild.example.com'],
    ['one.example.com', 'one.example.com'],
    ['TWO.example.com', 'one.example.com'],
    ['x.multi.example.com', 'one.example.com'],
    ['under.claimed.example.com', 'under.claimed.example.com'],
  ])('%s: the certificate of %s', async (serverName, commonName) => {
    expect(await nameFor(serverName)).toBe(commonName);
  });

  test.each([
    ['', 'the client names no server'],
    ['plain.example.com', 'its Ingress has no TLS'],
    ['missing.example.com', 'the Secret does not exist'],
    ['plain.wild.example.com', 'it has none, whatever the wildcard shows'],
    ['x.claimed.example.com', 'the wildcard host has no TLS'],
    ['default/own-example-com', 'this is no name of a host, but of a secret'],
    ['own.example.com.', 'this is no name of a host'],
    ['Default-Certificate', 'this is the name of a secret'],
  ])('"%s": the generated one, since %s', async (serverName) => {
    expect(await nameFor(serverName)).toBe(GENERATED);
  });

  test.each(['unknown.example.org', 'a.b.wild.example.com', 'on-demand', 'multi.example.com'])(
    '%s: a refusal, at once',
    async (serverName) => {
      const begin = performance.now();
      expect(await nameFor(serverName)).toBe(REFUSED);
      expect(performance.now() - begin).toBeLessThan(2000);
    },
  );
});

test('requests are served by Host, over both protocols, on chains of both kinds', async () => {
  const { httpsPort: port } = gateway;
  for (const serverName of ['own.example.com', 'a.wild.example.com', '']) {
    expect((await send({ port, tls: true, host: 'own.example.com', serverName })).status).toBe(200);
  }
  expect((await sendHttp2({ port, host: 'own.example.com' })).status).toBe(200);
});

describe('a certificate for a single host', () => {
  const name = 'life.example.com';
  const of = ({ chain }: Pair) => new X509Certificate(chain).fingerprint256;
  const fingerprint = async () => (await peerCertificate(gateway.httpsPort, name)).fingerprint256;

  test('comes, rotates and goes without a listener being sent', async () => {
    const [first, second] = [await makePair([name]), await makePair([name])];
    const before = listeners(gateway);
    expect(await nameFor(name)).toBe(REFUSED);
    await gateway.apply(...(await site(name, { pair: first })));
    expect(await fingerprint()).toBe(of(first));
    expect(await nameFor(name.toUpperCase())).toBe(name);
    await gateway.apply(tlsSecret(objectName(name), second));
    await soon(fingerprint).toBe(of(second));
    await soon(async () => (await peerCertificate(gateway.httpsPort, name.toUpperCase())).fingerprint256).toBe(
      of(second),
    );
    await gateway.remove('Secret', objectName(name));
    await soon(() => nameFor(name)).toBe(GENERATED);
    await gateway.remove('Ingress', objectName(name));
    await soon(() => nameFor(name)).toBe(REFUSED);
    await soon(() => nameFor(name.toUpperCase())).toBe(REFUSED);
    await gateway.apply(...(await site(name, { pair: first })));
    expect(await fingerprint()).toBe(of(first));
    expect(listeners(gateway)).toBe(before);
  });

  test('stays when a certificate with a wildcard comes above it, and goes', async () => {
    await gateway.apply(...(await site('a.above.example.com')));
    const show = () => nameFor('a.above.example.com');
    expect(await show()).toBe('a.above.example.com');
    await gateway.apply(...(await site('*.above.example.com', { hosts: ['b.above.example.com'] })));
    await soon(() => nameFor('b.above.example.com')).toBe('*.above.example.com');
    expect(await show()).toBe('a.above.example.com');
    await gateway.remove('Ingress', objectName('b.above.example.com'));
    await soon(() => nameFor('b.above.example.com')).toBe(REFUSED);
    expect(await show()).toBe('a.above.example.com');
  });

  test('is not sent to Envoy before somebody asks for it', async () => {
    const from = gateway.events.length;
    await gateway.apply(...(await site('quiet.example.com')));
    const sent = gateway.events.slice(from).flatMap((event) => (event.kind === 'response' ? [event] : []));
    expect(sent.filter(({ typeUrl }) => typeUrl === typeUrls.secret)).toEqual([]);
    expect(await nameFor('quiet.example.com')).toBe('quiet.example.com');
  });
});

test('the default certificate is looked up for every host that has none, and rotates for all of them', async () => {
  const withDefault = await start(
    [
      tlsSecret('fallback', await makePair(['first.example.com'])),
      host('a.example.com'),
      host('b.example.com', 'none'),
    ],
    { defaultSslCertificate: 'default/fallback' },
  );
  try {
    const names = () => Promise.all(['a.example.com', 'b.example.com', ''].map((name) => nameFor(name, withDefault)));
    expect(await names()).toEqual(Array(3).fill('first.example.com'));
    await withDefault.apply(tlsSecret('fallback', await makePair(['second.example.com'])));
    await soon(names).toEqual(Array(3).fill('second.example.com'));
  } finally {
    await withDefault.close();
  }
});

describe('server names that nobody claims', () => {
  test('leave nothing behind, and take nothing from others', async () => {
    const before = secretsAskedFor(gateway);
    const attempts = Array.from({ length: 2000 }, (_, index) => `random-${index}.example.org`);
    const known: string[] = [];
    for (let index = 0; index < attempts.length; index += 20) {
      const batch = attempts.slice(index, index + 20);
      const [outcomes, one] = await Promise.all([
        Promise.all(batch.map((name) => nameFor(name))),
        nameFor('own.example.com'),
      ]);
      expect(new Set(outcomes)).toEqual(new Set([REFUSED]));
      known.push(one);
    }
    expect(new Set(known)).toEqual(new Set(['own.example.com']));
    await soon(async () => secretsAskedFor(gateway)).toBe(before);
  });

  test('are no other than the known ones in too many spellings', async () => {
    await gateway.apply(...(await site('spelling.example.com')));
    const spellings = Array.from({ length: 200 }, (_, index) => spell('spelling.example.com', index + 1));
    const outcomes = await Promise.all(spellings.map((name) => nameFor(name)));
    expect(outcomes.filter((outcome) => outcome !== REFUSED)).toEqual(
      Array(MAX_SPELLINGS).fill('spelling.example.com'),
    );
    expect(await nameFor('spelling.example.com')).toBe('spelling.example.com');
  });
});

test('known names survive an outage of the control plane; others work again after it', async () => {
  const alone = await start([...(await site('known.example.com')), ...(await site('late.example.com'))]);
  const { pipeline, xdsSocket } = alone;
  try {
    expect(await nameFor('known.example.com', alone)).toBe('known.example.com');
    await alone.server.close({ graceMs: 0 });
    for (let index = 0; index < 20; index++)
      expect(await nameFor('known.example.com', alone)).toBe('known.example.com');
    await expect(nameFor('late.example.com', alone)).rejects.toThrow();
    const sent: string[] = [];
    const again = createXdsServer({
      store: pipeline.store,
      observe: (event) => event.kind === 'response' && event.typeUrl === typeUrls.secret && sent.push(...event.names),
    });
    await again.listen(`unix:${xdsSocket}`);
    try {
      await soon(() => nameFor('late.example.com', alone).catch(() => 'no answer')).toBe('late.example.com');
      expect(await nameFor('known.example.com', alone)).toBe('known.example.com');
      expect(sent).not.toContain('known.example.com');
    } finally {
      await again.close({ graceMs: 0 });
    }
  } finally {
    await alone.close();
  }
});

test("a host that is called like the default certificate takes nobody else's", async () => {
  const alone = await start([...(await site('default-certificate')), ...(await site('on-demand'))]);
  try {
    await soon(() => nameFor('default-certificate', alone)).toBe('default-certificate');
    expect(await nameFor('on-demand', alone)).toBe('on-demand');
    expect(await nameFor('', alone)).toBe(GENERATED);
  } finally {
    await alone.close();
  }
});

/** The letters that the bits of a number stand for in upper case. */
function spell(name: string, bits: number): string {
  return [...name].map((letter, index) => ((bits >> index) & 1 ? letter.toUpperCase() : letter)).join('');
}
