/** What protects a backend and cannot be honoured yet closes it: on both ports, without a redirect, whatever else is there. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { annotationFeatures } from '../../../src/ingress/annotations/index.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { send } from '../../support/http-client.ts';
import { configMap, type IngressSpec, ingress, type Manifest } from '../../support/manifests.ts';
import { observe, type Services, soon, startServices, testCases } from './cases.ts';

const PREFIX = 'nginx.ingress.kubernetes.io';

/** Every annotation of ingress-nginx that protects a backend, or has a meaning beside one that does: there it is asked. */
const PROTECTIVE: Readonly<Record<string, string>> = {
  'auth-type': 'basic',
  'auth-secret': 'basic-auth',
  'auth-secret-type': 'auth-file',
  'auth-realm': 'Authentication required',
  'auth-url': 'https://auth.example.com/check',
  'auth-method': 'GET',
  'auth-signin': 'https://auth.example.com/signin',
  'auth-signin-redirect-param': 'rd',
  'auth-request-redirect': '/back',
  'auth-response-headers': 'X-User',
  'auth-snippet': 'proxy_set_header X-A b;',
  'auth-proxy-set-headers': 'default/headers',
  'auth-cache-key': '$remote_user',
  'auth-cache-duration': '200 5m',
  'auth-always-set-cookie': 'true',
  'auth-keepalive': '10',
  'auth-keepalive-requests': '100',
  'auth-keepalive-timeout': '60',
  'auth-keepalive-share-vars': 'true',
  satisfy: 'any',
  'auth-tls-secret': 'default/ca',
  'auth-tls-verify-client': 'on',
  'auth-tls-verify-depth': '1',
  'auth-tls-error-page': 'https://example.com/error',
  'auth-tls-pass-certificate-to-upstream': 'true',
  'auth-tls-match-cn': 'CN=client',
  'enable-modsecurity': 'true',
  'enable-owasp-core-rules': 'true',
  'modsecurity-snippet': 'SecRuleEngine On',
  'modsecurity-transaction-id': '$request_id',
  'configuration-snippet': 'deny all;',
  'server-snippet': 'location /admin { return 403; }',
  'stream-snippet': 'server { listen 9000; }',
};

/** What closes the whole host in ingress-nginx, not only the paths of its own Ingress. */
const HOST_WIDE = Object.keys(PROTECTIVE).filter((name) => /^(?:auth-tls-|server-snippet)/.test(name));

const GLOBAL: Readonly<Record<string, string>> = {
  'global-auth-url': 'https://auth.example.com/check',
  'enable-modsecurity': 'true',
};

/** Snippets and what is above the usual risk are taken here: else their Ingresses would not be served at all. */
const ALLOWED = { 'annotations-risk-level': 'Critical', 'allow-snippet-annotations': 'true' };

let gateway: Gateway;
let services: Services;

function annotated(
  name: string,
  annotations: Readonly<Record<string, string>>,
  more: Partial<IngressSpec> = {},
): Manifest {
  const full = Object.entries(annotations).map(([key, value]) => [`${PREFIX}/${key}`, value]);
  const host = `${name}.example.com`;
  return ingress({ name, rules: [{ host, paths: [{}] }], annotations: Object.fromEntries(full), ...more });
}

/** With TLS, so that plain HTTP would be redirected; and a path of another Ingress on the same host. */
function protectedHost(annotation: string): Manifest[] {
  const host = `${annotation}.example.com`;
  const path = (text: string) => [{ host, paths: [{ path: text }] }];
  const [leader] = annotationFeatures.flatMap(({ keys }) => keys[annotation]?.needs ?? []);
  const names = leader === undefined ? [annotation] : [annotation, leader];
  const values = Object.fromEntries(names.map((name) => [name, PROTECTIVE[name] ?? '']));
  return [
    annotated(annotation, values, { rules: path('/closed'), tls: [{ hosts: [host] }] }),
    ingress({ name: `${annotation}-neighbour`, rules: path('/') }),
  ];
}

beforeAll(async () => {
  services = await startServices('web');
  gateway = await startGateway({
    build: { configMap: 'default/controller' },
    manifests: [
      ...services.manifests,
      configMap('controller', ALLOWED),
      ...Object.keys(PROTECTIVE).flatMap(protectedHost),
      annotated('plain', {}),
      annotated('harmless', { 'proxy-read-timeout': '10', 'ssl-redirect': 'false' }),
      annotated('empty', { 'auth-url': '', 'auth-type': '   ', 'whitelist-source-range': '' }),
      annotated('leftover', { 'enable-global-auth': 'true', 'auth-realm': 'Staff' }),
      annotated('off', { 'enable-modsecurity': 'false', 'enable-owasp-core-rules': '0' }),
      annotated('unparsable', { 'enable-modsecurity': 'maybe' }),
      ingress({
        name: 'foreign-prefix',
        rules: [{ host: 'foreign-prefix.example.com', paths: [{}] }],
        annotations: { 'haproxy.org/auth-type': 'basic' },
      }),
      annotated('default-backend', { 'auth-type': 'basic' }, { defaultBackend: 'web:80', rules: [] }),
      annotated(
        'inner',
        { 'auth-type': 'basic' },
        {
          rules: [{ host: 'inner.example.com', paths: [{ path: '/admin' }, { path: '/exact', pathType: 'Exact' }] }],
        },
      ),
      ingress({
        name: 'outer',
        rules: [{ host: 'inner.example.com', paths: [{ path: '/' }, { path: '/admin/public' }] }],
      }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

async function statuses(host: string, path: string): Promise<number[]> {
  const answers = [
    await send({ port: gateway.httpPort, host, path }),
    await send({ port: gateway.httpsPort, host, path, tls: true }),
  ];
  return answers.map(({ status }) => status);
}

describe('an Ingress with a protective annotation answers 503 on http and https', () => {
  test.each(Object.keys(PROTECTIVE))('%s', async (annotation) => {
    expect(await statuses(`${annotation}.example.com`, '/closed/x')).toEqual([503, 503]);
  });

  const ownPathsOnly = Object.keys(PROTECTIVE).filter((annotation) => !HOST_WIDE.includes(annotation));

  test.each(ownPathsOnly)('%s: another Ingress of the host is served', async (annotation) => {
    expect(await statuses(`${annotation}.example.com`, '/open')).toEqual([308, 200]);
  });

  test.each(HOST_WIDE)('%s: and so does every other Ingress of the host', async (annotation) => {
    expect(await statuses(`${annotation}.example.com`, '/open')).toEqual([503, 503]);
  });
});

describe('closed is what the annotation is for', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://plain.example.com/', backend: 'web' },
      { url: 'http://harmless.example.com/', backend: 'web' },
      { url: 'http://empty.example.com/', backend: 'web', because: 'an empty value is no value' },
      { url: 'http://leftover.example.com/', backend: 'web' },
      { url: 'http://off.example.com/', backend: 'web', because: 'a firewall that is off protects nothing' },
      { url: 'http://unparsable.example.com/', status: 503 },
      { url: 'http://foreign-prefix.example.com/', backend: 'web' },
      { url: 'http://unknown.example.org/', status: 503, because: 'a protected default backend' },
      { url: 'http://inner.example.com/admin', status: 503, because: 'the wider path of a neighbour does not open it' },
      { url: 'http://inner.example.com/admin/x', status: 503 },
      { url: 'http://inner.example.com/x/../admin/x', status: 503 },
      { url: 'http://inner.example.com//admin', status: 503 },
      { url: 'http://inner.example.com/%61dmin', status: 503 },
      { url: 'http://inner.example.com/exact', status: 503 },
      { url: 'http://inner.example.com/exact/x', backend: 'web' },
      { url: 'http://inner.example.com/admin/public', backend: 'web', because: 'the neighbour owns the longer path' },
    ],
  );

  test('with the page of nginx', async () => {
    const { answer } = await observe(gateway, { url: 'http://auth-url.example.com/closed' });
    expect(answer.body).toContain('<center><h1>503 Service Temporarily Unavailable</h1></center>');
  });

  test('from the moment it is added until it is removed', async () => {
    await gateway.apply(annotated('plain', { 'auth-url': 'https://auth.example.com' }));
    await soon(() => statuses('plain.example.com', '/')).toEqual([503, 503]);
    await gateway.apply(annotated('plain', {}));
    await soon(() => statuses('plain.example.com', '/')).toEqual([200, 200]);
  });
});

describe('every Ingress answers 503 on http and https while the ConfigMap has a protective key', () => {
  test.each(Object.entries(GLOBAL))('%s', async (key, value) => {
    await gateway.apply(configMap('controller', { [key]: value }));
    await soon(() => statuses('plain.example.com', '/')).toEqual([503, 503]);
    await soon(() => statuses('leftover.example.com', '/')).toEqual([503, 503]);
    await soon(() => statuses('satisfy.example.com', '/open')).toEqual([503, 503]);
    await gateway.apply(configMap('controller', {}));
    await soon(() => statuses('plain.example.com', '/')).toEqual([200, 200]);
  });

  test.each([
    ['enable-modsecurity', 'false'],
    ['global-auth-url', ''],
    ['proxy-body-size', '2m'],
  ])('but not for %s: "%s"', async (key, value) => {
    await gateway.apply(configMap('controller', { [key]: value }));
    await soon(() => statuses('plain.example.com', '/')).toEqual([200, 200]);
  });

  test('and none for the ConfigMap of somebody else', async () => {
    await gateway.apply(configMap('other', GLOBAL));
    await soon(() => statuses('plain.example.com', '/')).toEqual([200, 200]);
  });

  test('until the ConfigMap is gone', async () => {
    await gateway.apply(configMap('controller', GLOBAL));
    await soon(() => statuses('plain.example.com', '/')).toEqual([503, 503]);
    await gateway.remove('ConfigMap', 'controller');
    await soon(() => statuses('plain.example.com', '/')).toEqual([200, 200]);
  });
});
