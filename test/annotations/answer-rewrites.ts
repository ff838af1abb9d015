/** What is made of addresses in the answers of backends, as annotations and as the ConfigMap ask for it. */
import type { Exchange, Ports, World } from '../parity/table.ts';
import { send } from '../support/http-client.ts';
import { configMap, ingress, service } from '../support/manifests.ts';
import { asksFor, startAnsweringBackend } from './answering-backend.ts';
import { type AnnotationTable, annotated } from './table.ts';

type Values = Readonly<Record<string, string>>;

async function world(data: Values, hosts: Readonly<Record<string, Values>>): Promise<World> {
  const web = await startAnsweringBackend('web');
  return {
    close: web.close,
    build: { configMap: 'default/config' },
    manifests: [
      service('web'),
      web.slice('web'),
      configMap('config', data),
      ...Object.entries(hosts).map(([name, annotations]) =>
        ingress({
          name,
          annotations: annotated(annotations),
          rules: [{ host: `${name}.answers.example.com`, paths: [{ path: '/' }] }],
        }),
      ),
    ],
  };
}

/** What a client sees of a header of the backend, which may stand there several times. */
function sees(host: string, header: string, given: readonly string[], seen: readonly string[]): Exchange {
  return {
    title: `${host}: ${header} ${given.join(' and ')}`,
    run: async ({ httpPort }: Ports) => {
      const { headers } = await send({
        port: httpPort,
        host: `${host}.answers.example.com`,
        headers: asksFor({ [header]: given }),
      });
      return [headers[header]].flat();
    },
    expected: seen,
  };
}

/** nginx makes an absolute URL of what a rewrite has made a path. */
function absolute(host: string, { expected, ...row }: Exchange): Exchange {
  const seen = (expected as readonly string[]).map((path) => `http://${host}.answers.example.com${path}`);
  return { ...row, expected, differs: 'rewrittenLocation', nginx: seen };
}

const DOMAIN = ['a=1; Domain=old.example.com; Path=/app/x; HttpOnly'];
const LOCATION = ['http://old.example.com/x?y=1'];

const ANNOTATED: Readonly<Record<string, Values>> = {
  domain: { 'proxy-cookie-domain': '.old.example.com new.example.com' },
  'domain-pattern': { 'proxy-cookie-domain': '~OLD.example new.example.com' },
  'bad-domain': { 'proxy-cookie-domain': 'old.example.com' },
  path: { 'proxy-cookie-path': '/app/ /' },
  'path-pattern': { 'proxy-cookie-path': '~a.p/ /other' },
  'bad-path': { 'proxy-cookie-path': '/app/ / /x' },
  both: { 'proxy-cookie-path': '/app/  /', 'proxy-cookie-domain': 'old.example.com new.example.com' },
  location: { 'proxy-redirect-from': 'http://old.example.com/', 'proxy-redirect-to': 'https://new.example.com/a/' },
  'location-pattern': { 'proxy-redirect-from': '~old.example.com/x', 'proxy-redirect-to': '/y' },
  'bad-location': { 'proxy-redirect-from': 'http://old.example.com/', 'proxy-redirect-to': '$host' },
  'bad-from': { 'proxy-redirect-from': '(.*)', 'proxy-redirect-to': '/' },
  'off-location': { 'proxy-redirect-from': 'default', 'proxy-redirect-to': '/' },
  plain: {},
};

export const answerRewrites: AnnotationTable = {
  title: 'addresses in answers of backends',
  start: () => world({}, ANNOTATED),
  keys: {
    'proxy-cookie-domain': {
      good: [
        sees('domain', 'set-cookie', DOMAIN, ['a=1; Domain=new.example.com; Path=/app/x; HttpOnly']),
        sees(
          'domain',
          'set-cookie',
          ['a=1; domain=.OLD.example.com', 'b=domain=old.example.com; domain=x.old.example.com', 'c=3'],
          ['a=1; domain=.new.example.com', 'b=domain=old.example.com; domain=x.old.example.com', 'c=3'],
        ),
        sees('domain-pattern', 'set-cookie', ['a=1; domain=x.old.example.com'], ['a=1; domain=new.example.com']),
      ],
      bad: [sees('bad-domain', 'set-cookie', DOMAIN, DOMAIN)],
      default: [sees('plain', 'set-cookie', DOMAIN, DOMAIN)],
      neighbours: [sees('both', 'set-cookie', DOMAIN, ['a=1; Domain=new.example.com; Path=/x; HttpOnly'])],
    },
    'proxy-cookie-path': {
      good: [
        sees('path', 'set-cookie', DOMAIN, ['a=1; Domain=old.example.com; Path=/x; HttpOnly']),
        sees('path', 'set-cookie', ['a=/app/; path=/other'], ['a=/app/; path=/other']),
        sees('path-pattern', 'set-cookie', ['a=1; path=/app/x; Secure'], ['a=1; path=/other; Secure']),
      ],
      bad: [sees('bad-path', 'set-cookie', DOMAIN, DOMAIN)],
      default: [sees('plain', 'set-cookie', DOMAIN, DOMAIN)],
    },
    'proxy-redirect-from': {
      good: [
        sees('location', 'location', LOCATION, ['https://new.example.com/a/x?y=1']),
        sees('location', 'location', ['/http://old.example.com/'], ['/http://old.example.com/']),
        sees('location', 'refresh', ['5; url=http://old.example.com/x'], ['5; url=https://new.example.com/a/x']),
        absolute('location-pattern', sees('location-pattern', 'location', LOCATION, ['/y'])),
        sees('off-location', 'location', LOCATION, LOCATION),
      ],
      bad: [sees('bad-from', 'location', LOCATION, LOCATION)],
      default: [sees('plain', 'location', LOCATION, LOCATION)],
    },
    'proxy-redirect-to': {
      good: [sees('location', 'location', ['http://old.example.com/'], ['https://new.example.com/a/'])],
      bad: [sees('bad-location', 'location', LOCATION, LOCATION)],
      default: [sees('plain', 'location', LOCATION, LOCATION)],
    },
  },
};

const OWN = { off: { 'proxy-cookie-domain': 'off', 'proxy-redirect-from': 'off' }, plain: {} };

export const answerRewritesOfAll: AnnotationTable = {
  title: 'addresses in answers of all backends',
  start: () =>
    world(
      {
        'proxy-cookie-domain': 'old.example.com new.example.com',
        'proxy-cookie-path': '/app/ /',
        'proxy-redirect-from': 'http://old.example.com/',
        'proxy-redirect-to': '/b/',
      },
      OWN,
    ),
  keys: {
    'ConfigMap proxy-cookie-domain': {
      good: [sees('plain', 'set-cookie', DOMAIN, ['a=1; Domain=new.example.com; Path=/x; HttpOnly'])],
      default: [],
      neighbours: [sees('off', 'set-cookie', DOMAIN, ['a=1; Domain=old.example.com; Path=/x; HttpOnly'])],
    },
    'ConfigMap proxy-cookie-path': {
      good: [sees('plain', 'set-cookie', ['a=1; Path=/app/x'], ['a=1; Path=/x'])],
      default: [],
    },
    'ConfigMap proxy-redirect-from': {
      good: [absolute('plain', sees('plain', 'location', LOCATION, ['/b/x?y=1']))],
      default: [],
      neighbours: [sees('off', 'location', LOCATION, LOCATION)],
    },
    'ConfigMap proxy-redirect-to': {
      good: [absolute('plain', sees('plain', 'location', LOCATION, ['/b/x?y=1']))],
      default: [],
    },
  },
};

export const answerRewritesUnreadable: AnnotationTable = {
  title: 'addresses in answers of all backends, with values that nobody can read',
  start: () =>
    world(
      {
        'proxy-cookie-domain': '$host',
        'proxy-cookie-path': '/app/',
        'proxy-redirect-from': '(.*)',
        'proxy-redirect-to': '$host',
      },
      { plain: {} },
    ),
  keys: ofAll('bad'),
};

export const answerRewritesDefault: AnnotationTable = {
  title: 'addresses in answers of all backends, by default',
  start: () => world({}, { plain: {} }),
  keys: ofAll('default'),
};

function ofAll(kind: 'bad' | 'default'): AnnotationTable['keys'] {
  const rows = {
    'proxy-cookie-domain': sees('plain', 'set-cookie', DOMAIN, DOMAIN),
    'proxy-cookie-path': sees('plain', 'set-cookie', DOMAIN, DOMAIN),
    'proxy-redirect-from': sees('plain', 'location', LOCATION, LOCATION),
    'proxy-redirect-to': sees('plain', 'location', LOCATION, LOCATION),
  };
  return Object.fromEntries(
    Object.entries(rows).map(([key, row]) => [`ConfigMap ${key}`, { good: [], default: [], [kind]: [row] }]),
  );
}
