import { startWith } from '../envoy/behaviour/cases.ts';
import { endpointSlice, ingress, service } from '../support/manifests.ts';
import { type AnnotationTable, annotated } from './table.ts';

function host(name: string, annotations: Readonly<Record<string, string>>, to: string, more: object = {}) {
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: `${name}.instead.example.com`, paths: [{ path: '/', service: to }, { path: '/web' }] }],
    ...more,
  });
}

const SORRY = { 'default-backend': 'sorry' };

/** What the stand-in is told. */
function told(ingressName: string, serviceName: string, port: string) {
  return {
    'x-code': '503',
    'x-format': 'text/plain',
    'x-namespace': 'default',
    'x-ingress-name': ingressName,
    'x-service-name': serviceName,
    'x-service-port': port,
  };
}

export const defaultBackend: AnnotationTable = {
  title: 'default backend of an Ingress',
  start: startWith(['web', 'sorry'], () => [
    service('empty'),
    endpointSlice('empty', ['127.0.0.1'], { port: 1, ready: false }),
    service('empty-too'),
    host('good', SORRY, 'empty:80'),
    host('missing', SORRY, 'nowhere:http'),
    host('alive', SORRY, 'web:80'),
    host('none', {}, 'empty:80'),
    host('bad', { 'default-backend': 'Sorry!' }, 'empty:80'),
    host('no-service', { 'default-backend': 'nowhere' }, 'empty:80'),
    host('both-empty', { 'default-backend': 'empty-too' }, 'empty:80'),
    host('tls', SORRY, 'empty:80', { tls: [{ hosts: ['tls.instead.example.com'] }] }),
    host('moved', { ...SORRY, 'permanent-redirect': '/elsewhere' }, 'empty:80'),
  ]),
  keys: {
    'default-backend': {
      good: [
        {
          url: 'http://good.instead.example.com/a%20b/?c=d',
          headers: { accept: 'text/plain' },
          backend: 'sorry',
          path: '/a%20b/?c=d',
          received: { ...told('good', 'empty', '80'), host: 'good.instead.example.com' },
        },
        {
          url: 'http://good.instead.example.com/a',
          method: 'POST',
          body: 'x',
          headers: { accept: 'text/plain', 'x-code': '200' },
          backend: 'sorry',
          received: { ...told('good', 'empty', '80'), 'content-length': '1' },
        },
        { url: 'http://good.instead.example.com/a', backend: 'sorry', received: { 'x-format': undefined } },
        {
          url: 'http://missing.instead.example.com/',
          headers: { accept: 'text/plain' },
          backend: 'sorry',
          received: told('missing', 'nowhere', 'http'),
        },
        { url: 'http://good.instead.example.com/web', backend: 'web', received: { 'x-code': undefined } },
        { url: 'http://alive.instead.example.com/', backend: 'web', received: { 'x-code': undefined } },
      ],
      bad: [
        { url: 'http://bad.instead.example.com/', status: 404, because: 'the Ingress is refused' },
        { url: 'http://no-service.instead.example.com/', status: 503, because: 'there is no such Service' },
        { url: 'http://both-empty.instead.example.com/', status: 503, because: 'it has no endpoint either' },
      ],
      default: [{ url: 'http://none.instead.example.com/', status: 503 }],
      neighbours: [
        { url: 'http://tls.instead.example.com/', status: 308, because: 'redirects count first' },
        { url: 'https://tls.instead.example.com/', backend: 'sorry' },
        { url: 'http://moved.instead.example.com/', status: 301 },
        { url: 'http://good.instead.example.com/web/x', backend: 'web' },
      ],
    },
  },
};
