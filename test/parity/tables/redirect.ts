/** Which requests are redirected to https, and where to. */
import { startServices } from '../../envoy/behaviour/cases.ts';
import { ingress, type Manifest, tlsSecret } from '../../support/manifests.ts';
import { makePair } from '../../support/pki.ts';
import { table } from '../table.ts';

/** An Ingress for one host with these paths. */
export function host(name: string, paths: readonly string[], tls?: object): Manifest {
  return ingress({
    name: name.replaceAll('.', '-'),
    rules: [{ host: name, paths: paths.map((path) => ({ path })) }],
    ...(tls && { tls: [tls] }),
  });
}

function leadsTo(url: string, location: string, more: object = {}) {
  return { url, status: 308, answered: { location }, ...more };
}

export const redirect = table({
  start: async () => {
    const services = await startServices('web', 'solver');
    return {
      close: services.close,
      manifests: [
        ...services.manifests,
        host('plain.example.com', ['/']),
        host('shop.example.com', ['/'], { hosts: ['shop.example.com'], secretName: 'shop' }),
        tlsSecret('shop', await makePair(['shop.example.com'])),
        host('part.example.com', ['/part'], { hosts: ['part.example.com'], secretName: 'shop' }),
        host('no-secret.example.com', ['/'], { hosts: ['no-secret.example.com'] }),
        host('missing.example.com', ['/'], { hosts: ['missing.example.com'], secretName: 'nowhere' }),
        host('unlisted.example.com', ['/'], { hosts: ['other.example.com'], secretName: 'shop' }),
        ingress({
          name: 'solver',
          rules: [
            {
              host: 'shop.example.com',
              paths: [
                { path: '/.well-known/acme-challenge/token', pathType: 'Exact', service: 'solver:80' },
                { path: '/.well-known/acme-challenge/tree', service: 'solver:80' },
              ],
            },
          ],
        }),
        // The second Ingress of a host whose first one has TLS.
        host('two.example.com', ['/'], { hosts: ['two.example.com'], secretName: 'nowhere' }),
        ingress({ name: 'two-more', rules: [{ host: 'two.example.com', paths: [{ path: '/more' }] }] }),
        ingress({
          name: 'broken-backend',
          rules: [{ host: 'broken.example.com', paths: [{ service: 'nowhere:80' }] }],
          tls: [{ hosts: ['broken.example.com'] }],
        }),
        ingress({ name: 'any', rules: [{ paths: [{ path: '/any' }] }], tls: [{ secretName: 'shop' }] }),
      ],
    };
  },
  groups: {
    'http is redirected to https': [
      leadsTo('http://shop.example.com/', 'https://shop.example.com', { because: 'as nginx drops the slash' }),
      leadsTo('http://shop.example.com/a/b', 'https://shop.example.com/a/b'),
      leadsTo('http://shop.example.com/a?b=c&d=%20', 'https://shop.example.com/a?b=c&d=%20'),
      leadsTo('http://shop.example.com/a/', 'https://shop.example.com/a', { because: 'as nginx drops the slash' }),
      leadsTo('http://shop.example.com/a/?b=c', 'https://shop.example.com/a/?b=c', {
        because: 'only a slash at the very end is dropped',
      }),
      leadsTo('http://shop.example.com/a//b/../c', 'https://shop.example.com/a/c', {
        differs: 'normalizedRedirect',
        nginx: { status: 308, answered: { location: 'https://shop.example.com/a//b/../c' } },
      }),
      leadsTo('http://shop.example.com/a?b=/', 'https://shop.example.com/a?b='),
      leadsTo('http://shop.example.com:8080/a', 'https://shop.example.com/a', {
        because: 'the port speaks plain HTTP',
      }),
      leadsTo('http://shop.example.com:80/a', 'https://shop.example.com/a'),
      leadsTo('http://shop.example.com./a', 'https://shop.example.com/a', {
        differs: 'trailingDot',
        nginx: { status: 308, answered: { location: 'https://shop.example.com./a' } },
      }),
      leadsTo('http://shop.example.com/a%2Fb%20c', 'https://shop.example.com/a%2Fb%20c'),
      leadsTo('http://shop.example.com/a', 'https://shop.example.com/a', { method: 'POST', body: 'x' }),
      leadsTo('http://shop.example.com/a', 'https://shop.example.com/a', { method: 'HEAD' }),
      leadsTo('http://shop.example.com/a', 'https://shop.example.com/a', {
        headers: { 'x-forwarded-proto': 'https' },
        because: 'what a client says of its own connection is not believed',
      }),
      leadsTo('http://part.example.com/part', 'https://part.example.com/part'),
      leadsTo('http://part.example.com/x', 'https://part.example.com/x', {
        because: 'what no rule names belongs to the host',
      }),
      leadsTo('http://two.example.com/more', 'https://two.example.com/more', { because: 'TLS belongs to the host' }),
      leadsTo('http://broken.example.com/', 'https://broken.example.com', { because: 'the backend does not matter' }),
    ],
    'whatever became of the certificate': [
      leadsTo('http://no-secret.example.com/', 'https://no-secret.example.com', { because: 'TLS without a Secret' }),
      leadsTo('http://missing.example.com/', 'https://missing.example.com', { because: 'the Secret does not exist' }),
      leadsTo('http://unlisted.example.com/', 'https://unlisted.example.com', { because: 'TLS names another host' }),
      { url: 'https://missing.example.com/', backend: 'web' },
      { url: 'https://unlisted.example.com/', backend: 'web' },
    ],
    'not redirected': [
      { url: 'http://plain.example.com/', backend: 'web', because: 'there is no TLS' },
      { url: 'https://shop.example.com/a/', backend: 'web', path: '/a/' },
      { url: 'http://shop.example.com/.well-known/acme-challenge/token', backend: 'solver' },
      { url: 'http://shop.example.com/.well-known/acme-challenge/tree/x', backend: 'solver' },
      {
        url: 'http://shop.example.com/.well-known/acme-challenge/else',
        status: 308,
        because: 'the path of the Ingress counts, not that of the request',
      },
      { url: 'http://unknown.example.org/any', backend: 'web', because: 'host-less rules have no TLS of their own' },
      { url: 'http://unknown.example.org/healthz', status: 200, differs: 'healthCheckType' },
    ],
  },
});
