import { startServices } from '../envoy/behaviour/cases.ts';
import type { Ports } from '../parity/table.ts';
import { peerCertificate } from '../support/http-client.ts';
import { ingress, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { redirectCase } from './named-ports.ts';
import { type AnnotationCase, type AnnotationTable, annotated } from './table.ts';

type Annotations = Readonly<Record<string, string>>;

function host(name: string, address: string, annotations: Annotations, more: object = {}) {
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: address, paths: [{ path: '/' }, { path: '/other', service: 'other:80' }] }],
    ...more,
  });
}

/** The common name of the certificate that a server name gets. */
function certificate(name: string, expected: string): AnnotationCase {
  return {
    title: `the certificate for ${name} is that of ${expected}`,
    run: async ({ httpsPort }: Ports) => String((await peerCertificate(httpsPort, name)).subject.CN),
    expected,
  };
}

export const names: AnnotationTable = {
  title: 'further names of hosts',
  start: async () => {
    const services = await startServices('web', 'other');
    return {
      close: services.close,
      manifests: [
        ...services.manifests,
        host('none', 'none.names.example.com', {}),
        host('alias', 'main.names.example.com', {
          'server-alias': 'alias.names.example.org, Second.names.example.org',
        }),
        host(
          'tls',
          'tls.names.example.com',
          { 'server-alias': 'tls.names.example.org' },
          {
            tls: [{ hosts: ['tls.names.example.com'], secretName: 'tls' }],
          },
        ),
        tlsSecret('tls', await makePair(['tls.names.example.com', 'tls.names.example.org'])),
        host(
          'uncovered',
          'uncovered.names.example.com',
          { 'server-alias': 'uncovered.names.example.org' },
          {
            tls: [{ hosts: ['uncovered.names.example.com'], secretName: 'uncovered' }],
          },
        ),
        tlsSecret('uncovered', await makePair(['uncovered.names.example.com'])),
        host('wild', 'wild.names.example.com', { 'server-alias': '*.wild.example.org' }),
        host('bad-alias', 'bad-alias.names.example.com', { 'server-alias': 'a;b' }),
        host('regex', 'regex.names.example.com', { 'server-alias': '~^r.*$,good.names.example.org' }),
        host('taken', 'taken.names.example.com', { 'server-alias': 'none.names.example.com,alias.names.example.org' }),
        host('www', 'www-to.names.example.com', { 'from-to-www-redirect': 'true' }),
        host('no-www', 'www.bare.names.example.com', { 'from-to-www-redirect': 'true' }),
        host('off-www', 'off.names.example.com', { 'from-to-www-redirect': 'false' }),
        host('bad-www', 'bad-www.names.example.com', { 'from-to-www-redirect': 'on' }),
        host('both-1', 'both.names.example.com', { 'from-to-www-redirect': 'true' }),
        host('both-2', 'www.both.names.example.com', { 'from-to-www-redirect': 'true' }),
      ],
    };
  },
  keys: {
    'server-alias': {
      good: [
        { url: 'http://main.names.example.com/', backend: 'web' },
        { url: 'http://alias.names.example.org/', backend: 'web', received: { host: 'alias.names.example.org' } },
        { url: 'http://alias.names.example.org/other', backend: 'other' },
        { url: 'https://second.names.example.org/other', backend: 'other' },
        { url: 'http://a.wild.example.org/other', backend: 'other' },
        { url: 'http://a.b.wild.example.org/', status: 404, because: 'a wildcard is one label' },
      ],
      bad: [
        { url: 'http://bad-alias.names.example.com/', status: 404, because: 'the Ingress is refused' },
        { url: 'http://good.names.example.org/', backend: 'web', because: 'only the expression is left out' },
        { url: 'http://rest.example.org/', status: 404 },
      ],
      default: [{ url: 'http://unknown.names.example.org/', status: 404 }],
      neighbours: [
        redirectCase('http://tls.names.example.org/a', 308, 'https://tls.names.example.org/a'),
        redirectCase('http://uncovered.names.example.org/a', 308, 'https://uncovered.names.example.org/a'),
        certificate('tls.names.example.org', 'tls.names.example.com'),
        certificate('uncovered.names.example.com', 'uncovered.names.example.com'),
        certificate('uncovered.names.example.org', 'ingress.local'),
        { url: 'http://none.names.example.com/', backend: 'web', because: 'the host of an Ingress counts first' },
        { url: 'http://taken.names.example.com/', backend: 'web' },
      ],
    },
    'from-to-www-redirect': {
      good: [
        redirectCase('http://www.www-to.names.example.com/', 308, 'http://www-to.names.example.com:HTTP'),
        redirectCase('http://www.www-to.names.example.com/a?b=c', 308, 'http://www-to.names.example.com:HTTP/a?b=c'),
        redirectCase('http://www.www-to.names.example.com/a/', 308, 'http://www-to.names.example.com:HTTP/a'),
        redirectCase('https://www.www-to.names.example.com/a', 308, 'https://www-to.names.example.com:HTTPS/a'),
        redirectCase('http://bare.names.example.com/a', 308, 'http://www.bare.names.example.com:HTTP/a'),
        { url: 'http://www-to.names.example.com/', backend: 'web' },
        { url: 'http://www.bare.names.example.com/', backend: 'web' },
      ],
      bad: [
        { url: 'http://bad-www.names.example.com/', status: 404, because: 'the Ingress is refused' },
        { url: 'http://www.off.names.example.com/', status: 404 },
      ],
      default: [{ url: 'http://www.none.names.example.com/', status: 404 }],
      neighbours: [
        { url: 'http://both.names.example.com/', backend: 'web', because: 'both hosts have an Ingress' },
        { url: 'http://www.both.names.example.com/', backend: 'web' },
      ],
    },
  },
};
