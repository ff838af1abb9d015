import { configMap, ingress, service } from '../support/manifests.ts';
import { asksFor, startAnsweringBackend } from './answering-backend.ts';
import { type AnnotationTable, annotated } from './table.ts';

const DEFAULTS = {
  'access-control-allow-origin': '*',
  'access-control-allow-credentials': 'true',
  'access-control-allow-methods': 'GET, PUT, POST, DELETE, PATCH, OPTIONS',
  'access-control-allow-headers':
    'DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization',
  'access-control-expose-headers': undefined,
  'access-control-max-age': '1728000',
};

const NONE = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, undefined]));

function host(name: string, annotations: Readonly<Record<string, string>>, { tls = false, to = 'web' } = {}) {
  const address = `${name}.cors.example.com`;
  return ingress({
    name,
    annotations: annotated({ 'enable-cors': 'true', ...annotations }),
    rules: [{ host: address, paths: [{ path: '/', service: `${to}:80` }] }],
    ...(tls && { tls: [{ hosts: [address] }] }),
  });
}

function from(origin: string) {
  return { headers: { origin } };
}

export const cors: AnnotationTable = {
  title: 'cross-origin requests',
  start: async () => {
    const web = await startAnsweringBackend('web');
    return {
      close: web.close,
      build: { configMap: 'default/config' },
      manifests: [
        service('web'),
        web.slice('web'),
        service('gone'),
        host('on', {}),
        host('off', { 'enable-cors': 'false', 'cors-allow-origin': 'https://a.example.com' }),
        host('bad', { 'enable-cors': 'yes' }),
        host('list', { 'cors-allow-origin': 'https://a.example.com, nonsense, https://*.b.example.com:8443, null' }),
        host('mixed', { 'cors-allow-origin': 'https://a.example.com, *' }),
        host('bad-list', { 'cors-allow-origin': 'nonsense' }),
        host('texts', {
          'cors-allow-methods': 'GET, X',
          'cors-allow-headers': 'X-One, X_Two',
          'cors-expose-headers': 'X-Three,*',
          'cors-allow-credentials': 'false',
          'cors-max-age': '7',
        }),
        host('bad-texts', {
          'cors-allow-methods': 'GET; POST',
          'cors-allow-headers': 'X-One: 2',
          'cors-expose-headers': 'X-Three; X-Four',
          'cors-allow-credentials': 'no',
          'cors-max-age': '1h',
        }),
        host('tls', { 'cors-allow-origin': 'https://a.example.com' }, { tls: true }),
        host('gone', {}, { to: 'gone' }),
        host('small', { 'proxy-body-size': '3' }),
        host('own', { 'custom-headers': 'own' }),
        configMap('own', { 'Access-Control-Max-Age': '5', 'Access-Control-Allow-Origin': 'https://own.example.com' }),
        configMap('config', {
          'global-allowed-response-headers': 'Access-Control-Max-Age,Access-Control-Allow-Origin',
        }),
      ],
    };
  },
  keys: {
    'enable-cors': {
      good: [
        { url: 'http://on.cors.example.com/a', backend: 'web', answered: DEFAULTS },
        {
          url: 'http://on.cors.example.com/a',
          method: 'OPTIONS',
          status: 204,
          answered: { ...DEFAULTS, 'content-type': undefined },
          because: 'every OPTIONS is answered',
        },
        {
          url: 'http://on.cors.example.com/a',
          headers: asksFor({ 'access-control-allow-origin': 'https://other', 'access-control-max-age': '1' }),
          backend: 'web',
          answered: DEFAULTS,
          because: 'what the backend says does not count',
        },
        { url: 'http://off.cors.example.com/a', method: 'OPTIONS', backend: 'web', answered: NONE },
      ],
      bad: [{ url: 'http://bad.cors.example.com/a', method: 'OPTIONS', backend: 'web', answered: NONE }],
      default: [
        {
          url: 'http://off.cors.example.com/a',
          headers: asksFor({ 'access-control-allow-origin': 'https://other' }),
          backend: 'web',
          answered: { ...NONE, 'access-control-allow-origin': 'https://other' },
        },
      ],
      neighbours: [
        {
          url: 'http://small.cors.example.com/',
          method: 'POST',
          body: 'abcd',
          status: 413,
          answered: DEFAULTS,
          because: 'a page shall see why',
        },
        {
          url: 'http://own.cors.example.com/',
          backend: 'web',
          answered: {
            ...DEFAULTS,
            'access-control-max-age': '5',
            'access-control-allow-origin': 'https://own.example.com',
          },
          because: 'headers of the Ingress count more',
        },
        { url: 'http://gone.cors.example.com/', status: 503, answered: DEFAULTS, because: 'errors carry them too' },
        { url: 'http://gone.cors.example.com/', method: 'OPTIONS', status: 204, answered: DEFAULTS },
        {
          url: 'http://tls.cors.example.com/a',
          method: 'OPTIONS',
          ...from('https://a.example.com'),
          status: 204,
          answered: { ...DEFAULTS, 'access-control-allow-origin': 'https://a.example.com' },
          because: 'before the redirect',
        },
        {
          url: 'http://tls.cors.example.com/a',
          ...from('https://a.example.com'),
          status: 308,
          answered: {
            ...DEFAULTS,
            'access-control-allow-origin': 'https://a.example.com',
            location: 'https://tls.cors.example.com/a',
          },
        },
        { url: 'http://tls.cors.example.com/a', method: 'OPTIONS', status: 308, answered: NONE },
        {
          url: 'https://tls.cors.example.com/a',
          ...from('https://a.example.com'),
          backend: 'web',
          answered: {
            'access-control-allow-origin': 'https://a.example.com',
            'strict-transport-security': 'max-age=31536000; includeSubDomains',
          },
        },
      ],
    },
    'cors-allow-origin': {
      good: [
        ...['https://a.example.com', 'HTTPS://A.example.com', 'https://x-1.b.example.com:8443', 'null'].flatMap(
          (origin) => [
            {
              url: 'http://list.cors.example.com/',
              ...from(origin),
              backend: 'web',
              answered: { ...DEFAULTS, 'access-control-allow-origin': origin },
              because: `from ${origin}`,
            },
            {
              url: 'http://list.cors.example.com/',
              method: 'OPTIONS',
              ...from(origin),
              status: 204,
              answered: { ...DEFAULTS, 'access-control-allow-origin': origin },
              because: `from ${origin}`,
            },
          ],
        ),
        ...[
          'https://b.example.com:8443',
          'https://x.y.b.example.com:8443',
          'https://x.b.example.com',
          'https://a.example.com.evil.example.org',
          'xhttps://a.example.com',
          'https://aXexample.com',
          'nonsense',
        ].map((origin) => ({
          url: 'http://list.cors.example.com/',
          method: 'OPTIONS',
          ...from(origin),
          backend: 'web',
          answered: NONE,
          because: `from ${origin}`,
        })),
        {
          url: 'http://list.cors.example.com/',
          headers: {
            origin: 'https://c.example.com',
            ...asksFor({ 'access-control-allow-origin': 'https://c.example.com', 'access-control-max-age': '1' }),
          },
          backend: 'web',
          answered: {
            ...NONE,
            'access-control-allow-origin': 'https://c.example.com',
            'access-control-max-age': '1',
          },
          because: 'what a backend says to others stays',
        },
        { url: 'http://mixed.cors.example.com/', backend: 'web', answered: DEFAULTS },
      ],
      bad: [{ url: 'http://bad-list.cors.example.com/', backend: 'web', answered: DEFAULTS }],
      default: [
        { url: 'http://on.cors.example.com/', ...from('https://a.example.com'), backend: 'web', answered: DEFAULTS },
      ],
    },
    'cors-allow-methods': textCases('access-control-allow-methods', 'GET, X'),
    'cors-allow-headers': textCases('access-control-allow-headers', 'X-One, X_Two'),
    'cors-expose-headers': textCases('access-control-expose-headers', 'X-Three,*'),
    'cors-allow-credentials': textCases('access-control-allow-credentials', undefined),
    'cors-max-age': textCases('access-control-max-age', '7'),
  },
};

function textCases(header: keyof typeof DEFAULTS, value: string | undefined) {
  const byDefault = { [header]: DEFAULTS[header] };
  return {
    good: [{ url: 'http://texts.cors.example.com/', backend: 'web', answered: { [header]: value } }],
    bad: [{ url: 'http://bad-texts.cors.example.com/', backend: 'web', answered: byDefault }],
    default: [{ url: 'http://on.cors.example.com/', backend: 'web', answered: byDefault }],
  };
}
