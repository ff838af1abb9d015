import { startWith } from '../envoy/behaviour/cases.ts';
import { ingress, type Manifest } from '../support/manifests.ts';
import { type AnnotationTable, annotated } from './table.ts';

function host(name: string, value?: string): Manifest {
  return ingress({
    name,
    annotations: annotated(value === undefined ? {} : { 'upstream-vhost': value }),
    rules: [{ host: `${name}.vhost.example.com`, paths: [{ path: '/' }] }],
  });
}

export const upstreamHost: AnnotationTable = {
  title: 'the Host for backends',
  start: startWith(['web'], () => [
    host('constant', 'internal.example.com:8080'),
    host('service', '$service_name.$namespace.svc.cluster.local:$service_port'),
    host('variable', '$host.internal-$http_x_tenant'),
    host('ingress', '$ingress_name'),
    host('bad', 'a b;c'),
    host('unknown', '$nothing'),
    host('default'),
  ]),
  keys: {
    'upstream-vhost': {
      good: [
        {
          url: 'http://constant.vhost.example.com/',
          backend: 'web',
          received: {
            host: 'internal.example.com:8080',
            'x-forwarded-host': 'constant.vhost.example.com',
            'x-envoy-original-host': undefined,
          },
        },
        {
          url: 'http://service.vhost.example.com/',
          backend: 'web',
          received: { host: 'web.default.svc.cluster.local:80' },
        },
        {
          url: 'http://variable.vhost.example.com/',
          headers: { 'x-tenant': 'a' },
          backend: 'web',
          received: { host: 'variable.vhost.example.com.internal-a' },
        },
        { url: 'http://ingress.vhost.example.com/', backend: 'web', received: { host: 'ingress' } },
      ],
      bad: [
        { url: 'http://bad.vhost.example.com/', status: 404, because: 'the Ingress is not taken' },
        { url: 'http://unknown.vhost.example.com/', status: 404 },
      ],
      default: [
        { url: 'http://default.vhost.example.com/', backend: 'web', received: { host: 'default.vhost.example.com' } },
      ],
    },
  },
};
