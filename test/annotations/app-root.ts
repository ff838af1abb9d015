import { startWith } from '../envoy/behaviour/cases.ts';
import { ingress } from '../support/manifests.ts';
import { type AnnotationTable, annotated } from './table.ts';

function host(name: string, annotations: Readonly<Record<string, string>>, paths = ['/'], more: object = {}) {
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: `${name}.root.example.com`, paths: paths.map((path) => ({ path })) }],
    ...more,
  });
}

function leadsTo(url: string, location: string, more: object = {}) {
  return { url, status: 302, answered: { location }, ...more };
}

export const appRoot: AnnotationTable = {
  title: 'application root',
  start: startWith(['web', 'other'], () => [
    host('none', {}),
    host('app', { 'app-root': '/app' }),
    host('secure', { 'app-root': '/app' }, ['/'], { tls: [{ hosts: ['secure.root.example.com'] }] }),
    host('variable', { 'app-root': '/app/$arg_x' }),
    host('bad', { 'app-root': 'app' }),
    host('self', { 'app-root': '/' }),
    host('unknown', { 'app-root': '/$1' }),
    // Of several Ingresses, the first that has one.
    host('several', {}, ['/a']),
    host('several', { 'app-root': '/b/' }, ['/b'], { name: 'several-2', created: '2030-01-01T00:00:00Z' }),
    host('several', { 'app-root': '/c' }, ['/', '/c'], { name: 'several-3', created: '2031-01-01T00:00:00Z' }),
    host('closed', { 'app-root': '/app', 'allowlist-source-range': '10.0.0.0/8;' }),
    ingress({
      name: 'exact',
      annotations: annotated({ 'app-root': '/app' }),
      rules: [{ host: 'exact.root.example.com', paths: [{ path: '/', pathType: 'Exact' }] }],
    }),
    ingress({
      name: 'redirected',
      annotations: annotated({ 'app-root': '/app', 'permanent-redirect': 'https://new.example.com' }),
      rules: [{ host: 'redirected.root.example.com', paths: [{ path: '/' }] }],
    }),
  ]),
  keys: {
    'app-root': {
      good: [
        leadsTo('http://app.root.example.com/', 'http://app.root.example.com/app'),
        leadsTo('http://app.root.example.com/?a=b', 'http://app.root.example.com/app', { because: 'no query is kept' }),
        leadsTo('http://App.root.example.com:8080/', 'http://App.root.example.com:8080/app', {
          because: 'the Host is as the client wrote it',
        }),
        leadsTo('https://app.root.example.com/', 'https://app.root.example.com/app'),
        leadsTo('http://app.root.example.com/', 'http://app.root.example.com/app', { method: 'POST', body: 'x' }),
        { url: 'http://app.root.example.com/app', backend: 'web' },
        { url: 'http://app.root.example.com/other', backend: 'web' },
        leadsTo('http://variable.root.example.com/?x=y', 'http://variable.root.example.com/app/y'),
      ],
      bad: [
        { url: 'http://bad.root.example.com/', backend: 'web', because: 'it is no absolute path' },
        { url: 'http://self.root.example.com/', backend: 'web', because: 'it would lead to itself' },
        { url: 'http://unknown.root.example.com/', backend: 'web', because: 'the variable is not known' },
      ],
      default: [{ url: 'http://none.root.example.com/', backend: 'web' }],
      neighbours: [
        leadsTo('http://several.root.example.com/', 'http://several.root.example.com/b/', {
          because: 'it holds for the whole host',
        }),
        leadsTo('http://secure.root.example.com/', 'http://secure.root.example.com/app', {
          because: 'it counts before the redirect to https',
        }),
        { url: 'http://secure.root.example.com/app', status: 308 },
        leadsTo('http://exact.root.example.com/', 'http://exact.root.example.com/app'),
        leadsTo('http://redirected.root.example.com/', 'http://redirected.root.example.com/app', {
          because: 'it counts before other redirects',
        }),
        { url: 'http://redirected.root.example.com/x', status: 301 },
        { url: 'http://closed.root.example.com/', status: 503, because: 'what is denied is not redirected' },
      ],
    },
  },
};
