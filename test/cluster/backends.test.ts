/** Services that come, go and change under an Ingress, and those that are names elsewhere. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { endpointSlice, externalName, ingress, service } from '../support/manifests.ts';
import { pathOf } from './support/api.ts';
import { type Backend, startBackend } from './support/backend.ts';
import { eventually } from './support/eventually.ts';
import { everythingBefore, webService } from './support/ingresses.ts';
import { allResources, resourceNames } from './support/inspect.ts';
import { requireNetwork } from './support/namespace.ts';
import { request, served } from './support/product.ts';
import { type Site, STEADY_HOST, startSite } from './support/site.ts';

const WEB_ADDRESS = '10.200.2.1';
const OTHER_ADDRESS = '10.200.2.2';

let site: Site;
let other: Backend;
let dns: DnsServer;

beforeAll(async () => {
  // Elsewhere this machine would lose its name server.
  requireNetwork();
  dns = await startDnsServer(53);
  const resolvers = join(mkdtempSync(join(tmpdir(), 'resolvers-')), 'resolv.conf');
  writeFileSync(resolvers, 'nameserver 127.0.0.1\n');
  execFileSync('mount', ['--bind', resolvers, '/etc/resolv.conf']);
  site = await startSite();
  other = await startBackend('other', OTHER_ADDRESS);
});
afterAll(async () => {
  execFileSync('umount', ['/etc/resolv.conf']);
  await Promise.all([other?.close(), dns?.close()]);
  await site?.close();
});

/** An Ingress for this host. */
function to(host: string, backend: string) {
  return ingress({
    name: host.replaceAll('.', '-'),
    namespace: site.namespace,
    rules: [{ host, paths: [{ service: backend }] }],
  });
}

test('a host whose Service is missing answers 503, and is healed by the Service and its endpoints', async () => {
  const { api } = site.cluster;
  const host = 'late.test';
  const [late, slice] = webService(site.namespace, 'late');
  await api.apply(to(host, 'late:80'));
  await served(host, { status: 503, product: site.product });
  await api.apply(late!);
  await everythingBefore(site);
  expect((await request(host)).status).toBe(503);
  await api.apply(slice!);
  await served(host);
  await api.remove(late!);
  await served(host, { status: 503 });
  // The slice that was left behind is the next one's.
  await api.apply(late!);
  await served(host);
  await api.remove(slice!);
  await served(host, { status: 503 });
  await api.remove(to(host, ''), late!);
  await served(host, { status: 404 });
});

test('a port is found by its number or by its name, as they are now', async () => {
  const { api } = site.cluster;
  const where = site.namespace;
  const named = (name: string, port = 80) => [
    service('ports', [{ name, port, targetPort: 8080 }], where),
    endpointSlice('ports', [WEB_ADDRESS], { namespace: where, portName: name }),
  ];
  await api.apply(...named('http'), to('by-name.test', 'ports:http'), to('by-number.test', 'ports:80'));
  await served('by-name.test', { product: site.product });
  await served('by-number.test');
  // Another name.
  await api.apply(...named('web'));
  await served('by-name.test', { status: 503 });
  await served('by-number.test');
  // Another number.
  await api.apply(...named('http', 8000));
  await served('by-name.test');
  await served('by-number.test', { status: 503 });
  await api.apply(...named('http'));
  await served('by-number.test');
  await api.remove(...named('http'), to('by-name.test', ''), to('by-number.test', ''));
  await served('by-name.test', { status: 404 });
});

test('a backend that is no Service is told, and closes its own path only', async () => {
  const { api } = site.cluster;
  const host = 'resource.test';
  const web = to(host, 'web:80');
  const resource = { apiGroup: 'example.com', kind: 'Bucket', name: 'files' };
  await api.apply(web);
  await served(host);
  const bucket = { path: '/files', pathType: 'Prefix', backend: { resource } };
  const { spec } = await api.read(web);
  await api.patch(pathOf(web), { spec: { rules: [{ host, http: { paths: [...spec.rules[0].http.paths, bucket] } }] } });
  await served(host, { path: '/files/x', status: 503, product: site.product });
  expect((await request(host)).status).toBe(200);
  await eventually('it is told', () =>
    /resource-test spec\.rules\[0\]\.http\.paths\[1\].*Bucket.*BackendInvalid/.test(site.product.log()),
  );
  await api.remove(web);
  await served(host, { status: 404 });
});

test('the name behind an ExternalName is resolved, and changes, comes and goes', async () => {
  const { api } = site.cluster;
  await everythingBefore(site);
  const before = await allResources();
  const host = 'external.test';
  const external = (name: string) => externalName('external', name, 80, site.namespace, 8080);
  const answers = (body: string) =>
    eventually(`${body} from ${host}`, async () => (await request(host)).body === `${body}\n`, {
      describe: () => `${site.product.log().slice(-1500)}\nasked for: ${dns.questions.join(' ')}`,
    });
  dns.set('one.example.test', { addresses: [WEB_ADDRESS] });
  dns.set('two.example.test', { addresses: [OTHER_ADDRESS] });
  await api.apply(to(host, 'external:80'));
  await served(host, { status: 503 });
  await api.apply(external('one.example.test'));
  await answers('web');
  await api.apply(external('two.example.test'));
  await answers('other');
  // With a dot at its end.
  await api.apply(external('one.example.test.'));
  await answers('web');
  // The name says something else from now on.
  dns.set('one.example.test', { addresses: [OTHER_ADDRESS] });
  await answers('other');
  // A Service with endpoints, and a name again.
  await api.remove(external(''));
  await served(host, { status: 503 });
  await api.apply(...webService(site.namespace, 'external'));
  await answers('web');
  await api.patch(pathOf(external('')), {
    spec: { type: 'ExternalName', externalName: 'two.example.test', clusterIP: null, clusterIPs: null },
  });
  await answers('other');
  expect((await resourceNames('clusters')).filter((name) => name.includes('/external/'))).toHaveLength(1);
  await api.remove(to(host, ''), ...webService(site.namespace, 'external'));
  await served(host, { status: 404 });
  await eventually('nothing is left', async () => (await allResources()).join() === before.join());
});

test('names of the proxy itself are never asked', async () => {
  const { api } = site.cluster;
  const host = 'inward.test';
  // Envoy's own health check would answer there.
  const inward = (name: string) => externalName('inward', name, 80, site.namespace, 80);
  dns.set('localhost', { addresses: ['127.0.0.1'] });
  await api.apply(to(host, 'inward:80'), inward('one.example.test'));
  for (const name of ['localhost', 'localhost.', 'a.localhost', '127.0.0.1', '127.1', '169.254.169.254', '0.0.0.0']) {
    const told = site.product.log().length;
    await api.apply(inward(name));
    await eventually(`${name} is told`, () => {
      const log = site.product.log().slice(told);
      return log.includes(JSON.stringify(name)) && log.includes('ExternalNameInvalid');
    });
    await everythingBefore(site);
    expect((await request(host, { path: '/healthz' })).status, name).toBe(503);
  }
  expect(dns.questions.filter((name) => name.includes('localhost'))).toEqual([]);
  await api.remove(to(host, ''), inward(''));
  await served(STEADY_HOST);
});
