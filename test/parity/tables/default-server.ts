/** What answers where no rule does, with `--default-backend-service`. */
import { startServices } from '../../envoy/behaviour/cases.ts';
import { ingress } from '../../support/manifests.ts';
import { table } from '../table.ts';

const HSTS = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' };

export const defaultServer = table({
  start: async () => {
    const services = await startServices('web', 'any', 'fallback', 'other');
    return {
      close: services.close,
      build: { defaultBackendService: 'default/fallback' },
      manifests: [
        ...services.manifests,
        ingress({ name: 'shop', rules: [{ host: 'shop.example.com', paths: [{ path: '/shop' }] }] }),
        ingress({
          name: 'own',
          defaultBackend: 'other:80',
          rules: [{ host: 'own.example.com', paths: [{ path: '/own' }] }],
        }),
        ingress({
          name: 'secure',
          rules: [{ host: 'secure.example.com', paths: [{ path: '/a' }] }],
          tls: [{ hosts: ['secure.example.com'] }],
        }),
        ingress({ name: 'wild', rules: [{ host: '*.wild.example.com', paths: [{ path: '/a' }] }] }),
        ingress({ name: 'any', rules: [{ paths: [{ path: '/any', service: 'any' }] }] }),
      ],
    };
  },
  groups: {
    'what nobody wants': [
      { url: 'http://unknown.example.org/', backend: 'fallback' },
      { url: 'http://unknown.example.org/x?y=z', backend: 'fallback', path: '/x?y=z' },
      { url: 'https://unknown.example.org/', backend: 'fallback', answered: HSTS },
      { url: 'http://10.0.0.1/', backend: 'fallback' },
      { url: 'http://unknown.example.org/any', backend: 'any', because: 'a rule without a host wants it' },
      {
        url: 'http://unknown.example.org/healthz',
        status: 200,
        differs: 'healthCheckType',
        because: 'the health check stays',
      },
      { url: 'http://shop.example.com/', backend: 'fallback' },
      { url: 'http://shop.example.com/shop', backend: 'web' },
      { url: 'http://own.example.com/', backend: 'other', because: 'its Ingress has a default backend of its own' },
      { url: 'http://secure.example.com/', status: 308, because: 'what no rule names belongs to the host' },
      { url: 'https://secure.example.com/', backend: 'fallback' },
      { url: 'http://a.wild.example.com/', backend: 'fallback' },
      { url: 'http://a.b.wild.example.com/', backend: 'fallback' },
      { url: 'http://a.b.wild.example.com/a', backend: 'fallback' },
    ],
  },
});
