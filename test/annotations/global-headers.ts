/** Keys of the ConfigMap about headers: worlds where they are set in two ways, where nobody can read them, and where they are absent. */
import type { World } from '../parity/table.ts';
import { configMap, ingress, service } from '../support/manifests.ts';
import { asksFor, startAnsweringBackend } from './answering-backend.ts';
import { type AnnotationTable, annotated } from './table.ts';

const HTTP = 'http://web.global.example.com/';
const HTTPS = 'https://web.global.example.com/';
const GONE = 'https://gone.global.example.com/';
const DEFAULT_HSTS = 'max-age=31536000; includeSubDomains';

async function world(data: Readonly<Record<string, string>>): Promise<World> {
  const web = await startAnsweringBackend('web');
  const host = (name: string, annotations: Readonly<Record<string, string>> = {}) =>
    ingress({
      name,
      annotations: annotated(annotations),
      rules: [
        { host: `${name}.global.example.com`, paths: [{ path: '/', service: `${name === 'gone' ? name : 'web'}:80` }] },
      ],
    });
  return {
    close: web.close,
    build: { configMap: 'default/config' },
    manifests: [
      service('web'),
      web.slice('web'),
      service('gone'),
      host('web'),
      host('gone'),
      ingress({
        name: 'secure',
        rules: [{ host: 'secure.global.example.com', paths: [{}] }],
        tls: [{ hosts: ['secure.global.example.com'] }],
      }),
      host('own', { 'custom-headers': 'own' }),
      host('moved', { 'rewrite-target': '/inside', 'upstream-vhost': 'inside.example.com' }),
      configMap('config', { 'global-allowed-response-headers': 'X-Both', ...data }),
      configMap('own', { 'X-Both': 'of the Ingress' }),
      configMap(
        'answers',
        {
          'X-Constant': '5% "x" \\',
          'X-Both': 'of all',
          'X-Query': 'at $arg_q on $host',
          'X-Absent': '$arg_nothing',
          'X-Asked': '$host|$http_host|$request_uri|$uri',
          'X-Empty': '',
          'X-Unknown': '$nonsense',
          'Content-Length': '0',
        },
        'other',
      ),
      configMap('requests', {
        'X-Constant': '5% "x" \\',
        'X-Real-IP': 'nobody',
        'X-Method': '$request_method $uri',
        'X-User': '$cookie_user',
        'X-Copy': '$http_x_copy',
        'X-Empty': '',
        'X-Unknown': '$nonsense',
        Host: 'elsewhere.example.com',
      }),
    ],
  };
}

const CLAIMED = {
  'x-constant': 'client',
  'x-user': 'admin',
  'x-copy': 'kept',
  'x-empty': 'client',
  'x-unknown': 'client',
};
const BACKEND = {
  server: 'backend/1.0',
  'x-powered-by': 'backend',
  'x-constant': 'backend',
  'x-query': 'backend',
  'x-absent': 'backend',
  'x-empty': 'backend',
  'x-unknown': 'backend',
  'strict-transport-security': 'max-age=1',
};
const asked = { headers: asksFor(BACKEND) };

export const globalHeadersSet: AnnotationTable = {
  title: 'headers of all hosts',
  start: () =>
    world({
      'add-headers': 'other/answers',
      'block-user-agents': 'blocked',
      'proxy-set-headers': 'default/requests',
      'hide-headers': 'X-Powered-By, X-Nothing',
      'server-tokens': 'true',
      'allow-backend-server-header': 'true',
      'hsts-max-age': '600',
      'hsts-include-subdomains': 'false',
      'hsts-preload': 'true',
      'proxy-add-original-uri-header': 'true',
    }),
  keys: {
    'ConfigMap add-headers': {
      good: [
        {
          url: `${HTTP}?q=1`,
          ...asked,
          backend: 'web',
          answered: {
            'x-constant': '5% "x" \\',
            'x-query': 'at 1 on web.global.example.com',
            'x-absent': undefined,
            'x-empty': undefined,
            'x-unknown': 'backend',
          },
        },
        { url: GONE, status: 503, answered: { 'x-constant': '5% "x" \\' } },
        ...['http://web.global.example.com', 'https://web.global.example.com', 'http://nobody.example.org'].map(
          (url) => ({
            url: `${url}/?q=1`,
            headers: { 'user-agent': 'blocked' },
            status: 403,
            answered: {
              'x-constant': '5% "x" \\',
              'x-query': `at 1 on ${new URL(url).hostname}`,
              'x-empty': undefined,
            },
            because: 'it is there on what no backend has answered',
          }),
        ),
        {
          url: 'http://secure.global.example.com/',
          headers: { 'user-agent': 'blocked' },
          status: 403,
          answered: { 'x-both': 'of all' },
        },
        { url: 'http://secure.global.example.com/', status: 308, answered: { 'x-both': 'of all' } },
      ],
      default: [],
      neighbours: [
        { url: 'http://own.global.example.com/', backend: 'web', answered: { 'x-both': 'of the Ingress' } },
        {
          url: 'http://moved.global.example.com/a?b',
          backend: 'web',
          received: { host: 'inside.example.com' },
          answered: { 'x-asked': 'moved.global.example.com|moved.global.example.com|/a?b|/inside' },
        },
        {
          url: `${GONE}a?b`,
          status: 503,
          answered: { 'x-asked': 'gone.global.example.com|gone.global.example.com|/a?b|/a' },
        },
      ],
    },
    'ConfigMap proxy-set-headers': {
      good: [
        {
          url: `${HTTP}a?q=1`,
          headers: CLAIMED,
          backend: 'web',
          received: {
            'x-constant': '5% "x" \\',
            'x-real-ip': 'nobody',
            'x-method': 'GET /a',
            'x-user': undefined,
            'x-copy': 'kept',
            'x-empty': undefined,
            'x-unknown': 'client',
            host: 'web.global.example.com',
            'x-forwarded-for': '127.0.0.1',
          },
        },
        { url: HTTP, headers: { cookie: 'a=b; user=me' }, backend: 'web', received: { 'x-user': 'me' } },
      ],
      default: [],
    },
    'ConfigMap hide-headers': {
      good: [{ url: HTTP, ...asked, backend: 'web', answered: { 'x-powered-by': undefined } }],
      default: [],
    },
    'ConfigMap server-tokens': {
      good: [
        {
          url: GONE,
          status: 503,
          answered: { server: 'nginx' },
          nginx: { status: 503 },
        },
      ],
      default: [],
    },
    'ConfigMap allow-backend-server-header': {
      good: [{ url: HTTP, ...asked, backend: 'web', answered: { server: 'backend/1.0' } }],
      default: [],
    },
    'ConfigMap hsts-max-age': { good: [shown('max-age=600; preload')], default: [] },
    'ConfigMap hsts-include-subdomains': { good: [shown('max-age=600; preload')], default: [] },
    'ConfigMap hsts-preload': {
      good: [
        shown('max-age=600; preload'),
        { url: `${GONE}%`, status: 400, answered: { 'strict-transport-security': 'max-age=600; preload' } },
      ],
      default: [],
    },
    'ConfigMap proxy-add-original-uri-header': {
      good: [
        {
          url: `${HTTP}a%20b?c`,
          headers: { 'x-original-uri': '/claimed' },
          backend: 'web',
          received: { 'x-original-uri': '/a%20b?c' },
        },
      ],
      default: [],
    },
  },
};

export const globalHeadersOff: AnnotationTable = {
  title: 'headers of all hosts, switched off',
  start: () => world({ hsts: 'false', 'allow-backend-server-header': 'true' }),
  keys: {
    'ConfigMap hsts': {
      good: [
        { url: HTTPS, ...asked, backend: 'web', answered: { 'strict-transport-security': 'max-age=1' } },
        { url: GONE, status: 503, answered: { 'strict-transport-security': undefined } },
      ],
      default: [],
    },
    'ConfigMap allow-backend-server-header': {
      good: [],
      default: [],
      neighbours: [{ url: HTTP, ...asked, backend: 'web', ...withoutServer() }],
    },
  },
};

export const globalHeadersUnreadable: AnnotationTable = {
  title: 'headers of all hosts, with values that nobody can read',
  start: () =>
    world({
      'add-headers': 'answers',
      'proxy-set-headers': 'default/nowhere',
      'hide-headers': 'X Powered By',
      'server-tokens': 'on',
      'allow-backend-server-header': 'yes',
      hsts: 'off',
      'hsts-max-age': '1y',
      'hsts-include-subdomains': 'no',
      'hsts-preload': 'yes',
      'proxy-add-original-uri-header': 'yes',
    }),
  keys: byDefault('bad'),
};

export const globalHeadersDefault: AnnotationTable = {
  title: 'headers of all hosts, by default',
  start: () => world({}),
  keys: byDefault('default'),
};

function shown(value: string) {
  return { url: HTTPS, ...asked, backend: 'web', answered: { 'strict-transport-security': value } };
}

/** Without Lua nginx cannot leave it out. */
function withoutServer() {
  return { answered: { server: undefined }, differs: 'server', nginx: { backend: 'web' } } as const;
}

function byDefault(kind: 'bad' | 'default'): AnnotationTable['keys'] {
  const cases: AnnotationTable['keys'] = {
    'ConfigMap add-headers': {
      good: [],
      default: [{ url: HTTP, ...asked, backend: 'web', answered: { 'x-constant': 'backend', 'x-empty': 'backend' } }],
    },
    'ConfigMap proxy-set-headers': {
      good: [],
      default: [{ url: HTTP, headers: CLAIMED, backend: 'web', received: { ...CLAIMED, 'x-real-ip': '127.0.0.1' } }],
    },
    'ConfigMap hide-headers': {
      good: [],
      default: [{ url: HTTP, ...asked, backend: 'web', answered: { 'x-powered-by': 'backend' } }],
    },
    'ConfigMap server-tokens': { good: [], default: [{ url: HTTP, ...asked, backend: 'web', ...withoutServer() }] },
    'ConfigMap allow-backend-server-header': {
      good: [],
      default: [{ url: HTTP, ...asked, backend: 'web', ...withoutServer() }],
    },
    'ConfigMap hsts': {
      good: [],
      default: [
        shown(DEFAULT_HSTS),
        { url: GONE, status: 503, answered: { 'strict-transport-security': DEFAULT_HSTS } },
      ],
    },
    'ConfigMap hsts-max-age': { good: [], default: [shown(DEFAULT_HSTS)] },
    'ConfigMap hsts-include-subdomains': { good: [], default: [shown(DEFAULT_HSTS)] },
    'ConfigMap hsts-preload': { good: [], default: [shown(DEFAULT_HSTS)] },
    'ConfigMap proxy-add-original-uri-header': {
      good: [],
      default: [{ url: HTTP, backend: 'web', received: { 'x-original-uri': undefined } }],
    },
  };
  if (kind === 'default') return cases;
  return Object.fromEntries(
    Object.entries(cases).map(([name, { default: rows }]) => [name, { good: [], bad: rows, default: [] }]),
  );
}
