import { describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import {
  backend,
  type Change,
  configMap,
  endpointSlice,
  externalName,
  ingress,
  ingressClass,
  remove,
  rule,
  service,
  World,
} from './testing.ts';
import { closedOnFailure } from './virtual-host.ts';

const generated = await makePair(['ingress.local']);
const prefix = 'nginx.ingress.kubernetes.io';
const web = service('shop/web');
const api = service('shop/api', [
  { name: 'http', port: 8080 },
  { name: 'admin', port: 9090, targetPort: 9091 },
]);
const slices = ['web', 'api'].map((name) => endpointSlice(`shop/${name}-1`, name, ['10.0.0.1']));

function world(...objects: Change[]): World {
  const made = new World(generated);
  made.apply(web, api, ...slices, ...objects);
  return made;
}

const host = 'shop.example.com';
const on = (paths: Record<string, string>) => ({ rules: [rule(host, paths)] });

describe('routes', () => {
  test('exact paths first, then the longest prefix, then not found', () => {
    const made = world(
      ingress(
        'shop/a',
        on({ 'Prefix /a': 'web:80', 'Exact /a': 'api:8080', '/a/b/': 'api:admin', 'Exact /a/': 'web:80' }),
      ),
    );
    expect(made.routes(host)).toEqual([
      'exact /a → shop/api/8080',
      'exact /a/ → shop/web/80',
      'prefix /a/b → shop/api/9090',
      'prefix /a → shop/web/80',
      'prefix / → 404',
    ]);
    expect(made.complaints()).toEqual([]);
    expect(made.model.virtualHosts.get(host)?.routes[2]?.origin).toEqual({
      ingress: 'shop/a',
      field: 'spec.rules[0].http.paths[2]',
    });
  });

  test('a rule without host belongs to the default server, which has a health check', () => {
    const made = world(ingress('shop/a', { rules: [rule(undefined, { '/x': 'web:80' })] }));
    expect(made.routes('*')).toEqual(['exact /healthz → 200', 'prefix /x → shop/web/80', 'prefix / → 404']);
  });

  test.each(['Exact /healthz', 'Prefix /healthz/'])('%s may be claimed', (path) => {
    const made = world(ingress('shop/a', { rules: [rule('', { [path]: 'web:80' })] }));
    expect(made.routes('*')).toEqual([`${path.split(' ')[0]?.toLowerCase()} /healthz → shop/web/80`, 'prefix / → 404']);
  });

  test('the default server is there without any Ingress', () => {
    expect(world().routes('*')).toEqual(['exact /healthz → 200', 'prefix / → 404']);
  });

  test('the pages are those of ingress-nginx', () => {
    const action = world().model.virtualHosts.get('*')?.routes[1]?.action;
    expect(action).toEqual({
      kind: 'respond',
      status: 404,
      body: '<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n',
    });
  });

  test('hosts that Kubernetes would refuse for their spelling alone are served, and named', () => {
    const made = world(ingress('shop/a', { rules: [rule('Shop.example.com.', { '/': 'web:80' })] }));
    expect(made.routes(host)).toEqual(['prefix / → shop/web/80']);
    expect(made.complaints()).toEqual(['IngressHostNormalized Ingress shop/a spec.rules[0].host']);
  });

  test('what requests cannot carry is left out, the rest is served', () => {
    const rules = [
      rule('bad host', { '/': 'web:80' }),
      rule('*.example.com', { '/': 'web:80' }),
      ...on({ 'Exact x': 'web:80' }).rules,
    ];
    const made = world(ingress('shop/a', { rules }));
    expect([...made.model.virtualHosts.keys()]).toEqual(['*', '*.example.com', host]);
    expect(made.routes(host)).toEqual(['prefix / → 404']);
    expect(made.complaints()).toEqual([
      'IngressHostInvalid Ingress shop/a spec.rules[0].host',
      'IngressPathInvalid Ingress shop/a spec.rules[2].http.paths[0].path',
    ]);
  });
});

describe('classes take effect both ways', () => {
  test('of the Ingress', () => {
    const made = world(ingressClass('nginx'), ingress('shop/a', on({ '/': 'web:80' })));
    expect(made.routes(host)).toEqual(['prefix / → shop/web/80']);
    made.apply(ingress('shop/a', { ...on({ '/': 'web:80' }), ingressClassName: 'other' }));
    expect(made.routes(host)).toEqual([]);
    expect(made.complaints()).toEqual(['IngressClassMissing Ingress shop/a spec.ingressClassName']);
    made.apply(ingressClass('other'));
    expect(made.routes(host)).toEqual(['prefix / → shop/web/80']);
    expect(made.complaints()).toEqual([]);
  });

  test('of the IngressClass, and of whether there is one at all', () => {
    const made = world(ingress('shop/a', on({ '/': 'web:80' })));
    expect(made.routes(host)).toHaveLength(1);
    const foreign = ingressClass('foreign', 'example.com/other');
    made.apply(foreign);
    expect(made.routes(host)).toHaveLength(0);
    made.apply(remove(foreign));
    expect(made.routes(host)).toHaveLength(1);
    made.apply(ingressClass('nginx', 'example.com/other'));
    expect(made.routes(host)).toHaveLength(0);
    made.apply(ingressClass('nginx'));
    expect(made.routes(host)).toHaveLength(1);
  });
});

describe('conflicts', () => {
  const older = ingress('shop/z', { ...on({ '/a': 'web:80' }), creationTimestamp: 1 });
  const younger = ingress('shop/a', { ...on({ 'Prefix /a/': 'api:8080' }), creationTimestamp: 2 });

  test('the older Ingress wins, whatever came first, and the loser takes over', () => {
    const made = world(younger);
    expect(made.routes(host)[0]).toBe('prefix /a → shop/api/8080');
    made.apply(older);
    expect(made.routes(host)[0]).toBe('prefix /a → shop/web/80');
    expect(made.complaints()).toEqual(['PathConflict Ingress shop/a spec.rules[0].http.paths[0]']);
    expect(made.diagnostics()[0]?.message).toContain('Ingress shop/z (spec.rules[0].http.paths[0])');
    made.apply(remove(older));
    expect(made.routes(host)[0]).toBe('prefix /a → shop/api/8080');
    expect(made.complaints()).toEqual([]);
  });

  test('of equal age, the last name wins', () => {
    const made = world({ ...older, creationTimestamp: 2 }, younger);
    expect(made.routes(host)[0]).toBe('prefix /a → shop/web/80');
  });

  test('however many there are, the host stays', () => {
    const paths = Array.from({ length: 10_000 }, () => ({ path: '/a', backend: backend('api:http') }));
    const flood = Array.from({ length: 15 }, (_, index) =>
      ingress(`shop/flood-${index}`, { rules: [{ host, paths }] }),
    );
    const made = world(ingress('shop/web', on({ '/': 'web:80' })), ...flood);
    expect(made.routes(host)).toEqual(['prefix /a → shop/api/8080', 'prefix / → shop/web/80']);
    expect(made.diagnostics()).toHaveLength(149_999);
  });

  test('another type or another host is no conflict', () => {
    const made = world(
      older,
      ingress('shop/y', on({ 'Exact /a': 'api:8080' })),
      ingress('shop/x', { rules: [rule('x.example.com', { '/a': 'web:80' })] }),
    );
    expect(made.routes(host)).toEqual(['exact /a → shop/api/8080', 'prefix /a → shop/web/80', 'prefix / → 404']);
    expect(made.complaints()).toEqual([]);
  });

  test('of the same path twice in one Ingress the first counts', () => {
    const made = world(ingress('shop/a', on({ 'Prefix /a': 'web:80', 'Prefix /a/': 'api:8080' })));
    expect(made.routes(host)[0]).toBe('prefix /a → shop/web/80');
    expect(made.complaints()).toEqual(['PathConflict Ingress shop/a spec.rules[0].http.paths[1]']);
  });
});

describe('default backends', () => {
  test('an Ingress without rules answers every other host, and beats the root of host-less rules', () => {
    const made = world(
      ingress('shop/root', { rules: [rule(undefined, { '/': 'web:80', '/x': 'web:80' })], creationTimestamp: 1 }),
      ingress('shop/all', { defaultBackend: backend('api:8080'), creationTimestamp: 2 }),
      ingress('shop/late', { defaultBackend: backend('web:80'), creationTimestamp: 3 }),
    );
    expect(made.routes('*')).toEqual(['exact /healthz → 200', 'prefix /x → shop/web/80', 'prefix / → shop/api/8080']);
    expect(made.complaints()).toEqual([
      'PathConflict Ingress shop/late spec.defaultBackend',
      'PathConflict Ingress shop/root spec.rules[0].http.paths[0]',
    ]);
  });

  test('with rules it answers what its own hosts leave over', () => {
    const made = world(ingress('shop/a', { ...on({ '/a': 'web:80' }), defaultBackend: backend('api:8080') }));
    expect(made.routes(host)).toEqual(['prefix /a → shop/web/80', 'prefix / → shop/api/8080']);
    expect(made.routes('*')).toEqual(['exact /healthz → 200', 'prefix / → 404']);
  });

  test('it gives way to a path of the host without a conflict, but not to another default backend', () => {
    const made = world(
      ingress('shop/a', { ...on({ '/a': 'web:80' }), defaultBackend: backend('api:8080'), creationTimestamp: 1 }),
      ingress('shop/b', { ...on({ '/b': 'web:80' }), defaultBackend: backend('web:80'), creationTimestamp: 2 }),
    );
    expect(made.routes(host).at(-1)).toBe('prefix / → shop/api/8080');
    expect(made.complaints()).toEqual(['PathConflict Ingress shop/b spec.defaultBackend']);
    made.apply(ingress('shop/b', { ...on({ '/': 'web:80' }), creationTimestamp: 2 }));
    expect(made.routes(host).at(-1)).toBe('prefix / → shop/web/80');
    expect(made.complaints()).toEqual([]);
  });

  test('what no path takes belongs to the first Ingress of a host, with a default backend or without', () => {
    const first = ingress('shop/a', { ...on({ '/a': 'web:80' }), creationTimestamp: 1 });
    const second = { ...on({ '/b': 'web:80' }), defaultBackend: backend('api:8080'), creationTimestamp: 2 };
    const made = world(first, ingress('shop/b', second));
    expect(made.routes(host).at(-1)).toBe('prefix / → 404');
    expect(made.complaints()).toEqual(['PathConflict Ingress shop/b spec.defaultBackend']);
    made.apply(remove(first));
    expect(made.routes(host).at(-1)).toBe('prefix / → shop/api/8080');
    expect(made.complaints()).toEqual([]);
  });

  test('an Ingress whose rules are all refused does not become a default server', () => {
    const made = world(ingress('shop/a', { rules: [rule('a b', {})], defaultBackend: backend('web:80') }));
    expect(made.routes('*').at(-1)).toBe('prefix / → 404');
  });

  test('--default-backend-service answers what nobody wants, at its first port', () => {
    const made = new World(generated, { defaultBackendService: 'shop/api' });
    made.apply(web, ...slices, ingress('shop/a', on({ '/a': 'web:80' })));
    expect(made.routes(host).at(-1)).toBe('prefix / → 404');
    expect(made.complaints()).toEqual(['ServiceNotFound Service shop/api']);
    made.apply(api);
    expect(made.routes(host).at(-1)).toBe('prefix / → shop/api/8080');
    expect(made.routes('*').at(-1)).toBe('prefix / → shop/api/8080');
  });

  test('--disable-catch-all leaves such Ingresses out', () => {
    const made = new World(generated, { disableCatchAll: true });
    made.apply(web, ...slices, ingress('shop/a', { ...on({ '/': 'web:80' }), defaultBackend: backend('web:80') }));
    expect(made.routes(host)).toEqual([]);
    expect(made.complaints()).toEqual(['IngressFeatureUnsupported Ingress shop/a spec.defaultBackend']);
  });
});

describe('backends', () => {
  test.each<[string, string, string[]]>([
    ['a number', 'api:9090', ['shop/api/9090']],
    ['a name', 'api:admin', ['shop/api/9090']],
    ['a target port', 'api:9091', ['shop/api/9090']],
    ['a Service that is missing', 'gone:http', ['shop/gone/http', 'ServiceNotFound', 'service.name']],
    ['a port that is missing', 'api:1234', ['shop/api/1234', 'ServicePortNotFound', 'service.port']],
    ['no port', 'api:', ['503', 'BackendInvalid', 'service.port']],
    ['a name with a slash', 'a/b:80', ['503', 'BackendInvalid', 'service.name']],
    ['an external name', 'ext:443', ['shop/ext/443']],
    ['an external name without such a port', 'ext:https', ['shop/ext/https', 'ServicePortNotFound', 'service.port']],
    ['an external name of the proxy itself', 'self:443', ['shop/self/443', 'ExternalNameInvalid', 'service.name']],
  ])('%s', (_, target, [cluster, code, field]) => {
    const made = world(
      ingress('shop/a', on({ '/': target })),
      externalName('shop/ext', 'api.example.com'),
      externalName('shop/self', 'localhost'),
    );
    expect(made.routes(host)).toEqual([`prefix / → ${cluster}`]);
    const path = `spec.rules[0].http.paths[0].backend.${field}`;
    expect(made.complaints()).toEqual(code === undefined ? [] : [`${code} Ingress shop/a ${path}`]);
  });

  test('a resource is refused, and answers 503', () => {
    const resource = { kind: 'Bucket', name: 'files' };
    const made = world(ingress('shop/a', { rules: [{ host, paths: [{ path: '/', backend: { resource } }] }] }));
    expect(made.routes(host)).toEqual(['prefix / → 503']);
    expect(made.complaints()).toEqual(['BackendInvalid Ingress shop/a spec.rules[0].http.paths[0].backend.resource']);
  });

  test('the first Service port that fits wins, and keeps its own name', () => {
    const mixed = service('shop/mixed', [
      { port: 8080, name: 'first', targetPort: 80 },
      { port: 80, name: 'second', targetPort: 8080 },
      { port: 53, name: 'dns', protocol: 'UDP' },
    ]);
    const made = world(
      mixed,
      ingress('shop/a', on({ '/a': 'mixed:80', '/b': 'mixed:8080', '/c': 'mixed:second', '/d': 'mixed:53' })),
    );
    expect(made.routes(host).slice(0, 4)).toEqual([
      'prefix /a → shop/mixed/8080',
      'prefix /b → shop/mixed/8080',
      'prefix /c → shop/mixed/80',
      'prefix /d → shop/mixed/53',
    ]);
    expect(made.complaints()).toContain(
      'ServicePortNotFound Ingress shop/a spec.rules[0].http.paths[3].backend.service.port',
    );
  });
});

describe('what protects is never served open', () => {
  const guarded = (annotations: Record<string, string>, paths: Record<string, string>) =>
    ingress('shop/guarded', {
      ...on(paths),
      tls: [{ hosts: [host] }],
      annotations: Object.fromEntries(Object.entries(annotations).map(([name, value]) => [`${prefix}/${name}`, value])),
    });

  const fieldOf = (name: string) => `metadata.annotations["${prefix}/${name}"]`;

  test('its paths answer 503 without a redirect, the paths of others are served', () => {
    const made = world(
      guarded({ 'auth-url': 'http://auth' }, { '/admin': 'web:80' }),
      ingress('shop/open', on({ '/': 'web:80' })),
    );
    expect(made.routes(host)).toEqual(['prefix /admin → 503', 'prefix / → shop/web/80 (https)']);
    expect(made.complaints()).toEqual([`ProtectionUnavailable Ingress shop/guarded ${fieldOf('auth-url')}`]);
  });

  test.each([
    ['auth-tls-secret', {}],
    ['server-snippet', { 'annotations-risk-level': 'Critical', 'allow-snippet-annotations': 'true' }],
  ])('%s closes the whole host', (name, allowed) => {
    const made = new World(generated, { configMap: 'ingress/config' });
    made.apply(
      web,
      ...slices,
      configMap('ingress/config', allowed),
      guarded({ [name]: 'shop/ca' }, { '/admin': 'web:80' }),
      ingress('shop/open', on({ '/': 'web:80' })),
    );
    expect(made.routes(host)).toEqual(['prefix /admin → 503', 'prefix / → 503']);
    expect(made.complaints()).toEqual([
      `ProtectionUnavailable Ingress shop/guarded ${fieldOf(name)}`,
      'ProtectionUnavailable Ingress shop/open spec.rules',
    ]);
  });

  test('an Ingress with a snippet that nobody allows is not served at all', () => {
    const made = world(
      guarded({ 'server-snippet': 'deny all;' }, { '/admin': 'web:80' }),
      ingress('shop/open', on({ '/': 'web:80' })),
    );
    expect(made.routes(host)).toEqual(['prefix / → shop/web/80']);
    expect(made.complaints()).toEqual([`IngressRefused Ingress shop/guarded ${fieldOf('server-snippet')}`]);
  });

  test('a regular expression is closed where it stands, what it does not match stays open', () => {
    const made = world(
      guarded({ 'auth-url': 'http://auth', 'use-regex': 'true' }, { '/(admin|private)/.*': 'web:80' }),
      ingress('shop/open', on({ '/': 'web:80', '/(admin|private)/public/.*': 'web:80' })),
    );
    expect(made.routes(host)).toEqual([
      'regex /(admin|private)/public/.* → shop/web/80 (https)',
      'regex /(admin|private)/.* → 503',
      'prefix / → shop/web/80 (https)',
    ]);
  });

  test('the default backend behind a protected host is closed, its 404 is not', () => {
    const made = world(guarded({ 'auth-url': 'http://auth' }, { '/a': 'web:80' }));
    expect(made.routes(host)).toEqual(['prefix /a → 503', 'prefix / → 404 (https)']);
    const behind = new World(generated, { defaultBackendService: 'shop/web' });
    behind.apply(web, ...slices, guarded({ 'auth-url': 'http://auth' }, { '/a': 'web:80' }));
    expect(behind.routes(host)).toEqual(['prefix /a → 503', 'prefix / → 503']);
    expect(behind.routes('*').at(-1)).toBe('prefix / → shop/web/80');
  });

  test('a key of the ConfigMap closes every Ingress until it is gone', () => {
    const made = new World(generated, { configMap: 'ingress/config' });
    const keys = { 'enable-modsecurity': 'true', 'no-such-key': 'true' };
    made.apply(web, ...slices, ingress('shop/a', on({ '/': 'web:80' })), configMap('ingress/config', keys));
    expect(made.routes(host)).toEqual(['prefix / → 503']);
    expect(made.routes('*')).toEqual(['exact /healthz → 200', 'prefix / → 404']);
    const unknown = 'ConfigMapKeyUnknown ConfigMap ingress/config data["no-such-key"]';
    const protection = 'ProtectionUnavailable ConfigMap ingress/config data["enable-modsecurity"]';
    expect(made.complaints()).toEqual([unknown, protection]);
    made.apply(configMap('ingress/config', { 'no-such-key': 'true' }));
    expect(made.routes(host)).toEqual(['prefix / → shop/web/80']);
    expect(made.complaints()).toEqual([unknown]);
    made.apply(configMap('ingress/config', {}));
    expect(made.complaints()).toEqual([]);
    made.apply(remove(configMap('ingress/config', {})));
    expect(made.complaints()).toEqual(['ConfigMapNotFound ConfigMap ingress/config']);
  });

  test('annotations without effect are named', () => {
    const made = world(guarded({ 'proxy-read-timeouts': '8', 'proxy-send-timeout': '60s', 'cors-max-age': ' ' }, {}));
    expect(made.complaints()).toEqual([
      `AnnotationInvalid Ingress shop/guarded ${fieldOf('proxy-send-timeout')}`,
      `AnnotationUnknown Ingress shop/guarded ${fieldOf('proxy-read-timeouts')}`,
    ]);
    const messages = made.diagnostics().map(({ message }) => message);
    expect(messages).toEqual([
      'no annotation of that name is known, and it has no effect; did you mean proxy-read-timeout?',
      '"60s" is not a whole number of seconds; 60 holds instead',
    ]);
  });

  test('a canary alone takes no request', () => {
    const made = world(guarded({ canary: 'true' }, { '/': 'api:8080' }));
    expect(made.routes(host)).toEqual([]);
    expect(made.complaints()).toEqual(['CanaryUnmatched Ingress shop/guarded spec.rules[0].host']);
  });
});

test('a host that cannot be built is closed, not gone', () => {
  const failed = closedOnFailure({ host: 'shop.example.com' }, () => {
    throw new RangeError('too many');
  });
  expect(failed.routes).toMatchObject([{ match: { kind: 'prefix', path: '/' }, action: { status: 503 } }]);
  expect(failed.diagnostics).toMatchObject([{ code: 'UnitFailed', message: expect.stringContaining('too many') }]);
});
