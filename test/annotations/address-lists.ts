import { startServices, startWith } from '../envoy/behaviour/cases.ts';
import { configMap, ingress } from '../support/manifests.ts';
import { type AnnotationTable, annotated } from './table.ts';

const DOMAIN = 'lists.example.com';

/** An Ingress of one path on the host that its name begins with. */
function path(name: string, annotations: Readonly<Record<string, string>>, text = '/', tls = false) {
  const host = `${name.split('-')[0]}.${DOMAIN}`;
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host, paths: [{ path: text }] }],
    ...(tls && { tls: [{ hosts: [host] }] }),
  });
}

/** Every client of the tests. */
const HERE = '127.0.0.0/8';
const ELSEWHERE = '192.0.2.0/24,2001:db8::/32';

export const addressLists: AnnotationTable = {
  title: 'lists of addresses',
  start: startWith(['web'], () => [
    path('open', {}),
    path('inside', { 'allowlist-source-range': `${ELSEWHERE}, ${HERE}` }),
    path('outside', { 'allowlist-source-range': ELSEWHERE }, '/app'),
    path('older', { 'whitelist-source-range': '10.0.0.1' }),
    path('newer', { 'whitelist-source-range': '10.0.0.1', 'allowlist-source-range': HERE }),
    path('empty', { 'allowlist-source-range': '' }),
    path('blank', { 'denylist-source-range': ' ' }),
    path('emptied', { 'allowlist-source-range': '', 'whitelist-source-range': ELSEWHERE }),
    path('unseen', { 'whitelist-source-range': '' }),
    path('broken', { 'allowlist-source-range': '127.0.0.1,example.com' }),
    path('secure', { 'allowlist-source-range': ELSEWHERE }, '/', true),
    path('below', { 'allowlist-source-range': ELSEWHERE }, '/admin'),
    path('below-open', {}),
    path('below-public', {}, '/admin/public'),
    ...['/a', '/b', '/c'].map((text, index) => path(`shared-${index}`, { 'allowlist-source-range': ELSEWHERE }, text)),
    path('shared-inside', { 'allowlist-source-range': HERE }, '/inside'),
    path('shared-open', {}, '/open'),
    path('shared-away', { 'allowlist-source-range': ELSEWHERE, 'permanent-redirect': 'http://away.test' }, '/away'),
    path('shared-cors', { 'allowlist-source-range': ELSEWHERE, 'enable-cors': 'true' }, '/cors'),
    path('denied', { 'denylist-source-range': HERE }),
    path('others', { 'denylist-source-range': ELSEWHERE }),
    path('both', { 'denylist-source-range': '127.0.0.1', 'allowlist-source-range': HERE }),
    path('excepted', { 'denylist-source-range': '127.0.0.2', 'allowlist-source-range': HERE }),
    path('misspelt', { 'denylist-source-range': '127.0.0.1/33' }),
  ]),
  keys: {
    'allowlist-source-range': {
      good: [
        { url: `http://inside.${DOMAIN}/`, backend: 'web' },
        {
          url: `http://outside.${DOMAIN}/app`,
          status: 403,
          text: '<center><h1>403 Forbidden</h1></center>',
          answered: { 'content-type': 'text/html' },
        },
        { url: `http://older.${DOMAIN}/`, status: 403, because: 'the older name is an alias' },
        { url: `http://newer.${DOMAIN}/`, backend: 'web', because: 'the older name does not count beside it' },
        { url: `http://outside.${DOMAIN}/app`, headers: { 'x-forwarded-for': '192.0.2.1' }, status: 403 },
      ],
      bad: [
        { url: `http://broken.${DOMAIN}/`, status: 503 },
        { url: `http://empty.${DOMAIN}/`, status: 503, because: 'it says that there is a list, and not which' },
        { url: `http://emptied.${DOMAIN}/`, status: 403, because: 'the older name says which' },
        { url: `http://unseen.${DOMAIN}/`, backend: 'web', because: 'ingress-nginx sees no empty older name' },
      ],
      default: [{ url: `http://open.${DOMAIN}/`, backend: 'web' }],
      neighbours: [
        { url: `http://outside.${DOMAIN}/nothing`, status: 403, because: 'what no path takes has the same list' },
        {
          url: `http://outside.${DOMAIN}/app`,
          headers: { connection: 'upgrade', upgrade: 'websocket' },
          status: 403,
        },
        { url: `http://secure.${DOMAIN}/a`, status: 308, because: 'redirects are answered to everybody' },
        { url: `https://secure.${DOMAIN}/a`, status: 403 },
        ...['/a', '/b', '/c/d', '/cors'].map((text) => ({ url: `http://shared.${DOMAIN}${text}`, status: 403 })),
        { url: `http://shared.${DOMAIN}/inside`, backend: 'web', because: 'each path has the list of its own Ingress' },
        { url: `http://shared.${DOMAIN}/open`, backend: 'web', because: 'its Ingress has none' },
        { url: `http://shared.${DOMAIN}/away`, status: 301 },
        { url: `http://shared.${DOMAIN}/cors`, method: 'OPTIONS', status: 204 },
        { url: `http://below.${DOMAIN}/`, backend: 'web' },
        { url: `http://below.${DOMAIN}/admin`, status: 403 },
        { url: `http://below.${DOMAIN}/%61dmin/x`, status: 403 },
        { url: `http://below.${DOMAIN}/admin%2Fx`, status: 403 },
        { url: `http://below.${DOMAIN}//admin`, status: 403 },
        { url: `http://below.${DOMAIN}/x/../admin`, status: 403 },
        { url: `http://below.${DOMAIN}/admin/public`, backend: 'web' },
        { url: `http://below.${DOMAIN}/admin/public/a%2Fb`, backend: 'web' },
        { url: `http://below.${DOMAIN}/x%2Fadmin`, backend: 'web' },
        { url: `http://below.${DOMAIN}/x%2f..%2fadmin`, status: 400, nginx: { status: 403 }, differs: 'encodedSlash' },
        { url: `http://below.${DOMAIN}/%2fadmin`, status: 400, nginx: { status: 403 }, differs: 'encodedSlash' },
        {
          url: `http://below.${DOMAIN}/admin/public/..%2fx`,
          status: 400,
          nginx: { status: 403 },
          differs: 'encodedSlash',
        },
      ],
    },
    'denylist-source-range': {
      good: [
        { url: `http://denied.${DOMAIN}/`, status: 403 },
        { url: `http://others.${DOMAIN}/`, backend: 'web' },
      ],
      bad: [
        { url: `http://misspelt.${DOMAIN}/`, status: 503 },
        { url: `http://blank.${DOMAIN}/`, status: 503 },
      ],
      default: [{ url: `http://open.${DOMAIN}/`, backend: 'web' }],
      neighbours: [
        { url: `http://both.${DOMAIN}/`, status: 403, because: 'it counts before the list of those who may come' },
        { url: `http://excepted.${DOMAIN}/`, backend: 'web' },
      ],
    },
  },
};

/** The same where the ConfigMap says it. */
function listsOfConfigMap(title: string, data: Readonly<Record<string, string>>, keys: AnnotationTable['keys']) {
  return {
    title: `lists of addresses in the ConfigMap: ${title}`,
    start: async () => {
      const services = await startServices('web');
      return {
        close: services.close,
        build: { configMap: 'default/config' },
        manifests: [
          ...services.manifests,
          configMap('config', data),
          path('plain', {}),
          path('own', { 'allowlist-source-range': HERE, 'denylist-source-range': ELSEWHERE }),
          ingress({
            name: 'wildcard',
            annotations: annotated({ 'allowlist-source-range': HERE, 'denylist-source-range': ELSEWHERE }),
            rules: [{ host: `*.wildcard.${DOMAIN}`, paths: [{ path: '/' }, { path: '/a' }] }],
          }),
        ],
      };
    },
    keys,
  } satisfies AnnotationTable;
}

const open = { url: `http://plain.${DOMAIN}/`, backend: 'web' };
const closed = { url: `http://plain.${DOMAIN}/`, status: 403 };
const broken = { url: `http://plain.${DOMAIN}/`, status: 503, because: 'nobody knows who may come' };
const own = { url: `http://own.${DOMAIN}/`, backend: 'web', because: 'an annotation takes its place' };
const nobody = { url: 'http://nobody.example.org/', status: 403 };
const wildcard = { url: `http://one.wildcard.${DOMAIN}/a`, backend: 'web' };
const notWildcard = { url: `http://one.two.wildcard.${DOMAIN}/a`, status: 403, because: "it is nobody's" };
const health = { url: 'http://nobody.example.org/healthz', because: 'health checks come from anywhere' };

export const addressListsOfConfigMap: readonly AnnotationTable[] = [
  listsOfConfigMap(
    'those who may come',
    { 'whitelist-source-range': ELSEWHERE },
    {
      'ConfigMap whitelist-source-range': { good: [closed, own, nobody, health, wildcard, notWildcard], default: [] },
      'ConfigMap denylist-source-range': { good: [], default: [own] },
    },
  ),
  listsOfConfigMap(
    'those who may not',
    { 'denylist-source-range': HERE },
    {
      'ConfigMap denylist-source-range': { good: [closed, own, nobody, health], default: [] },
    },
  ),
  listsOfConfigMap(
    'without one',
    { 'whitelist-source-range': ' ' },
    { 'ConfigMap whitelist-source-range': { good: [], default: [open] } },
  ),
  listsOfConfigMap(
    'broken',
    { 'whitelist-source-range': '127.0.0.1/33' },
    { 'ConfigMap whitelist-source-range': { good: [], bad: [broken], default: [] } },
  ),
  listsOfConfigMap(
    'broken ones of those who may not',
    { 'denylist-source-range': '127.0.0.1,' },
    { 'ConfigMap denylist-source-range': { good: [], bad: [broken], default: [] } },
  ),
];
