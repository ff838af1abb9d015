import { observe } from '../envoy/behaviour/cases.ts';
import type { Exchange, Ports } from '../parity/table.ts';
import { startBackend } from '../support/backend.ts';
import { endpointSlice, ingress, type Manifest, service } from '../support/manifests.ts';
import { REFUSING_PORT } from '../support/static-envoy.ts';
import { type AnnotationTable, annotated } from './table.ts';

type Texts = Readonly<Record<string, string>>;

const SESSION = { affinity: 'cookie' };
const PERSISTENT = { ...SESSION, 'affinity-mode': 'persistent' };

function host(name: string, annotations: Texts, { path = '/', to = 'pods:80' } = {}): Manifest {
  return ingress({
    name,
    annotations: annotated({ 'ssl-redirect': 'false', ...annotations }),
    rules: [{ host: addressOf(name), paths: [{ path, service: to }] }],
    tls: [{ hosts: [addressOf(name)] }],
  });
}

function addressOf(name: string): string {
  return `${name}.session.example.com`;
}

/** The cookie that a client gets, without its value: `INGRESSCOOKIE; HttpOnly; Path=/`. */
function gets(name: string, cookie: string, options: Options = {}): Exchange {
  const { path = '/', scheme = 'http', headers = {}, because = cookie } = options;
  return {
    title: `${because} over ${scheme}`,
    run: async (ports) => {
      const { answer } = await observe(ports, { url: `${scheme}://${addressOf(name)}${path}`, headers });
      return [answer.headers['set-cookie'] ?? []].flat().map(withoutValue);
    },
    expected: cookie === '' ? [] : [cookie],
    withoutLua: [],
  };
}

interface Options {
  readonly path?: string;
  readonly scheme?: 'http' | 'https';
  readonly headers?: Texts;
  readonly because?: string;
}

function withoutValue(cookie: string): string {
  const [pair = '', ...attributes] = cookie.split('; ');
  return [pair.split('=')[0], ...attributes.toSorted()].join('; ');
}

/** How many endpoints answer a client that keeps its cookies, and how many cookies it gets. */
function follows(name: string, expected: { readonly endpoints: number; readonly cookies: number }): Exchange {
  return {
    title: `${expected.endpoints === 1 ? 'one endpoint' : 'all endpoints'} for a client`,
    run: async (ports) => {
      const endpoints = new Set<string>();
      const cookies: string[] = [];
      for (let request = 0; request < 9; request++) {
        const headers = cookies.length > 0 ? { cookie: `other=1; ${cookies.at(-1)}` } : {};
        const { answer, received } = await observe(ports, { url: `http://${addressOf(name)}/`, headers });
        endpoints.add(received?.backend ?? 'none');
        cookies.push(...[answer.headers['set-cookie'] ?? []].flat().map((text) => text.split(';')[0] ?? ''));
      }
      return { endpoints: endpoints.size, cookies: cookies.length };
    },
    expected,
    withoutLua: { endpoints: 3, cookies: 0 },
  };
}

/** What becomes of clients that come for the first time to a Service of which one endpoint is dead. */
function meetsFailure(name: string, expected: 'all are served' | 'some fail'): Exchange {
  return {
    title: expected,
    run: async (ports: Ports) => {
      const url = `http://${addressOf(name)}/`;
      const answers = await Promise.all(Array.from({ length: 40 }, () => observe(ports, { url })));
      const failed = answers.filter(({ answer }) => answer.status === 502).length;
      const served = answers.filter(({ answer }) => answer.status === 200).length;
      if (failed + served < answers.length) return 'something else happens';
      return failed === 0 ? 'all are served' : 'some fail';
    },
    expected,
    withoutLua: 'all are served',
  };
}

const OLD_BROWSER = {
  'user-agent': 'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/60.0.1 Safari/537.36',
};
const NEW_BROWSER = {
  'user-agent': 'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/160.0.1 Safari/537.36',
};

export const sessionAffinity: AnnotationTable = {
  title: 'session affinity',
  start: async () => {
    const pods = await Promise.all(['a', 'b', 'c'].map((name) => startBackend(name)));
    const [alive] = pods;
    const closed = ingress({
      name: 'closed',
      annotations: annotated({ ...SESSION, 'auth-tls-secret': 'a/b' }),
      rules: [{ host: addressOf('closed'), paths: [{ service: 'pods:80' }] }],
    });
    return {
      close: async () => {
        await Promise.all(pods.map((pod) => pod.close()));
      },
      manifests: [
        service('pods'),
        ...pods.map((pod) => pod.slice('pods')),
        service('half'),
        endpointSlice('half', ['127.0.0.1'], { port: REFUSING_PORT, suffix: 'dead' }),
        endpointSlice('half', ['127.0.0.1'], { port: alive?.port ?? 0, suffix: 'alive' }),
        closed,
        host('off', {}),
        host('bad', { affinity: 'ip' }),
        host('plain', SESSION),
        host('persistent', PERSISTENT),
        host('rewritten', { ...SESSION, 'proxy-cookie-path': '/ /app/', 'proxy-cookie-domain': 'a.test b.test' }),
        host('rewritten-persistent', { ...PERSISTENT, 'proxy-cookie-path': '/ /app/' }),
        host('balanced', { ...SESSION, 'affinity-mode': 'balanced' }),
        host('bad-mode', { ...SESSION, 'affinity-mode': 'sometimes' }),
        host('name', { ...SESSION, 'session-cookie-name': 'route' }),
        host('name-persistent', { ...PERSISTENT, 'session-cookie-name': 'my-route' }),
        host('bad-name', { ...SESSION, 'session-cookie-name': 'a;b' }),
        host('path', { ...SESSION, 'session-cookie-path': '/' }, { path: '/app' }),
        host('own-path', SESSION, { path: '/app' }),
        host('own-path-persistent', PERSISTENT, { path: '/app' }),
        host('bad-path', { ...SESSION, 'session-cookie-path': '/a;b' }, { path: '/app' }),
        host('regex', { ...SESSION, 'use-regex': 'true' }, { path: '/app' }),
        host('domain', { ...SESSION, 'session-cookie-domain': 'example.com' }),
        host('bad-domain', { ...SESSION, 'session-cookie-domain': 'example.com; x' }),
        host('age', { ...SESSION, 'session-cookie-max-age': '3600', 'session-cookie-expires': '60' }),
        host('age-persistent', { ...PERSISTENT, 'session-cookie-max-age': '3600' }),
        host('bad-age', { ...SESSION, 'session-cookie-max-age': '1h' }),
        host('expires', { ...SESSION, 'session-cookie-expires': '60' }),
        host('bad-expires', { ...SESSION, 'session-cookie-expires': '1h' }),
        host('samesite', { ...SESSION, 'session-cookie-samesite': 'Lax' }),
        host('bad-samesite', { ...SESSION, 'session-cookie-samesite': 'Loose' }),
        host('none', { ...SESSION, 'session-cookie-samesite': 'None' }),
        host('conditional', {
          ...SESSION,
          'session-cookie-samesite': 'None',
          'session-cookie-conditional-samesite-none': 'true',
        }),
        host('bad-conditional', {
          ...SESSION,
          'session-cookie-samesite': 'None',
          'session-cookie-conditional-samesite-none': 'yes',
        }),
        host('secure', { ...SESSION, 'session-cookie-secure': 'true' }),
        host('bad-secure', { ...SESSION, 'session-cookie-secure': 'yes' }),
        host('stays', SESSION, { to: 'half:80' }),
        host('stays-persistent', PERSISTENT, { to: 'half:80' }),
        host('changes', { ...SESSION, 'session-cookie-change-on-failure': 'true' }, { to: 'half:80' }),
        host('changes-persistent', { ...PERSISTENT, 'session-cookie-change-on-failure': 'true' }, { to: 'half:80' }),
        host('bad-change', { ...SESSION, 'session-cookie-change-on-failure': 'yes' }, { to: 'half:80' }),
      ],
    };
  },
  keys: {
    affinity: {
      good: [follows('plain', { endpoints: 1, cookies: 1 }), gets('plain', 'INGRESSCOOKIE; HttpOnly; Path=/')],
      bad: [gets('bad', '', { because: 'no cookie' })],
      default: [gets('off', '', { because: 'no cookie' }), follows('off', { endpoints: 3, cookies: 0 })],
      neighbours: [
        gets('rewritten', 'INGRESSCOOKIE; HttpOnly; Path=/', { because: 'cookies of backends alone are rewritten' }),
        follows('rewritten', { endpoints: 1, cookies: 1 }),
        gets('rewritten-persistent', 'INGRESSCOOKIE; HttpOnly; Path=/', { because: 'likewise' }),
        { url: `http://${addressOf('closed')}/`, status: 503, because: 'what protects it counts' },
        { url: `http://${addressOf('own-path')}/`, status: 404, answered: { 'set-cookie': undefined } },
      ],
    },
    'affinity-mode': {
      good: [
        follows('persistent', { endpoints: 1, cookies: 1 }),
        gets('persistent', 'INGRESSCOOKIE; HttpOnly; Path=/', {
          headers: { cookie: 'INGRESSCOOKIE=unknown' },
          because: 'a cookie that names no endpoint is replaced',
        }),
        gets('balanced', '', { headers: { cookie: 'INGRESSCOOKIE=unknown' }, because: 'any cookie counts' }),
      ],
      bad: [gets('bad-mode', '', { headers: { cookie: 'INGRESSCOOKIE=unknown' }, because: 'any cookie counts' })],
      default: [gets('plain', '', { headers: { cookie: 'INGRESSCOOKIE=unknown' }, because: 'any cookie counts' })],
    },
    'session-cookie-name': {
      good: [gets('name', 'route; HttpOnly; Path=/'), gets('name-persistent', 'my-route; HttpOnly; Path=/')],
      bad: [gets('bad-name', 'INGRESSCOOKIE; HttpOnly; Path=/')],
      default: [gets('plain', 'INGRESSCOOKIE; HttpOnly; Path=/')],
    },
    'session-cookie-path': {
      good: [gets('path', 'INGRESSCOOKIE; HttpOnly; Path=/', { path: '/app/x' })],
      bad: [gets('bad-path', 'INGRESSCOOKIE; HttpOnly; Path=/app', { path: '/app/x' })],
      default: [
        gets('own-path', 'INGRESSCOOKIE; HttpOnly; Path=/app', { path: '/app/x' }),
        gets('regex', 'INGRESSCOOKIE; HttpOnly; Path=/', { path: '/app/x' }),
        gets('own-path-persistent', 'INGRESSCOOKIE; HttpOnly; Path=/app', { path: '/app/x' }),
      ],
    },
    'session-cookie-domain': {
      good: [gets('domain', 'INGRESSCOOKIE; Domain=example.com; HttpOnly; Path=/')],
      bad: [gets('bad-domain', 'INGRESSCOOKIE; HttpOnly; Path=/')],
      default: [gets('plain', 'INGRESSCOOKIE; HttpOnly; Path=/')],
    },
    'session-cookie-max-age': {
      good: [
        gets('age', 'INGRESSCOOKIE; HttpOnly; Max-Age=3600; Path=/'),
        gets('age-persistent', 'INGRESSCOOKIE; HttpOnly; Max-Age=3600; Path=/'),
      ],
      bad: [gets('bad-age', 'INGRESSCOOKIE; HttpOnly; Path=/')],
      default: [gets('plain', 'INGRESSCOOKIE; HttpOnly; Path=/')],
    },
    'session-cookie-expires': {
      good: [gets('expires', 'INGRESSCOOKIE; HttpOnly; Max-Age=60; Path=/')],
      bad: [gets('bad-expires', 'INGRESSCOOKIE; HttpOnly; Path=/')],
      default: [gets('plain', 'INGRESSCOOKIE; HttpOnly; Path=/')],
    },
    'session-cookie-samesite': {
      good: [gets('samesite', 'INGRESSCOOKIE; HttpOnly; Path=/; SameSite=Lax')],
      bad: [gets('bad-samesite', 'INGRESSCOOKIE; HttpOnly; Path=/')],
      default: [gets('plain', 'INGRESSCOOKIE; HttpOnly; Path=/')],
    },
    'session-cookie-conditional-samesite-none': {
      good: [
        gets('conditional', 'INGRESSCOOKIE; HttpOnly; Path=/', { headers: OLD_BROWSER }),
        gets('conditional', 'INGRESSCOOKIE; HttpOnly; Path=/; SameSite=None', { headers: NEW_BROWSER }),
      ],
      bad: [gets('bad-conditional', 'INGRESSCOOKIE; HttpOnly; Path=/; SameSite=None', { headers: OLD_BROWSER })],
      default: [gets('none', 'INGRESSCOOKIE; HttpOnly; Path=/; SameSite=None', { headers: OLD_BROWSER })],
    },
    'session-cookie-secure': {
      good: [
        gets('secure', 'INGRESSCOOKIE; HttpOnly; Path=/; Secure'),
        gets('secure', 'INGRESSCOOKIE; HttpOnly; Path=/; Secure', { scheme: 'https' }),
      ],
      bad: [gets('bad-secure', 'INGRESSCOOKIE; HttpOnly; Path=/')],
      default: [
        gets('plain', 'INGRESSCOOKIE; HttpOnly; Path=/'),
        gets('plain', 'INGRESSCOOKIE; HttpOnly; Path=/; Secure', { scheme: 'https' }),
        gets('persistent', 'INGRESSCOOKIE; HttpOnly; Path=/; Secure', { scheme: 'https' }),
      ],
    },
    'session-cookie-change-on-failure': {
      good: [meetsFailure('changes', 'all are served'), meetsFailure('changes-persistent', 'all are served')],
      bad: [meetsFailure('bad-change', 'some fail')],
      default: [meetsFailure('stays', 'some fail'), meetsFailure('stays-persistent', 'some fail')],
    },
  },
};
