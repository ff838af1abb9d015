/** Certificates in Secrets that come, go, change and break; and which one a client sees. */
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { peerCertificate } from '../support/http-client.ts';
import { ingress, tlsSecret } from '../support/manifests.ts';
import { makePair, type Pair } from '../support/pki.ts';
import type { Manifest } from './support/api.ts';
import { eventually } from './support/eventually.ts';
import { everythingBefore } from './support/ingresses.ts';
import { allResources, resourceNames } from './support/inspect.ts';
import { expectNothingLost, probe, request, served } from './support/product.ts';
import { type Site, STEADY_HOST, startSite } from './support/site.ts';

const ROTATIONS = 5;
const TYPES = ['Listener', 'RouteConfiguration', 'Cluster', 'ClusterLoadAssignment', 'Secret'];

let site: Site;
/** Of the certificate that a client without a server name sees. */
let defaultPrint: string;

beforeAll(async () => {
  site = await startSite();
  defaultPrint = (await peerCertificate(443, '')).fingerprint256;
});
afterAll(() => site?.close());

const printOf = (pair: Pair) => new X509Certificate(pair.chain).fingerprint256;

async function seenBy(serverName: string): Promise<string> {
  return (await peerCertificate(443, serverName)).fingerprint256;
}

async function shows(serverName: string, print: string): Promise<void> {
  await eventually(`the certificate of ${serverName}`, async () => (await seenBy(serverName)) === print, {
    describe: () => site.product.log().slice(-2000),
  });
}

/** After everything that was written before has taken effect. */
async function showsStill(serverName: string, print: string): Promise<void> {
  await everythingBefore(site);
  expect(await seenBy(serverName)).toBe(print);
}

function web(
  host: string,
  secretName: string | undefined,
  name = host.replaceAll('.', '-').replace('*', 'any'),
): Manifest {
  const tls = secretName === undefined ? {} : { tls: [{ hosts: [host], secretName }] };
  return ingress({ name, namespace: site.namespace, rules: [{ host, paths: [{}] }], ...tls });
}

function secret(name: string, pair: Pair): Manifest {
  return tlsSecret(name, pair, site.namespace);
}

/** A Secret that the API server does not look into. */
function opaque(name: string, data: Readonly<Record<string, string>>): Manifest {
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return {
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name, namespace: site.namespace },
    data: Object.fromEntries(encoded),
  };
}

async function responses(): Promise<Readonly<Record<string, number>>> {
  const metrics = await site.product.metrics();
  return Object.fromEntries(TYPES.map((type) => [type, metrics.sum('ingress_xds_responses_total', { type })]));
}

/** What was sent until nothing more came for a while: Envoy asks for what a new listener needs, and drops what it had. */
async function responsesAtRest(): Promise<Readonly<Record<string, number>>> {
  let seen: string[] = [];
  const atRest = async () => {
    seen = [...seen.slice(-9), JSON.stringify(await responses())];
    return seen.length === 10 && seen.every((each) => each === seen[0]);
  };
  await eventually('an end of responses', atRest, { everyMs: 100 });
  return JSON.parse(seen[0]!);
}

test('a certificate that is rotated is seen by the next handshake, closes no connection and sends itself alone', async () => {
  const { api } = site.cluster;
  // The other host has the certificate without the redirect.
  const [owner, guest] = ['owner.test', 'guest.test'];
  const pairs = await Promise.all(Array.from({ length: ROTATIONS + 1 }, () => makePair([owner, guest])));
  await api.apply(secret('rotated', pairs[0]!), web(owner, 'rotated'), web(guest, undefined));
  await shows(guest, printOf(pairs[0]!));
  await served(guest, { product: site.product });
  const standing = await probe(guest);
  const before = await responsesAtRest();
  for (const pair of pairs.slice(1)) {
    await api.apply(secret('rotated', pair));
    await shows(guest, printOf(pair));
    await shows(owner, printOf(pair));
  }
  expect(await responsesAtRest()).toEqual({ ...before, Secret: before['Secret']! + ROTATIONS });
  await expectNothingLost(standing);
  await api.remove(web(owner, ''), web(guest, ''), secret('rotated', pairs[0]!));
  await served(guest, { status: 404 });
});

test('a Secret that is missing, comes, breaks, is mended and goes', async () => {
  const { api } = site.cluster;
  const host = 'broken.test';
  const [first, second, third] = await Promise.all([makePair([host]), makePair([host]), makePair([host])]);
  const told = (pattern: RegExp) =>
    eventually(`${pattern}`, () => pattern.test(site.product.log()), { describe: site.product.log });
  const broken = secret('broken', first);
  await api.apply(web(host, 'broken'));
  await served(host, { status: 308, product: site.product });
  await served(host, { tls: true });
  expect(await seenBy(host)).toBe(defaultPrint);
  await told(/broken-test.*SecretNotFound/);
  await api.apply(broken);
  await shows(host, printOf(first));
  // The key of another certificate: the last good pair stays.
  await api.apply(secret('broken', { chain: first.chain, key: second.key }));
  await told(/broken.*SecretInvalid/);
  await showsStill(host, printOf(first));
  await api.apply(secret('broken', { chain: 'no certificate', key: second.key }));
  await showsStill(host, printOf(first));
  await api.apply(secret('broken', { chain: second.chain, key: '' }));
  await showsStill(host, printOf(first));
  await api.apply(secret('broken', second));
  await shows(host, printOf(second));
  // A certificate for somebody else.
  await api.apply(secret('broken', await makePair(['somebody-else.test'])));
  await told(/broken-test.*CertificateHostMismatch/);
  await shows(host, defaultPrint);
  await api.apply(secret('broken', second));
  await shows(host, printOf(second));
  await api.remove(broken);
  await shows(host, defaultPrint);
  expect((await request(host, { tls: true })).status).toBe(200);
  // Without a key, and never usable.
  await api.apply(opaque('broken', { 'tls.crt': third.chain }));
  await showsStill(host, defaultPrint);
  // Of another type, with all that it takes.
  await api.apply(opaque('broken', { 'tls.crt': third.chain, 'tls.key': third.key }));
  await shows(host, printOf(third));
  await api.remove(web(host, ''), broken);
  await served(host, { status: 404 });
  expect(await resourceNames('secrets')).toEqual(['default-certificate']);
});

test('spec.tls comes and goes, with its certificate and its redirect', async () => {
  const { api } = site.cluster;
  const host = 'section.test';
  const pair = await makePair([host]);
  await everythingBefore(site);
  const before = await allResources();
  await api.apply(secret('section', pair), web(host, undefined));
  await served(host, { product: site.product });
  expect(await seenBy(host)).toBe(defaultPrint);
  await api.apply(web(host, 'section'));
  await served(host, { status: 308 });
  await shows(host, printOf(pair));
  await api.apply(web(host, undefined));
  await served(host);
  await shows(host, defaultPrint);
  // Another Secret in the same section.
  const other = await makePair([host]);
  await api.apply(secret('other', other), web(host, 'section'));
  await shows(host, printOf(pair));
  await api.apply(web(host, 'other'));
  await shows(host, printOf(other));
  await api.remove(web(host, ''), secret('section', pair), secret('other', other));
  await served(host, { status: 404 });
  await eventually('nothing is left', async () => (await allResources()).join() === before.join());
});

test('wildcards, no server name, another one than the host, and names with a dot at the end', async () => {
  const { api } = site.cluster;
  const [wildcard, exact] = await Promise.all([makePair(['*.wild.test']), makePair(['exact.wild.test'])]);
  await api.apply(secret('wildcard', wildcard), secret('exact', exact));
  await api.apply(web('*.wild.test', 'wildcard'), web('exact.wild.test', 'exact'));
  await shows('any.wild.test', printOf(wildcard));
  await shows('exact.wild.test', printOf(exact));
  await served('any.wild.test', { tls: true, product: site.product });
  // One label only.
  await shows('a.b.wild.test', defaultPrint);
  await served('a.b.wild.test', { tls: true, status: 404 });
  await shows('wild.test', defaultPrint);
  await shows('', defaultPrint);
  // What is served depends on the Host header.
  for (const serverName of ['', 'any.wild.test', 'exact.wild.test', 'nobody.test', STEADY_HOST]) {
    expect((await request('exact.wild.test', { tls: true, serverName })).status, serverName).toBe(200);
    expect((await request('nobody.test', { tls: true, serverName })).status, serverName).toBe(404);
  }
  expect((await request('exact.wild.test.', { tls: true, serverName: 'exact.wild.test' })).status).toBe(200);
  expect((await request('any.wild.test:443', { tls: true })).status).toBe(200);
  // Without the exact one its host has the other certificate.
  await api.remove(web('exact.wild.test', ''), secret('exact', exact));
  await shows('exact.wild.test', printOf(wildcard));
  await api.remove(web('*.wild.test', ''), secret('wildcard', wildcard));
  await shows('any.wild.test', defaultPrint);
});

test('Secrets that nobody refers to cause nothing, are not kept, and never reach a proxy', async () => {
  const { api } = site.cluster;
  const pair = await makePair(['unrelated.test']);
  const helm = (text: string) => ({
    ...opaque('sh.helm.release.v1.web.v1', { release: text }),
    type: 'helm.sh/release.v1',
  });
  const [used, renewed] = await Promise.all([makePair(['used.test']), makePair(['used.test'])]);
  await api.apply(secret('used', used), web('used.test', 'used'));
  await shows('used.test', printOf(used));
  await everythingBefore(site);
  const sent = await responsesAtRest();
  const unrelated = Array.from({ length: 20 }, (_, index) => secret(`unrelated-${index}`, pair));
  const changed = unrelated.map((each) => ({
    ...each,
    metadata: { ...(each['metadata'] as object), labels: { changed: 'yes' } },
  }));
  await api.apply(...unrelated, helm('first'), opaque('token', { token: 'x' }));
  await api.apply(...changed, helm('second'));
  await api.remove(...unrelated.slice(10));
  // One that is referred to arrives behind them.
  await api.apply(secret('used', renewed));
  await shows('used.test', printOf(renewed));
  expect(await responsesAtRest()).toEqual({ ...sent, Secret: sent['Secret']! + 1 });
  const kept = async () => (await site.product.metrics()).sum('ingress_xds_objects', { kind: 'secret' });
  expect(await kept()).toBe(1);
  expect(await resourceNames('secrets')).toEqual(['default-certificate', expect.stringContaining('used')]);
  await api.remove(web('used.test', ''));
  await served('used.test', { status: 404 });
  await eventually('the last reference is gone', async () => (await kept()) === 0);
  expect(await resourceNames('secrets')).toEqual(['default-certificate']);
  const asked = site.cluster.audit(site.account.user).filter(({ resource }) => resource === 'secrets');
  expect(asked.length).toBeGreaterThan(2);
  // Releases of Helm are never asked for; single Secrets by their names.
  for (const { verb, uri } of asked) {
    const selector = new URL(uri, 'https://api').searchParams.get('fieldSelector') ?? '';
    expect(['list', 'watch']).toContain(verb);
    expect(selector === 'type!=helm.sh/release.v1' || /^metadata\.name=[\w-]+$/.test(selector), uri).toBe(true);
    expect(selector).not.toMatch(/unrelated|helm\.release|token/);
  }
});
