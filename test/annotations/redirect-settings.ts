/** What the ConfigMap says about redirects: set, unreadable, and not set. */
import { startServices } from '../envoy/behaviour/cases.ts';
import type { World } from '../parity/table.ts';
import { configMap, ingress } from '../support/manifests.ts';
import { redirectCase } from './named-ports.ts';
import { type AnnotationTable, annotated } from './table.ts';

interface Host {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly paths?: readonly string[];
  readonly tls?: boolean;
}

const HOSTS: Readonly<Record<string, Host>> = {
  plain: {},
  tls: { tls: true },
  own: {
    tls: true,
    annotations: {
      'ssl-redirect': 'true',
      'force-ssl-redirect': 'false',
      'preserve-trailing-slash': 'false',
      'use-port-in-redirects': 'false',
    },
  },
  paths: { tls: true, paths: ['/', '/free', '/freely', '/.well-known/acme-challenge/x'] },
  moved: { annotations: { 'permanent-redirect': '/elsewhere' } },
  'moved-own': { annotations: { 'permanent-redirect': '/elsewhere', 'relative-redirects': 'false' } },
  root: { annotations: { 'app-root': '/app' } },
  to: { annotations: { 'from-to-www-redirect': 'true' } },
};

async function world(data: Readonly<Record<string, string>>): Promise<World> {
  const services = await startServices('web');
  return {
    close: services.close,
    build: { configMap: 'default/config' },
    manifests: [
      ...services.manifests,
      configMap('config', data),
      ...Object.entries(HOSTS).map(([name, { annotations = {}, paths = ['/'], tls = false }]) => {
        const host = `${name}.settings.example.com`;
        return ingress({
          name,
          annotations: annotated(annotations),
          rules: [{ host, paths: paths.map((path) => ({ path })) }],
          ...(tls && { tls: [{ hosts: [host] }] }),
        });
      }),
    ],
  };
}

const toHttps = redirectCase('http://tls.settings.example.com/a/', 308, 'https://tls.settings.example.com/a');
const moved = redirectCase('http://moved.settings.example.com/', 301, 'http://moved.settings.example.com/elsewhere');
const served = { url: 'http://plain.settings.example.com/', backend: 'web' };
const challenge = { url: 'http://paths.settings.example.com/.well-known/acme-challenge/x', backend: 'web' };

const changed: AnnotationTable = {
  title: 'redirects, as the ConfigMap wants them',
  start: () =>
    world({
      'http-redirect-code': '301',
      'no-tls-redirect-locations': '/free, /open',
      'preserve-trailing-slash': 'true',
      'use-port-in-redirects': 'true',
      'relative-redirects': 'true',
    }),
  keys: {
    'ConfigMap http-redirect-code': {
      good: [
        redirectCase('http://own.settings.example.com/a', 301, 'https://own.settings.example.com/a'),
        redirectCase('http://www.to.settings.example.com/a', 301, 'http://to.settings.example.com:HTTP/a'),
      ],
      default: [],
    },
    'ConfigMap no-tls-redirect-locations': {
      good: [
        { url: 'http://paths.settings.example.com/free/a', backend: 'web' },
        { url: 'http://paths.settings.example.com/freely', backend: 'web', because: 'beginnings are compared' },
        { url: 'http://paths.settings.example.com/open', status: 301, because: 'the path of the Ingress counts' },
        { url: challenge.url, status: 301, because: 'the list is another' },
      ],
      default: [],
    },
    'ConfigMap preserve-trailing-slash': {
      good: [redirectCase('http://tls.settings.example.com/a/', 301, 'https://tls.settings.example.com:HTTPS/a/')],
      default: [],
      neighbours: [
        redirectCase('http://own.settings.example.com/a/', 301, 'https://own.settings.example.com/a', 'as annotated'),
      ],
    },
    'ConfigMap use-port-in-redirects': {
      good: [redirectCase('http://tls.settings.example.com/a', 301, 'https://tls.settings.example.com:HTTPS/a')],
      default: [],
      neighbours: [
        redirectCase(
          'http://moved-own.settings.example.com/',
          301,
          'http://moved-own.settings.example.com:HTTP/elsewhere',
        ),
      ],
    },
    'ConfigMap relative-redirects': {
      good: [redirectCase('http://moved.settings.example.com/', 301, '/elsewhere')],
      default: [],
      neighbours: [redirectCase('http://tls.settings.example.com/', 301, 'https://tls.settings.example.com:HTTPS/')],
    },
  },
};

const notSecure: AnnotationTable = {
  title: 'the redirect to https, as the ConfigMap wants it',
  start: () => world({ 'ssl-redirect': 'false', 'force-ssl-redirect': 'false' }),
  keys: {
    'ConfigMap ssl-redirect': {
      good: [{ url: 'http://tls.settings.example.com/', backend: 'web' }],
      default: [],
      neighbours: [{ url: 'http://own.settings.example.com/', status: 308, because: 'as annotated' }],
    },
  },
};

const forced: AnnotationTable = {
  title: 'the redirect to https everywhere',
  start: () => world({ 'force-ssl-redirect': 'true' }),
  keys: {
    'ConfigMap force-ssl-redirect': {
      good: [
        redirectCase('http://plain.settings.example.com/a', 308, 'https://plain.settings.example.com/a'),
        redirectCase('http://unknown.example.org/a', 308, 'https://unknown.example.org/a'),
      ],
      default: [],
      neighbours: [
        { url: 'https://plain.settings.example.com/', backend: 'web' },
        moved,
        { url: 'http://unknown.example.org/healthz', status: 200, differs: 'healthCheckType' },
        { ...challenge, because: 'it is never redirected' },
      ],
    },
  },
};

const unreadable: AnnotationTable = {
  title: 'redirects, with values in the ConfigMap that nobody can read',
  start: () =>
    world({
      'ssl-redirect': 'no',
      'force-ssl-redirect': 'yes',
      'http-redirect-code': '303',
      'preserve-trailing-slash': 'on',
      'use-port-in-redirects': 'on',
      'relative-redirects': 'on',
    }),
  keys: {
    'ConfigMap ssl-redirect': { good: [], bad: [toHttps], default: [] },
    'ConfigMap force-ssl-redirect': { good: [], bad: [served], default: [] },
    'ConfigMap http-redirect-code': { good: [], bad: [toHttps], default: [] },
    'ConfigMap preserve-trailing-slash': { good: [], bad: [toHttps], default: [] },
    'ConfigMap use-port-in-redirects': { good: [], bad: [toHttps, moved], default: [] },
    'ConfigMap relative-redirects': { good: [], bad: [moved], default: [] },
  },
};

const byDefault: AnnotationTable = {
  title: 'redirects, by default',
  start: () => world({}),
  keys: {
    'ConfigMap ssl-redirect': { good: [], default: [toHttps] },
    'ConfigMap force-ssl-redirect': { good: [], default: [served] },
    'ConfigMap http-redirect-code': { good: [], default: [toHttps] },
    'ConfigMap no-tls-redirect-locations': {
      good: [],
      default: [challenge, { url: 'http://paths.settings.example.com/free', status: 308 }],
    },
    'ConfigMap preserve-trailing-slash': { good: [], default: [toHttps] },
    'ConfigMap use-port-in-redirects': { good: [], default: [toHttps, moved] },
    'ConfigMap relative-redirects': { good: [], default: [moved] },
  },
};

const forwardedHeaders = {
  'x-forwarded-proto': 'https',
  'x-forwarded-port': '8443',
  'x-forwarded-host': 'www.to.settings.example.com',
};

/** Where a load balancer in front ends TLS. */
const forwarded: AnnotationTable = {
  title: 'redirects, where a load balancer is believed',
  start: () => world({ 'use-forwarded-headers': 'true' }),
  keys: {
    'from-to-www-redirect': {
      good: [],
      default: [],
      neighbours: [
        {
          url: 'http://www.to.settings.example.com/a/',
          headers: forwardedHeaders,
          status: 308,
          answered: { location: 'https://to.settings.example.com:8443/a' },
        },
        redirectCase('http://www.to.settings.example.com/a', 308, 'http://to.settings.example.com:HTTP/a'),
      ],
    },
    'permanent-redirect': {
      good: [],
      default: [],
      neighbours: [
        {
          url: 'http://moved.settings.example.com/',
          headers: { 'x-forwarded-proto': 'https' },
          status: 301,
          answered: { location: 'https://moved.settings.example.com/elsewhere' },
          differs: 'forwardedRedirect',
        },
      ],
    },
    'app-root': {
      good: [],
      default: [],
      neighbours: [
        {
          url: 'http://root.settings.example.com/',
          headers: { 'x-forwarded-proto': 'https' },
          status: 302,
          answered: { location: 'https://root.settings.example.com/app' },
          differs: 'forwardedRedirect',
        },
      ],
    },
  },
};

export const redirectSettings: readonly AnnotationTable[] = [
  changed,
  notSecure,
  forced,
  unreadable,
  byDefault,
  forwarded,
];
