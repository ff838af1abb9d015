import { startServices } from '../envoy/behaviour/cases.ts';
import { ingress, type Manifest, type PathSpec } from '../support/manifests.ts';
import { type AnnotationTable, annotated } from './table.ts';

let age = 0;

/** Ingresses of one host, each younger than the one before. */
function on(name: string, annotations: Readonly<Record<string, string>>, ...paths: readonly PathSpec[]): Manifest {
  age += 1;
  const [host = ''] = name.split('-');
  return ingress({
    name,
    created: `2024-01-01T00:00:${String(age).padStart(2, '0')}Z`,
    annotations: annotated(annotations),
    rules: [
      {
        host: `${host}.rewrites.example.com`,
        paths: paths.map((path) => ({ pathType: 'ImplementationSpecific', ...path })),
      },
    ],
  });
}

const to = (service: string, ...paths: readonly string[]) => paths.map((path) => ({ path, service: `${service}:80` }));

export const rewrites: AnnotationTable = {
  title: 'regular expressions and rewrites',
  start: async () => {
    const services = await startServices('web', 'api', 'other');
    return {
      close: services.close,
      manifests: [
        ...services.manifests,
        on('plain', {}, ...to('web', '/foo', '/pages(/|$)(.*)'), ...to('other', '/')),
        on('bad', { 'use-regex': 'yes', 'rewrite-target': '/a(b' }, ...to('web', '/foo'), ...to('other', '/')),
        on(
          'regex',
          { 'use-regex': 'true' },
          ...to('web', '/items/[0-9]+', '/v(1|2)/', '/a.c', '/[^/]+/tail', '/wild/.*/end'),
        ),
        on(
          'regex-neighbour',
          {},
          { path: '/exact', pathType: 'Exact', service: 'api:80' },
          { path: '/pre', pathType: 'Prefix', service: 'api:80' },
          ...to('other', '/'),
        ),
        on('either', { 'use-regex': 'true' }, ...to('web', '/one|/two'), ...to('other', '/')),
        on('not', { 'use-regex': 'true' }, ...to('web', '/(?!admin|api/v(1|2))(.*)'), ...to('other', '/')),
        on('ahead', { 'use-regex': 'true' }, ...to('web', '/x/(?=y)(.*)', '/x/open'), ...to('other', '/')),
        on('broken', { 'use-regex': 'true' }, ...to('web', '/x/(y'), ...to('other', '/')),
        on('target', { 'rewrite-target': '/$2' }, ...to('web', '/something(/|$)(.*)')),
        on('target-other', {}, ...to('other', '/')),
        on('constant', { 'rewrite-target': '/fixed' }, ...to('web', '/foo'), ...to('other', '/foobar')),
        on('same', { 'rewrite-target': '/foo' }, { path: '/foo', pathType: 'Prefix' }, ...to('other', '/')),
        on('missing', { 'rewrite-target': '/x/$1/$3$4' }, ...to('web', '/m/([a-z]+)(/([0-9]+))?')),
        on('first', { 'rewrite-target': '$1' }, ...to('web', '/app(/.*)')),
        on('maybe', { 'rewrite-target': '$1' }, ...to('web', '/app(.*)')),
        on('search', { 'rewrite-target': '/found/$1' }, ...to('web', '/zz|arch/(.*)'), ...to('other', '/')),
        on('root', { 'rewrite-target': '/' }, ...to('web', '/deep'), ...to('other', '/')),
        on('away', { 'rewrite-target': 'https://new.example.com:8443/base/$1' }, ...to('web', '/old/(.*)')),
        on('home', { 'rewrite-target': 'http://$host/base/$1' }, ...to('web', '/old/(.*)')),
        on('moved', { 'rewrite-target': 'https://new.example.com' }, ...to('web', '/old')),
        on('closed', { 'use-regex': 'true' }, ...to('web', '/open(/.*)?', '/(x|y)open')),
        on('closed-secret', { 'enable-modsecurity': 'true' }, ...to('api', '/adm[a-z]n/[^0-9]', '/')),
        on('kept', { 'use-regex': 'true' }, ...to('web', '/zzz', '/[b-c]')),
        on(
          'kept-open',
          {},
          { path: '/', pathType: 'Prefix', service: 'other:80' },
          { path: '/exact', pathType: 'Prefix', service: 'other:80' },
          { path: '/part', pathType: 'Exact', service: 'other:80' },
          { path: '/both/', pathType: 'Exact', service: 'other:80' },
          { path: '/adm/open', pathType: 'Exact', service: 'other:80' },
          { path: '/ADM/other', pathType: 'Exact', service: 'other:80' },
          { path: '/a.m/open', pathType: 'Prefix', service: 'other:80' },
        ),
        on(
          'kept-secret',
          { 'denylist-source-range': '0.0.0.0/0,::/0' },
          ...(['/adm/', '/part/', '/both/'] as const).map(
            (path) => ({ path, pathType: 'Prefix', service: 'api:80' }) as const,
          ),
          ...(['/', '/exact', '/B%40@b'] as const).map(
            (path) => ({ path, pathType: 'Exact', service: 'api:80' }) as const,
          ),
        ),
        on(
          'kept-inside',
          { 'allowlist-source-range': '127.0.0.0/8,::1' },
          { path: '/ins.de/', pathType: 'Prefix', service: 'api:80' },
        ),
        on('prefix', { 'rewrite-target': '/$1', 'x-forwarded-prefix': '/shop' }, ...to('web', '/shop/(.*)')),
        on('captured', { 'rewrite-target': '/$2', 'x-forwarded-prefix': '/$1' }, ...to('web', '/(shop|it%27s)/(.*)')),
        on('prefixless', { 'x-forwarded-prefix': '/shop' }, ...to('web', '/shop')),
        on('badprefix', { 'rewrite-target': '/$1', 'x-forwarded-prefix': '/a b(' }, ...to('web', '/shop/(.*)')),
      ],
    };
  },
  keys: {
    'use-regex': {
      good: [
        { url: 'http://regex.rewrites.example.com/items/42', backend: 'web', path: '/items/42' },
        { url: 'http://regex.rewrites.example.com/items/42/more?q=1', backend: 'web', path: '/items/42/more?q=1' },
        { url: 'http://regex.rewrites.example.com/ITEMS/4x', backend: 'web', because: 'in any case, from the start' },
        { url: 'http://regex.rewrites.example.com/items/x', backend: 'other' },
        { url: 'http://regex.rewrites.example.com/x/items/42', backend: 'other', because: 'from the start' },
        { url: 'http://regex.rewrites.example.com/v2/', backend: 'web' },
        { url: 'http://regex.rewrites.example.com/v3/', backend: 'other' },
        { url: 'http://regex.rewrites.example.com/abc', backend: 'web' },
        {
          url: 'http://regex.rewrites.example.com/a%20c',
          backend: 'web',
          because: 'one character, however it is written',
        },
        { url: 'http://regex.rewrites.example.com/a%2Fc', backend: 'web' },
        { url: 'http://regex.rewrites.example.com/one%20word/tail', backend: 'web' },
        { url: 'http://regex.rewrites.example.com/one%2Fword/tail', backend: 'other' },
        { url: 'http://regex.rewrites.example.com/wild/%20x/endless', backend: 'web' },
        { url: 'http://either.rewrites.example.com/onex', backend: 'web' },
        {
          url: 'http://either.rewrites.example.com/x/two',
          backend: 'web',
          because: 'the second one is bound to nothing',
        },
        { url: 'http://either.rewrites.example.com/x/one', backend: 'other' },
        { url: 'http://not.rewrites.example.com/', backend: 'web' },
        { url: 'http://not.rewrites.example.com/adm', backend: 'web' },
        { url: 'http://not.rewrites.example.com/ADMINS', backend: 'other' },
        { url: 'http://not.rewrites.example.com/api/v1x', backend: 'other' },
        { url: 'http://not.rewrites.example.com/api%2Fv1x', backend: 'other' },
        { url: 'http://not.rewrites.example.com/api/v3', backend: 'web' },
        { url: 'http://ahead.rewrites.example.com/x/yes', status: 503, nginx: { backend: 'web' } },
        { url: 'http://ahead.rewrites.example.com/x/no', status: 503, nginx: { backend: 'other' } },
        { url: 'http://ahead.rewrites.example.com/y', backend: 'other' },
        { url: 'http://broken.rewrites.example.com/x/y', status: 503 },
        { url: 'http://broken.rewrites.example.com/y', backend: 'other' },
      ],
      bad: [
        { url: 'http://bad.rewrites.example.com/foo/x', backend: 'web', path: '/foo/x' },
        { url: 'http://bad.rewrites.example.com/FOO', backend: 'other' },
      ],
      default: [
        { url: 'http://plain.rewrites.example.com/foobar', backend: 'other' },
        { url: 'http://plain.rewrites.example.com/pages/x', backend: 'other' },
      ],
      neighbours: [
        { url: 'http://regex.rewrites.example.com/EXACTLY', backend: 'api', because: 'another Ingress is reached' },
        { url: 'http://regex.rewrites.example.com/prefixed', backend: 'api' },
        { url: 'http://closed.rewrites.example.com/open/x', backend: 'web' },
        { url: 'http://closed.rewrites.example.com/openadmin', status: 200, backend: 'web' },
        { url: 'http://closed.rewrites.example.com/xopen/%20', backend: 'web' },
        { url: 'http://closed.rewrites.example.com/admin/x', status: 503 },
        { url: 'http://closed.rewrites.example.com/admin%2Fx', status: 503 },
        { url: 'http://closed.rewrites.example.com/ADMIN%2F%40', status: 503 },
        { url: 'http://closed.rewrites.example.com/admin/%20', status: 503 },
        { url: 'http://closed.rewrites.example.com/open%2F..%2Fadmin/x', status: 400, nginx: { status: 503 } },
        { url: 'http://closed.rewrites.example.com/elsewhere', status: 503 },
        ...['/adm', '/adm/', '/adm/x', '/adm?x', '/ADM', '/%61dm', '//adm', '/adm//', '/x/../adm', '/./adm'].map(
          (path) => ({ url: `http://kept.rewrites.example.com${path}`, status: 403, because: 'it is protected' }),
        ),
        ...[
          '/',
          '//',
          '/?x',
          '/.',
          '/x/..',
          '/exact',
          '/exact?x',
          '/B@@b',
          '/B%40%40b',
          '/part/',
          '/part/x',
          '/both',
          '/both/x',
          '/both/%0a',
          '/adm/open/x',
          '/adm/openx',
          '/adm/otherx',
          '/%61dm/OTHERx',
        ].map((path) => ({ url: `http://kept.rewrites.example.com${path}`, status: 403, because: 'it is protected' })),
        ...['/admx', '/x', '/exact/x', '/part', '/par', '/both/', '/adm/open', '/a.m/open', '/a.m/open/x'].map(
          (path) => ({
            url: `http://kept.rewrites.example.com${path}`,
            backend: 'other',
            because: 'nothing protected says it',
          }),
        ),
        { url: 'http://kept.rewrites.example.com/ins.de', backend: 'api', because: 'it is served by its owner' },
        { url: 'http://kept.rewrites.example.com/ins.de/x', backend: 'api' },
        { url: 'http://kept.rewrites.example.com/cx', backend: 'web' },
      ],
    },
    'rewrite-target': {
      good: [
        { url: 'http://target.rewrites.example.com/something', backend: 'web', path: '/' },
        { url: 'http://target.rewrites.example.com/something/', backend: 'web', path: '/' },
        { url: 'http://target.rewrites.example.com/something/a/b?c=/d', backend: 'web', path: '/a/b?c=/d' },
        { url: 'http://target.rewrites.example.com/SOMEthing/New', backend: 'web', path: '/New' },
        { url: 'http://target.rewrites.example.com/something/a%20b', backend: 'web', path: '/a%20b' },
        { url: 'http://target.rewrites.example.com/something%2Fa', backend: 'web', path: '/a' },
        {
          url: 'http://target.rewrites.example.com/something/a%2Fb',
          backend: 'web',
          path: '/a%2Fb',
          differs: 'rewrittenEncoding',
          nginx: { backend: 'web', path: '/a/b' },
        },
        { url: 'http://target.rewrites.example.com/somethingelse', backend: 'other', path: '/somethingelse' },
        { url: 'http://constant.rewrites.example.com/foo/bar?x', backend: 'web', path: '/fixed?x' },
        {
          url: 'http://constant.rewrites.example.com/foobar',
          backend: 'other',
          path: '/fixed',
          because: 'it is of the same Ingress',
        },
        { url: 'http://same.rewrites.example.com/foo', backend: 'web', path: '/foo' },
        { url: 'http://same.rewrites.example.com/foobar', backend: 'web', path: '/foobar' },
        { url: 'http://same.rewrites.example.com/foo/bar', backend: 'web', path: '/foo' },
        { url: 'http://missing.rewrites.example.com/m/abc/12', backend: 'web', path: '/x/abc/12' },
        { url: 'http://missing.rewrites.example.com/m/abc', backend: 'web', path: '/x/abc/' },
        { url: 'http://first.rewrites.example.com/app/x', backend: 'web', path: '/x' },
        { url: 'http://first.rewrites.example.com/app', status: 404 },
        { url: 'http://maybe.rewrites.example.com/app/x', backend: 'web', path: '/x' },
        { url: 'http://maybe.rewrites.example.com/app', status: 500 },
        {
          url: 'http://maybe.rewrites.example.com/appx',
          status: 500,
          differs: 'rewrittenWithoutSlash',
          nginx: { status: 400 },
        },
        { url: 'http://search.rewrites.example.com/search/for', backend: 'web', path: '/found/for' },
        { url: 'http://root.rewrites.example.com/deep/er?x=1', backend: 'web', path: '/?x=1' },
        { url: 'http://root.rewrites.example.com/else', backend: 'other', path: '/else' },
        {
          url: 'http://away.rewrites.example.com/old/a/b?c=d',
          status: 302,
          answered: { location: 'https://new.example.com:8443/base/a/b?c=d' },
        },
        {
          url: 'https://home.rewrites.example.com/old/a',
          status: 302,
          answered: { location: 'http://home.rewrites.example.com/base/a' },
        },
        {
          url: 'http://moved.rewrites.example.com/old',
          status: 302,
          answered: { location: 'https://new.example.com/' },
          differs: 'bareUrl',
          nginx: { status: 302, answered: { location: 'https://new.example.com' } },
        },
      ],
      bad: [{ url: 'http://bad.rewrites.example.com/foo', backend: 'web', path: '/foo' }],
      default: [{ url: 'http://plain.rewrites.example.com/foo/x', backend: 'web', path: '/foo/x' }],
      neighbours: [{ url: 'http://target.rewrites.example.com/Other', backend: 'other', path: '/Other' }],
    },
    'x-forwarded-prefix': {
      good: [
        {
          url: 'http://prefix.rewrites.example.com/shop/cart',
          backend: 'web',
          path: '/cart',
          received: {
            'x-forwarded-prefix': '/shop',
            'x-forwarded-host': 'prefix.rewrites.example.com',
            'x-envoy-original-path': undefined,
          },
        },
        {
          url: 'http://captured.rewrites.example.com/Shop/cart',
          backend: 'web',
          path: '/cart',
          received: { 'x-forwarded-prefix': '/Shop' },
        },
        {
          url: "http://captured.rewrites.example.com/it's/a",
          backend: 'web',
          received: { 'x-forwarded-prefix': "/it's" },
        },
        {
          url: 'http://captured.rewrites.example.com/shop/a%0ab',
          backend: 'web',
          nginx: { status: 400 },
          differs: 'lineBreakInPrefix',
        },
      ],
      bad: [{ url: 'http://badprefix.rewrites.example.com/shop/x', status: 404, because: 'the Ingress is not taken' }],
      default: [
        {
          url: 'http://target.rewrites.example.com/something/x',
          headers: { 'x-forwarded-prefix': '/sent' },
          backend: 'web',
          received: { 'x-forwarded-prefix': '/sent' },
        },
      ],
      neighbours: [
        {
          url: 'http://prefixless.rewrites.example.com/shop/x',
          backend: 'web',
          path: '/shop/x',
          received: { 'x-forwarded-prefix': undefined },
          because: 'nothing is rewritten',
        },
      ],
    },
  },
};
