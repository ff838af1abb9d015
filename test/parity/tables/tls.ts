/** Which certificate answers a server name, and what the Host decides. */
import { startServices } from '../../envoy/behaviour/cases.ts';
import { handshakes } from '../../envoy/behaviour/handshake.ts';
import { peerCertificate, sendHttp2 } from '../../support/http-client.ts';
import { ingress, type Manifest, tlsSecret } from '../../support/manifests.ts';
import { makePair } from '../../support/pki.ts';
import { type Exchange, table } from '../table.ts';

/** The common name of the certificate that is generated at start. */
const GENERATED = 'ingress.local';
const YEAR = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' };
const NONE = { 'strict-transport-security': undefined };

function host(name: string, secretName?: string): Manifest {
  return ingress({
    name: name.replaceAll('.', '-'),
    rules: [{ host: name, paths: [{}] }],
    ...(secretName !== undefined && { tls: [{ hosts: [name], ...(secretName !== '' && { secretName }) }] }),
  });
}

/** Server name → the common name of the certificate that it gets. */
const NAMES: Readonly<Record<string, string>> = {
  'own.example.com': 'own.example.com',
  'OWN.Example.COM': 'own.example.com',
  'a.wild.example.com': '*.wild.example.com',
  'one.example.com': 'one.example.com',
  'two.example.com': 'one.example.com',
  'missing.example.com': GENERATED,
  'none.example.com': GENERATED,
  'plain.example.com': GENERATED,
  'unknown.example.org': GENERATED,
  'wild.example.com': GENERATED,
  'x.own.example.com': GENERATED,
  '': GENERATED,
};

export const tls = table({
  start: async () => {
    const services = await startServices('web');
    const [own, wild, several] = await Promise.all([
      makePair(['own.example.com']),
      makePair(['*.wild.example.com']),
      makePair(['one.example.com', 'two.example.com']),
    ]);
    return {
      close: services.close,
      manifests: [
        ...services.manifests,
        tlsSecret('own', own),
        tlsSecret('wild', wild),
        tlsSecret('several', several),
        host('own.example.com', 'own'),
        host('a.wild.example.com', 'wild'),
        host('one.example.com', 'several'),
        host('two.example.com', 'several'),
        host('missing.example.com', 'nowhere'),
        host('none.example.com', ''),
        host('plain.example.com'),
      ],
    };
  },
  groups: {
    'the Host decides, whatever the server name': [
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
    'Strict-Transport-Security': [
      { url: 'https://own.example.com/', backend: 'web', answered: YEAR },
      { url: 'https://plain.example.com/', backend: 'web', answered: YEAR },
      { url: 'https://unknown.example.org/', status: 404, answered: YEAR },
      { url: 'http://plain.example.com/', backend: 'web', answered: NONE },
      { url: 'http://own.example.com/', status: 308, answered: NONE },
    ],
  },
  exchanges: [
    ...Object.entries(NAMES).map(
      ([name, expected]): Exchange => ({
        title: `the certificate for "${name}" is that of ${expected}`,
        run: async ({ httpsPort }) => String((await peerCertificate(httpsPort, name)).subject.CN),
        expected,
      }),
    ),
    ...(['TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const).map(
      (version): Exchange => ({
        title: version,
        run: ({ httpsPort }) => handshakes(httpsPort, version),
        expected: version !== 'TLSv1.1',
      }),
    ),
    {
      title: 'HTTP/2 with a Host of another certificate',
      run: async ({ httpsPort: port }) => {
        const { status } = await sendHttp2({ port, host: 'own.example.com', serverName: 'two.example.com' });
        return status;
      },
      expected: 200,
    },
  ],
});
