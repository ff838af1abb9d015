import { describe, expect, test } from 'vitest';
import { forward, host, respond, TO_HTTPS } from '../envoy/testing.ts';
import type { Route } from '../model/proxy-model.ts';
import type { NginxLocation } from './config.ts';
import { ALWAYS_WRITABLE_BYTES } from './path.ts';
import { Expanded, Literal } from './quote.ts';
import { nginxServer, type ServerContext } from './server.ts';

const context: ServerContext = {
  forward: (cluster) => ({ upstream: cluster, available: true }),
  dynamic: true,
  tls: () => ({}),
  backendFiles: () => ({}),
  canResolve: () => true,
};

const emit = (...routes: readonly Route[]) => nginxServer(host('a.example.com', ...routes), context);

/** `= /foo → shop/web/80`, `/foo/ → 404` */
function shown({ kind, path, forward, respond }: NginxLocation): string {
  const modifier = { exact: '= ', prefix: '', regex: '~ ', caseless: '~* ' }[kind];
  const text = path instanceof Literal ? path.text : path.source;
  return `${modifier}${text} → ${forward?.upstream ?? respond?.status}`;
}

const locations = (...routes: readonly Route[]) => emit(...routes).servers[0]!.locations.map(shown);

describe('locations', () => {
  test('a prefix is the path itself and what is below it', () => {
    expect(locations(forward('/foo', 'web'), respond('/', 404))).toEqual([
      '= /foo → shop/web/80',
      '/foo/ → shop/web/80',
      '/ → 404',
    ]);
  });

  test('an exact path counts before the prefix of the same text', () => {
    expect(locations(forward('=/foo', 'exact'), forward('/foo', 'web'))).toEqual([
      '= /foo → shop/exact/80',
      '/foo/ → shop/web/80',
    ]);
  });

  test('what an earlier route takes is not there, since nginx would prefer the longer path', () => {
    const routes = [forward('/foo', 'web'), forward('/foo/bar', 'covered'), forward('=/foo/x', 'covered')];
    expect(locations(...routes, forward('/foobar', 'other'))).toEqual([
      '= /foo → shop/web/80',
      '/foo/ → shop/web/80',
      '= /foobar → shop/other/80',
      '/foobar/ → shop/other/80',
    ]);
  });

  test('paths are compared decoded', () => {
    const routes = [forward('=/a%20b%25%C3%A4"', 'web'), forward('=/a%zz', 'odd')];
    expect(locations(...routes)).toEqual(['= /a b%ä" → shop/web/80', '= /a%zz → shop/odd/80']);
  });

  test('bytes that are no text become a regular expression', () => {
    const routes = [forward('=/caf%E9.', 'exact'), forward('/caf%e9', 'web')];
    expect(locations(...routes)).toEqual([
      '~ ^/caf\\xe9\\.\\z → shop/exact/80',
      '~ ^/caf\\xe9\\z → shop/web/80',
      '~ ^/caf\\xe9/ → shop/web/80',
    ]);
  });

  test('so does what is longer than nginx compares', () => {
    const text = `/${'a.'.repeat(126)}`;
    expect(locations(forward(`=${text}bc`, 'web'))).toEqual([`= ${text}bc → shop/web/80`]);
    const source = text.replaceAll('.', '\\.');
    expect(locations(forward(`=${text}bcd`, 'web'))).toEqual([`~ ^${source}bcd\\z → shop/web/80`]);
  });

  test('of two routes that are the same when decoded the first counts', () => {
    expect(locations(forward('=/a', 'one'), forward('=/%61', 'two'))).toEqual(['= /a → shop/one/80']);
  });

  test('a path that no request can carry is left out', () => {
    expect(locations(forward('/a%00', 'web'), forward('=/b', 'web'))).toEqual(['= /b → shop/web/80']);
  });

  test('a path that is too long is closed, with all that begins like it', () => {
    const long = `/${'x'.repeat(4_000)}`;
    const { servers, diagnostics } = emit(forward(long, 'web'), forward('/', 'root'));
    expect(servers[0]!.locations.map(shown)).toEqual([
      `~ ^${long.slice(0, ALWAYS_WRITABLE_BYTES)} → 503`,
      '/ → shop/root/80',
    ]);
    expect(diagnostics).toMatchObject([
      {
        severity: 'error',
        code: 'IngressFeatureUnsupported',
        ref: { kind: 'Ingress', namespace: 'shop', name: 'web' },
        field: 'spec.rules[0].http.paths[0]',
      },
    ]);
    expect(emit(forward(long.slice(0, 3_900), 'web')).diagnostics).toEqual([]);
    // A byte that is no text, and one that has to be escaped, take more room.
    expect(emit(forward(`/${'%ff'.repeat(1_000)}`, 'web')).diagnostics).toHaveLength(1);
    expect(emit(forward(`/${'"'.repeat(2_500)}`, 'web')).diagnostics).toHaveLength(1);
  });
});

test('a value that is longer than nginx can read costs its own path, not the configuration', () => {
  const set = [{ name: 'x-long', value: ['x'.repeat(4_100)] }];
  const { servers, diagnostics } = emit(
    forward('=/long', 'web', { responseHeaders: { set, remove: [] } }),
    forward('/', 'web'),
  );
  expect(servers[0]!.locations.map(shown)).toEqual(['= /long → 503', '/ → shop/web/80']);
  expect(diagnostics).toMatchObject([{ severity: 'error', message: expect.stringMatching(/longer than nginx/) }]);
});

describe('server names', () => {
  const name = (text: string) => nginxServer(host(text), context).servers[0]?.serverNames[0];

  test('the default server, a host, a wildcard for one label', () => {
    expect(name('*')).toEqual(new Literal('_'));
    expect(name('a.example.com')).toEqual(new Literal('a.example.com'));
    expect(name('*.example.com')).toMatchObject({ source: '~^[\\w-]+\\.example\\.com$' });
  });
});

test('the names of a host are those of one server, or of one for each certificate', () => {
  const named = { ...host('a.example.com', forward('/', 'web')), aliases: ['b.example.com', 'c.example.com'] };
  const names = (tls: ServerContext['tls']) =>
    nginxServer(named, { ...context, tls }).servers.map(({ serverNames, certificate, locations }) => [
      serverNames.map((name) => (name instanceof Literal ? name.text : name.source)),
      certificate,
      locations.length,
    ]);
  expect(names(() => ({}))).toEqual([[['a.example.com', 'b.example.com', 'c.example.com'], undefined, 1]]);
  expect(names((name) => (name.startsWith('b') ? {} : { certificate: 'a.pem' }))).toEqual([
    [['a.example.com', 'c.example.com'], 'a.pem', 1],
    [['b.example.com'], undefined, 1],
  ]);
});

describe('what happens to a request', () => {
  test('redirect, backend, statuses', () => {
    const [location] = emit(forward('/', 'web', TO_HTTPS)).servers[0]!.locations;
    expect(location).toMatchObject({
      httpsRedirect: { status: 308 },
      forward: { logName: 'shop-web-80', statusWithoutEndpoints: 503 },
    });
  });

  test("nginx's own pages need no body, others keep theirs", () => {
    const page = '<html><hr><center>nginx</center></html>';
    const bodies = [
      respond('=/a', 404, page),
      respond('=/b', 200),
      respond('=/c', 200, page),
      respond('=/d', 503, 'no'),
    ];
    expect(emit(...bodies).servers[0]!.locations.map(({ respond }) => respond)).toEqual([
      { status: 404, contentType: 'text/html' },
      { status: 200, contentType: 'text/plain', body: '' },
      { status: 200, contentType: 'text/html', body: page },
      { status: 503, contentType: 'text/plain', body: 'no' },
    ]);
  });
});

describe('copies of requests', () => {
  const mirror = {
    target: { tls: true, hostname: 'copies.example.com', port: 443 },
    path: ['/of', { variable: 'uri' as const }],
    host: ['copies.example.com'],
    body: true,
  };

  test('go where the policy says, by the path as it was sent', () => {
    const { servers, diagnostics } = emit(forward('/', 'web', { mirror }), respond('=/own', 404, '', { mirror }));
    const copies = servers[0]!.locations.map(({ mirror }) => mirror && { ...mirror, url: mirror.url.parts });
    const url = ['https://copies.example.com:443', '/of', { variable: 'sent_path' }];
    expect(copies).toEqual([{ url, host: new Expanded(['copies.example.com']), body: true }]);
    expect(diagnostics).toEqual([]);
  });

  test('go to no name where there is no DNS server', () => {
    const virtualHost = host('a.example.com', forward('/', 'web', { mirror }));
    const { servers, diagnostics } = nginxServer(virtualHost, { ...context, canResolve: () => false });
    expect(servers[0]!.locations.map(({ mirror }) => mirror)).toEqual([undefined]);
    expect(diagnostics.map(({ message }) => message)).toEqual([
      'mirror: copies.example.com cannot be resolved: no DNS server is known',
    ]);
  });
});
