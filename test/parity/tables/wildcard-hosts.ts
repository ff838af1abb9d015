/** Which requests belong to a host such as `*.example.com`. */
import { startServices } from '../../envoy/behaviour/cases.ts';
import { ingress, tlsSecret } from '../../support/manifests.ts';
import { makePair } from '../../support/pki.ts';
import { table } from '../table.ts';

const to = (location: string) => ({ status: 308, answered: { location } });

export const wildcardHosts = table({
  start: async () => {
    const services = await startServices('wild', 'deep', 'exact', 'any', 'solver');
    return {
      close: services.close,
      manifests: [
        ...services.manifests,
        ingress({
          name: 'wild',
          rules: [
            {
              host: '*.example.com',
              paths: [
                { path: '/', service: 'wild' },
                { path: '/exact', pathType: 'Exact', service: 'exact' },
              ],
            },
          ],
        }),
        ingress({ name: 'deep', rules: [{ host: '*.deep.example.com', paths: [{ service: 'deep' }] }] }),
        ingress({ name: 'exact', rules: [{ host: 'shop.example.com', paths: [{ path: '/a', service: 'exact' }] }] }),
        ingress({ name: 'part', rules: [{ host: '*.part.example.org', paths: [{ path: '/a', service: 'wild' }] }] }),
        ingress({ name: 'any', rules: [{ paths: [{ path: '/any', service: 'any' }] }] }),
        ingress({
          name: 'secure',
          rules: [{ host: '*.secure.example.org', paths: [{ service: 'wild' }] }],
          tls: [{ hosts: ['*.secure.example.org'], secretName: 'secure' }],
        }),
        tlsSecret('secure', await makePair(['*.secure.example.org'])),
        ingress({
          name: 'secure-acme',
          rules: [
            {
              host: '*.secure.example.org',
              paths: [{ path: '/.well-known/acme-challenge/token', pathType: 'Exact', service: 'solver' }],
            },
          ],
        }),
      ],
    };
  },
  groups: {
    'a wildcard host': [
      { url: 'http://a.example.com/', backend: 'wild' },
      { url: 'http://b.example.com/x/y?z=1', backend: 'wild', path: '/x/y?z=1' },
      { url: 'http://a.example.com/exact', backend: 'exact' },
      { url: 'http://under_score.example.com/', backend: 'wild' },
      { url: 'http://xn--bcher-kva.example.com/', backend: 'wild' },
      { url: 'http://A.Example.COM/', backend: 'wild', received: { host: 'A.Example.COM' } },
      { url: 'http://a.example.com:8080/', backend: 'wild', received: { host: 'a.example.com:8080' } },
      { url: 'http://a.example.com./', backend: 'wild', differs: 'dotInHost' },
      { url: 'https://a.example.com/', backend: 'wild' },
      { url: 'http://a.part.example.org/b', status: 404, because: 'what it does not name is not found' },
      { url: 'http://a.part.example.org/any', status: 404, because: 'the default server is no fallback for its hosts' },
      { url: 'http://a.part.example.org/healthz', status: 404 },
    ],
    'which host counts': [
      { url: 'http://shop.example.com/a', backend: 'exact', because: 'an exact host beats a wildcard' },
      { url: 'http://shop.example.com/', status: 404, because: 'and does not fall back to it' },
      { url: 'http://x.deep.example.com/', backend: 'deep', because: 'the longer wildcard beats the shorter' },
      { url: 'http://deep.example.com/', backend: 'wild', because: 'a wildcard does not cover its own domain' },
      { url: 'http://a.part.example.org/a', backend: 'wild' },
    ],
    'a wildcard stands for exactly one label: the default server answers': [
      { url: 'http://x.y.example.com/', status: 404 },
      { url: 'http://x.y.example.com/any', backend: 'any' },
      { url: 'https://x.y.example.com/any', backend: 'any' },
      { url: 'http://x.y.example.com:8080/any', backend: 'any' },
      { url: 'http://x.y.example.com/healthz', status: 200, differs: 'healthCheckType' },
      { url: 'http://x.y.deep.example.com/any', backend: 'any' },
      { url: 'http://x.y.deep.example.com/', status: 404 },
      { url: 'http://example.com/', status: 404 },
      { url: 'http://example.com/any', backend: 'any' },
      { url: 'http://.example.com/any', backend: 'any' },
      { url: 'http://.example.com/', status: 404 },
      { url: 'http://a!.example.com/', status: 404, because: 'a label has letters, digits, - and _ only' },
      { url: 'http://x.y.secure.example.org/any', backend: 'any', because: 'it is not redirected either' },
      { url: 'https://x.y.secure.example.org/any', backend: 'any' },
    ],
    'TLS of a wildcard host': [
      { url: 'https://a.secure.example.org/', backend: 'wild' },
      { url: 'http://a.secure.example.org/', ...to('https://a.secure.example.org') },
      { url: 'http://a.secure.example.org/x?y=z&a=%20', ...to('https://a.secure.example.org/x?y=z&a=%20') },
      { url: 'http://a.secure.example.org/x/', ...to('https://a.secure.example.org/x') },
      { url: 'http://a.secure.example.org:8080/x', ...to('https://a.secure.example.org/x') },
      { url: 'http://a.secure.example.org:80/x', ...to('https://a.secure.example.org/x') },
      {
        url: 'http://b.secure.example.org./x',
        ...to('https://b.secure.example.org/x'),
        differs: 'trailingDot',
        nginx: to('https://b.secure.example.org./x'),
      },
      { url: 'http://a.secure.example.org/a%2Fb%20c', ...to('https://a.secure.example.org/a%2Fb%20c') },
      { url: 'http://a.secure.example.org/x', method: 'POST', body: 'x', ...to('https://a.secure.example.org/x') },
      { url: 'http://a.secure.example.org/.well-known/acme-challenge/token', backend: 'solver' },
      { url: 'http://a.secure.example.org/.well-known/acme-challenge/other', status: 308 },
    ],
  },
});
