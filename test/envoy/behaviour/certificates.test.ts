import { createPrivateKey, X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { peerCertificate, send, sendHttp2 } from '../../support/http-client.ts';
import { ingress, type Manifest, tlsSecret } from '../../support/manifests.ts';
import { makePair, rsa2048 } from '../../support/pki.ts';
import { observe, type Services, soon, startServices, testCases } from './cases.ts';
import { handshakes } from './handshake.ts';

/** The common name of the certificate that is generated at start. */
const GENERATED = 'ingress.local';

let gateway: Gateway;
let services: Services;

interface TlsSpec {
  readonly hosts?: readonly string[];
  readonly secretName?: string;
}

/** An Ingress for one host, with these entries in `spec.tls`. */
function host(
  name: string,
  tls: readonly TlsSpec[],
  more: { readonly created?: string; path?: string } = {},
): Manifest {
  const { created, path = '/' } = more;
  return ingress({
    name: `${name.replaceAll('.', '-')}${path === '/' ? '' : '-more'}`,
    rules: [{ host: name, paths: [{ path }] }],
    ...(created && { created }),
    ...(tls.length > 0 && { tls }),
  });
}

function secret(name: string, data: Readonly<Record<string, string>>): Manifest {
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name, namespace: 'default' },
    data: Object.fromEntries(encoded),
  };
}

/** Common name of the certificate that answers a server name. */
async function nameFor(serverName: string, of: Gateway = gateway): Promise<string> {
  return String((await peerCertificate(of.httpsPort, serverName)).subject.CN);
}

beforeAll(async () => {
  services = await startServices('web', 'other');
  const [own, wild, multi, elsewhere, mismatch] = await Promise.all(
    [
      ['own.example.com'],
      ['*.wild.example.com'],
      ['one.example.com', 'two.example.com', '*.multi.example.com'],
      ['elsewhere.example.com'],
      ['mismatch.example.com'],
    ].map((names) => makePair(names)),
  );
  gateway = await startGateway({
    manifests: [
      ...services.manifests,
      tlsSecret('own', own!),
      tlsSecret('wild', wild!),
      tlsSecret('multi', multi!),
      tlsSecret('elsewhere', elsewhere!),
      secret('opaque', { 'tls.crt': elsewhere!.chain, 'tls.key': elsewhere!.key }),
      secret('no-key', { 'tls.crt': own!.chain }),
      secret('no-pem', { 'tls.crt': 'hello', 'tls.key': 'world' }),
      secret('wrong-key', { 'tls.crt': mismatch!.chain, 'tls.key': own!.key }),
      host('own.example.com', [{ hosts: ['own.example.com'], secretName: 'own' }]),
      host('a.wild.example.com', [{ hosts: ['a.wild.example.com'], secretName: 'wild' }]),
      host('a.b.wild.example.com', [{ hosts: ['a.b.wild.example.com'], secretName: 'wild' }]),
      host('one.example.com', [{ hosts: ['one.example.com'], secretName: 'multi' }]),
      host('two.example.com', [{ hosts: ['two.example.com'], secretName: 'multi' }]),
      host('x.multi.example.com', [{ hosts: ['x.multi.example.com'], secretName: 'multi' }]),
      host('upper.example.com', [{ hosts: ['UPPER.example.com'], secretName: 'upper' }]),
      tlsSecret('upper', await makePair(['Upper.Example.com'])),
      host('none.example.com', [{ hosts: ['none.example.com'] }]),
      host('missing.example.com', [{ hosts: ['missing.example.com'], secretName: 'nowhere' }]),
      host('uncovered.example.com', [{ hosts: ['uncovered.example.com'], secretName: 'own' }]),
      host('no-key.example.com', [{ hosts: ['no-key.example.com'], secretName: 'no-key' }]),
      host('no-pem.example.com', [{ hosts: ['no-pem.example.com'], secretName: 'no-pem' }]),
      host('mismatch.example.com', [{ hosts: ['mismatch.example.com'], secretName: 'wrong-key' }]),
      host('elsewhere.example.com', [{ hosts: ['elsewhere.example.com'], secretName: 'opaque' }]),
      host('unlisted.example.com', [{ secretName: 'own' }, { secretName: 'unlisted' }]),
      tlsSecret('unlisted', await makePair(['unlisted.example.com'])),
      host('plain.example.com', []),
      // The first Ingress of a host with TLS decides alone.
      host('older.example.com', [{ hosts: ['older.example.com'], secretName: 'own' }], {
        created: '2024-01-01T00:00:00Z',
      }),
      host('older.example.com', [{ hosts: ['older.example.com'], secretName: 'older' }], {
        created: '2025-01-01T00:00:00Z',
        path: '/more',
      }),
      tlsSecret('older', await makePair(['older.example.com'])),
      // A Secret of another namespace is none of ours.
      host('foreign.example.com', [{ hosts: ['foreign.example.com'], secretName: 'foreign' }]),
      tlsSecret('foreign', await makePair(['foreign.example.com']), 'elsewhere'),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

describe('the certificate that a server name gets', () => {
  test.each([
    ['own.example.com', 'own.example.com'],
    ['OWN.Example.COM', 'own.example.com'],
    ['a.wild.example.com', '*.wild.example.com'],
    ['one.example.com', 'one.example.com'],
    ['two.example.com', 'one.example.com'],
    ['x.multi.example.com', 'one.example.com'],
    ['upper.example.com', 'Upper.Example.com'],
    ['elsewhere.example.com', 'elsewhere.example.com'],
    ['unlisted.example.com', 'unlisted.example.com'],
  ])('%s: that of %s', async (serverName, commonName) => {
    expect(await nameFor(serverName)).toBe(commonName);
  });

  test.each([
    ['', 'the client names no server'],
    ['unknown.example.org', 'nobody claims it'],
    ['plain.example.com', 'its Ingress has no TLS'],
    ['none.example.com', 'its TLS names no Secret'],
    ['missing.example.com', 'the Secret does not exist'],
    ['uncovered.example.com', 'the certificate is for another host'],
    ['a.b.wild.example.com', 'a wildcard covers one label'],
    ['wild.example.com', 'a wildcard does not cover its own domain'],
    ['no-key.example.com', 'the Secret has no key'],
    ['no-pem.example.com', 'the Secret holds something else'],
    ['mismatch.example.com', 'the key is not that of the certificate'],
    ['older.example.com', 'the older Ingress has no certificate for it'],
    ['foreign.example.com', 'the Secret is in another namespace'],
  ])('"%s": the generated one, since %s', async (serverName) => {
    expect(await nameFor(serverName)).toBe(GENERATED);
  });
});

describe('requests over TLS are served by Host, whatever the server name', () => {
  testCases(
    () => gateway,
    [
      { url: 'https://own.example.com/', backend: 'web' },
      { url: 'https://own.example.com/', serverName: 'OWN.example.com', backend: 'web' },
      { url: 'https://own.example.com/', serverName: 'two.example.com', backend: 'web' },
      { url: 'https://own.example.com/', serverName: 'unknown.example.org', backend: 'web' },
      { url: 'https://own.example.com/', serverName: '', backend: 'web' },
      { url: 'https://unknown.example.org/', serverName: 'own.example.com', status: 404 },
      { url: 'https://missing.example.com/', backend: 'web' },
      { url: 'https://plain.example.com/', backend: 'web' },
      { url: 'https://own.example.com:8443/', serverName: 'own.example.com', backend: 'web' },
    ],
  );

  test('over HTTP/2', async () => {
    const { httpsPort: port } = gateway;
    const same = await sendHttp2({ port, host: 'own.example.com', path: '/x?y=1' });
    expect(JSON.parse(same.body)).toMatchObject({ backend: 'web', url: '/x?y=1' });
    const other = await sendHttp2({ port, host: 'own.example.com', serverName: 'two.example.com' });
    expect(other.status).toBe(200);
    const unknown = await sendHttp2({ port, host: 'unknown.example.org', serverName: 'own.example.com' });
    expect(unknown.status).toBe(404);
  });
});

describe('Strict-Transport-Security', () => {
  const year = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' };
  const none = { 'strict-transport-security': undefined };
  testCases(
    () => gateway,
    [
      { url: 'https://own.example.com/', backend: 'web', answered: year },
      { url: 'https://plain.example.com/', backend: 'web', answered: year },
      { url: 'https://unknown.example.org/', status: 404, answered: year, because: 'errors say it too' },
      { url: 'http://plain.example.com/', backend: 'web', answered: none },
      { url: 'http://own.example.com/', status: 308, answered: none },
      { url: 'http://unknown.example.org/', status: 404, answered: none },
    ],
  );
});

describe('a Secret', () => {
  const name = 'life.example.com';
  const secretName = 'life';

  const fingerprint = async () => (await peerCertificate(gateway.httpsPort, name)).fingerprint256;

  /** https serves and http redirects, whatever the certificate is. */
  async function expectCertificate(expected: string): Promise<void> {
    await soon(fingerprint).toBe(expected);
    expect((await observe(gateway, { url: `https://${name}/` })).received?.backend).toBe('web');
    expect((await observe(gateway, { url: `http://${name}/` })).answer.status).toBe(308);
  }

  test('comes late, rotates, breaks, is repaired and goes', async () => {
    const generated = (await peerCertificate(gateway.httpsPort, '')).fingerprint256;
    const [first, second] = [await makePair([name]), await makePair([name])];
    const of = ({ chain }: { readonly chain: string }) => new X509Certificate(chain).fingerprint256;
    await gateway.apply(host(name, [{ hosts: [name], secretName }]));
    await expectCertificate(generated);
    await gateway.apply(tlsSecret(secretName, first));
    await expectCertificate(of(first));
    await gateway.apply(tlsSecret(secretName, second));
    await expectCertificate(of(second));
    await gateway.apply(secret(secretName, { 'tls.crt': 'hello', 'tls.key': 'world' }));
    await expectCertificate(of(second));
    await gateway.apply(tlsSecret(secretName, first));
    await expectCertificate(of(first));
    // Keys as older tools write them.
    for (const [pair, type] of [
      [second, 'sec1'],
      [await makePair([name], rsa2048), 'pkcs1'],
    ] as const) {
      const key = createPrivateKey(pair.key).export({ type, format: 'pem' }).toString();
      await gateway.apply(tlsSecret(secretName, { ...pair, key }));
      await expectCertificate(of(pair));
    }
    await gateway.remove('Secret', secretName);
    await expectCertificate(generated);
  });
});

describe('TLS versions', () => {
  test.each([
    ['TLSv1.2', true],
    ['TLSv1.3', true],
    ['TLSv1.1', false],
  ] as const)('%s: %s', async (version, accepted) => {
    expect(await handshakes(gateway.httpsPort, version)).toBe(accepted);
  });
});

describe('--default-ssl-certificate', () => {
  let withDefault: Gateway;

  beforeAll(async () => {
    withDefault = await startGateway({
      build: { defaultSslCertificate: 'default/fallback' },
      manifests: [
        ...services.manifests,
        tlsSecret('fallback', await makePair(['*.fallback.example.com'])),
        tlsSecret('own', await makePair(['own.example.com'])),
        host('own.example.com', [{ hosts: ['own.example.com'], secretName: 'own' }]),
        host('missing.example.com', [{ hosts: ['missing.example.com'], secretName: 'nowhere' }]),
        host('none.example.com', [{ hosts: ['none.example.com'] }]),
        host('plain.example.com', []),
      ],
    });
  });
  afterAll(() => withDefault?.close());

  test.each([
    ['own.example.com', 'own.example.com'],
    ['missing.example.com', '*.fallback.example.com'],
    ['none.example.com', '*.fallback.example.com'],
    ['plain.example.com', '*.fallback.example.com'],
    ['unknown.example.org', '*.fallback.example.com'],
    ['', '*.fallback.example.com'],
  ])('"%s": that of %s', async (serverName, commonName) => {
    expect(await nameFor(serverName, withDefault)).toBe(commonName);
  });

  test('asks for no redirect by itself', async () => {
    expect((await send({ port: withDefault.httpPort, host: 'plain.example.com' })).status).toBe(200);
  });

  test('rotates, goes and comes back', async () => {
    await withDefault.apply(tlsSecret('fallback', await makePair(['rotated.example.com'])));
    await soon(() => nameFor('', withDefault)).toBe('rotated.example.com');
    await withDefault.remove('Secret', 'fallback');
    await soon(() => nameFor('', withDefault)).toBe(GENERATED);
    await withDefault.apply(tlsSecret('fallback', await makePair(['back.example.com'])));
    await soon(() => nameFor('', withDefault)).toBe('back.example.com');
  });
});
