import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { peerCertificate, send } from '../../support/http-client.ts';
import { type IngressSpec, ingress, tlsSecret } from '../../support/manifests.ts';
import { makePair } from '../../support/pki.ts';
import { type Services, soon, startServices } from './cases.ts';

const GENERATED = 'ingress.local';

let gateway: Gateway;
let services: Services;

/** An Ingress for one host; with `secretName`, under TLS. */
function host(namespace: string, name: string, secretName?: string, more: Partial<IngressSpec> = {}) {
  return ingress({
    name: name.replaceAll('.', '-').replace('*', 'wild'),
    namespace,
    rules: [{ host: name, paths: [{}] }],
    ...(secretName && { tls: [{ hosts: [name], secretName }] }),
    ...more,
  });
}

async function shown(serverName: string): Promise<string> {
  return String((await peerCertificate(gateway.httpsPort, serverName)).subject.CN);
}

async function redirects(name: string): Promise<boolean> {
  return (await send({ port: gateway.httpPort, host: name })).status === 308;
}

beforeAll(async () => {
  services = await startServices('web');
  const [mallory, wild, owned] = await Promise.all([
    // A certificate that also carries names of others.
    makePair([
      'mallory.example.com',
      'bank.example.com',
      'mine.example.com',
      '*.bank.example.com',
      'x.wild.example.com',
    ]),
    makePair(['*.infra.example.com']),
    makePair(['*.wild.example.com']),
  ]);
  gateway = await startGateway({
    manifests: [
      ...services.manifests,
      host('mallory', 'mallory.example.com', 'many'),
      tlsSecret('many', mallory!, 'mallory'),
      host('mallory', 'mine.example.com'),
      host('bank', 'bank.example.com'),
      host('bank', 'login.bank.example.com'),
      host('bank', '*.bank.example.com'),
      // A wildcard host with TLS, and exact hosts below it that have none.
      host('infra', '*.infra.example.com', 'wild'),
      tlsSecret('wild', wild!, 'infra'),
      host('infra', 'same.infra.example.com'),
      host('apps', 'other.infra.example.com'),
      host('apps', 'both.infra.example.com'),
      host('infra', 'both.infra.example.com', undefined, { name: 'both-too' }),
      // Its own wildcard certificate counts for the names below it, whoever else carries them.
      host('owner', '*.wild.example.com', 'owned'),
      tlsSecret('owned', owned!, 'owner'),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

describe('a certificate never answers for a host that only other namespaces speak of', () => {
  test.each([
    ['mallory.example.com', 'mallory.example.com', 'it is his'],
    ['mine.example.com', 'mallory.example.com', 'the host is his, too'],
    ['bank.example.com', GENERATED, 'the host is of another namespace and has no TLS'],
    ['login.bank.example.com', GENERATED, 'so is this one, under a wildcard'],
    ['any.bank.example.com', GENERATED, 'and the wildcard host itself'],
    ['x.wild.example.com', '*.wild.example.com', 'the wildcard host has a certificate of its own'],
    ['y.wild.example.com', '*.wild.example.com', 'so it has here'],
  ])('%s: that of %s, since %s', async (serverName, commonName) => {
    expect(await shown(serverName)).toBe(commonName);
  });

  test('as soon as an Ingress of its namespace speaks of the host it may, and no longer', async () => {
    await gateway.apply(host('mallory', 'bank.example.com', undefined, { name: 'bank-too' }));
    await soon(() => shown('bank.example.com')).toBe('mallory.example.com');
    await gateway.remove('Ingress', 'bank-too', 'mallory');
    await soon(() => shown('bank.example.com')).toBe(GENERATED);
  });
});

describe('a host without TLS under a wildcard host with TLS', () => {
  test.each([
    ['same.infra.example.com', '*.infra.example.com', true],
    ['both.infra.example.com', '*.infra.example.com', true],
    ['other.infra.example.com', GENERATED, false],
    ['unclaimed.infra.example.com', '*.infra.example.com', true],
  ])('%s: certificate %s, redirect %s', async (name, commonName, redirected) => {
    expect([await shown(name), await redirects(name)]).toEqual([commonName, redirected]);
  });

  test('is told where the namespaces differ', () => {
    const told = gateway.pipeline.controller
      .currentDiagnostics()
      .filter(({ code }) => code === 'CertificateForeign')
      .map(({ ref }) => `${ref?.namespace}/${ref?.name}`);
    expect(told).toEqual(['apps/other-infra-example-com']);
  });

  test('loses it with the wildcard host', async () => {
    await gateway.remove('Ingress', 'wild-infra-example-com', 'infra');
    await soon(() => shown('same.infra.example.com')).toBe(GENERATED);
    await soon(() => redirects('same.infra.example.com')).toBe(false);
    await gateway.apply(host('infra', '*.infra.example.com', 'wild'));
    await soon(() => shown('same.infra.example.com')).toBe('*.infra.example.com');
    await soon(() => redirects('same.infra.example.com')).toBe(true);
  });
});
