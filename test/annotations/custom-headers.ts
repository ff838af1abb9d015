import { configMap, ingress, service } from '../support/manifests.ts';
import { asksFor, startAnsweringBackend } from './answering-backend.ts';
import { type AnnotationTable, annotated } from './table.ts';

const CONFIG = {
  'global-allowed-response-headers': 'X-Frame-Options, X-Percent, X-Gone, X-Bad',
};

function host(name: string, annotations: Readonly<Record<string, string>>, { tls = false, to = 'web' } = {}) {
  const address = `${name}.headers.example.com`;
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: address, paths: [{ path: '/', service: `${to}:80` }] }],
    ...(tls && { tls: [{ hosts: [address] }] }),
  });
}

const SET = { 'x-frame-options': 'DENY', 'x-percent': '5% of $host "x" \\', 'x-gone': undefined };
const ASKED = asksFor({ 'x-frame-options': 'ALLOW', 'x-gone': 'here' });
const FROM_BACKEND = { 'x-frame-options': 'ALLOW', 'x-gone': 'here' };

export const customHeaders: AnnotationTable = {
  title: 'headers of answers',
  start: async () => {
    const web = await startAnsweringBackend('web');
    return {
      close: web.close,
      build: { configMap: 'default/config' },
      manifests: [
        configMap('config', CONFIG),
        configMap('good', { 'X-Frame-Options': 'DENY', 'X-Percent': '5% of $host "x" \\', 'X-Gone': '' }),
        configMap('unlisted', { 'x-frame-options': 'DENY' }),
        configMap('bad', { 'X-Bad': 'grün' }),
        configMap('long', Object.fromEntries(['X-Bad', 'X-Percent'].map((name) => [name, 'x'.repeat(8_300)]))),
        configMap('elsewhere', { 'X-Frame-Options': 'DENY' }, 'other'),
        service('web'),
        web.slice('web'),
        service('gone'),
        host('good', { 'custom-headers': 'good' }),
        host('long', { 'custom-headers': 'long' }),
        host('qualified', { 'custom-headers': 'default/good' }),
        host('tls', { 'custom-headers': 'good' }, { tls: true }),
        host('gone', { 'custom-headers': 'good' }, { to: 'gone' }),
        host('cors', { 'custom-headers': 'good', 'enable-cors': 'true' }),
        host('missing', { 'custom-headers': 'nowhere' }),
        host('unlisted', { 'custom-headers': 'unlisted' }),
        host('bad', { 'custom-headers': 'bad' }),
        host('elsewhere', { 'custom-headers': 'other/elsewhere' }),
        host('no-name', { 'custom-headers': 'not a name' }),
        host('default', {}),
        host('push', { 'http2-push-preload': 'true' }),
        host('bad-push', { 'http2-push-preload': 'yes' }),
        host('keep-alive', { 'connection-proxy-header': 'keep-alive' }),
        host('close', { 'connection-proxy-header': 'close' }),
        host('bad-connection', { 'connection-proxy-header': 'open' }),
      ],
    };
  },
  keys: {
    'custom-headers': {
      good: [
        { url: 'http://good.headers.example.com/', headers: ASKED, backend: 'web', answered: SET },
        { url: 'http://qualified.headers.example.com/', headers: ASKED, backend: 'web', answered: SET },
        { url: 'http://gone.headers.example.com/', status: 503, answered: SET },
      ],
      bad: ['missing', 'unlisted', 'bad', 'long', 'elsewhere', 'no-name'].map((name) => ({
        url: `http://${name}.headers.example.com/`,
        status: 503,
      })),
      default: [{ url: 'http://default.headers.example.com/', headers: ASKED, backend: 'web', answered: FROM_BACKEND }],
      neighbours: [
        { url: 'http://tls.headers.example.com/', status: 308, answered: SET },
        {
          url: 'https://tls.headers.example.com/',
          backend: 'web',
          answered: { ...SET, 'strict-transport-security': 'max-age=31536000; includeSubDomains' },
        },
        {
          url: 'http://cors.headers.example.com/',
          method: 'OPTIONS',
          status: 204,
          answered: { ...SET, 'access-control-allow-origin': '*' },
        },
      ],
    },
    'ConfigMap global-allowed-response-headers': {
      good: [{ url: 'http://good.headers.example.com/', backend: 'web', answered: SET }],
      bad: [{ url: 'http://unlisted.headers.example.com/', status: 503, because: 'names are compared in their case' }],
      default: [{ url: 'http://unlisted.headers.example.com/', status: 503, because: 'what is not listed is refused' }],
    },
    'connection-proxy-header': {
      good: [
        {
          url: 'http://keep-alive.headers.example.com/',
          backend: 'web',
          received: { host: 'keep-alive.headers.example.com', 'x-forwarded-proto': 'http', proxy: undefined },
        },
        {
          url: 'http://close.headers.example.com/',
          backend: 'web',
          nginx: { backend: 'web', received: { connection: 'close' } },
        },
      ],
      bad: [{ url: 'http://bad-connection.headers.example.com/', status: 404 }],
      default: [{ url: 'http://default.headers.example.com/', backend: 'web', received: { connection: undefined } }],
    },
    'http2-push-preload': {
      good: [
        {
          url: 'http://push.headers.example.com/',
          headers: asksFor({ link: '</a.css>; rel=preload' }),
          backend: 'web',
          answered: { link: '</a.css>; rel=preload' },
        },
      ],
      bad: [{ url: 'http://bad-push.headers.example.com/', status: 404 }],
      default: [{ url: 'http://default.headers.example.com/', backend: 'web' }],
    },
  },
};
