/** Which requests belong to the host of a rule. */
import { startServices } from '../../envoy/behaviour/cases.ts';
import { ingress } from '../../support/manifests.ts';
import { table } from '../table.ts';

export const hosts = table({
  start: async () => {
    const services = await startServices('shop', 'blog', 'any');
    return {
      close: services.close,
      manifests: [
        ...services.manifests,
        ingress({ name: 'shop', rules: [{ host: 'shop.example.com', paths: [{ service: 'shop' }] }] }),
        ingress({ name: 'blog', rules: [{ host: 'blog.example.com', paths: [{ path: '/posts', service: 'blog' }] }] }),
        ingress({
          name: 'two-hosts',
          rules: [
            { host: 'one.example.com', paths: [{ service: 'shop' }] },
            { host: 'two.example.com', paths: [{ service: 'blog' }] },
          ],
        }),
        ingress({
          name: 'same-host-twice',
          rules: [
            { host: 'twice.example.com', paths: [{ path: '/a', service: 'shop' }] },
            { host: 'twice.example.com', paths: [{ path: '/b', service: 'blog' }] },
          ],
        }),
        ingress({ name: 'any', rules: [{ paths: [{ path: '/any', service: 'any' }] }] }),
        // What an API server would not take, but a folder may hold.
        ingress({ name: 'upper', rules: [{ host: 'UPPER.Example.com', paths: [{ service: 'shop' }] }] }),
        ingress({ name: 'dot', rules: [{ host: 'dot.example.com.', paths: [{ service: 'shop' }] }] }),
        ingress({
          name: 'invalid',
          rules: ['port.example.com:8080', '10.0.0.1', '[::1]', 'under_score.example.com', 'a.*.example.com'].map(
            (host) => ({ host, paths: [{ service: 'shop' }] }),
          ),
        }),
        ingress({ name: 'punycode', rules: [{ host: 'xn--bcher-kva.example.com', paths: [{ service: 'shop' }] }] }),
        ingress({ name: 'single', rules: [{ host: 'localhost', paths: [{ service: 'shop' }] }] }),
      ],
    };
  },
  groups: {
    'a host of a rule': [
      { url: 'http://shop.example.com/', backend: 'shop' },
      { url: 'http://shop.example.com/any', backend: 'shop', because: 'its own rules come before host-less ones' },
      { url: 'http://blog.example.com/posts/1', backend: 'blog' },
      { url: 'http://one.example.com/', backend: 'shop' },
      { url: 'http://two.example.com/', backend: 'blog' },
      { url: 'http://twice.example.com/a', backend: 'shop' },
      { url: 'http://twice.example.com/b', backend: 'blog' },
      { url: 'https://shop.example.com/', backend: 'shop', because: 'https is open to hosts without TLS of their own' },
    ],
    'a host that is spelt oddly': [
      { url: 'http://upper.example.com/', backend: 'shop' },
      { url: 'http://Upper.Example.COM/', backend: 'shop' },
      { url: 'http://dot.example.com/', backend: 'shop' },
      { url: 'http://dot.example.com./', backend: 'shop', differs: 'dotInHost' },
      { url: 'http://xn--bcher-kva.example.com/', backend: 'shop' },
      { url: 'http://XN--BCHER-KVA.example.com/', backend: 'shop' },
      { url: 'http://localhost:8080/', backend: 'shop' },
      { url: 'http://port.example.com:8080/', status: 404, because: 'its rule is refused' },
      { url: 'http://10.0.0.1/', status: 404 },
      { url: 'http://[::1]/', status: 404 },
      { url: 'http://under_score.example.com/', status: 404 },
    ],
    'the Host of a request': [
      { url: 'http://SHOP.Example.COM/', backend: 'shop', received: { host: 'SHOP.Example.COM' } },
      { url: 'http://shop.example.com:8080/', backend: 'shop', received: { host: 'shop.example.com:8080' } },
      { url: 'http://shop.example.com:80/', backend: 'shop', received: { host: 'shop.example.com:80' } },
      {
        url: 'http://shop.example.com./',
        backend: 'shop',
        because: 'a dot at the end is the root of the same name',
        differs: 'dotInHost',
      },
      { url: 'http://SHOP.example.com.:8080/', backend: 'shop', differs: 'dotInHost' },
      { url: 'http://shop.example.com.evil.org/', status: 404 },
      { url: 'http://xshop.example.com/', status: 404 },
      { url: 'http://x.shop.example.com/', status: 404 },
      { url: 'http://example.com/', status: 404 },
    ],
    'a host that nobody claims': [
      { url: 'http://unknown.example.org/any', backend: 'any', because: 'a rule without a host answers it' },
      { url: 'https://unknown.example.org/any', backend: 'any' },
      { url: 'http://127.0.0.1/any', backend: 'any' },
      { url: 'http://[::1]:8080/any', backend: 'any' },
      { url: 'http://unknown.example.org/', status: 404 },
      { url: 'https://unknown.example.org/', status: 404 },
      { url: 'http://unknown.example.org/healthz', status: 200, differs: 'healthCheckType' },
      { url: 'https://unknown.example.org/healthz', status: 200, differs: 'healthCheckType' },
      { url: 'http://blog.example.com/healthz', status: 404, because: 'only unclaimed hosts have it' },
      { url: 'http://shop.example.com/healthz', backend: 'shop' },
      { url: 'http://blog.example.com/any', status: 404, because: 'host-less rules are no fallback for claimed hosts' },
      { url: 'http://blog.example.com/', status: 404 },
    ],
  },
});
