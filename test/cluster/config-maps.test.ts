/** ConfigMaps that flags name: ports for TCP and UDP, and options for everything. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configMap, endpointSlice, service } from '../support/manifests.ts';
import {
  connectTo,
  createUdpClient,
  exchange,
  type StreamBackend,
  startTcpEcho,
  startUdpEcho,
} from '../support/stream-backend.ts';
import { eventually } from './support/eventually.ts';
import { everythingBefore } from './support/ingresses.ts';
import { resourceNames } from './support/inspect.ts';
import { expectNothingLost, probe, served } from './support/product.ts';
import { type Site, STEADY_HOST, startSite } from './support/site.ts';

const ADDRESS = '10.200.2.3';
const OWN = 'ingress-nginx';

let site: Site;
const backends: StreamBackend[] = [];

beforeAll(async () => {
  site = await startSite();
  backends.push(
    await startTcpEcho('one', ADDRESS),
    await startTcpEcho('two', ADDRESS),
    await startUdpEcho('udp', ADDRESS),
  );
  for (const { name, port } of backends) {
    const protocol = name === 'udp' ? 'UDP' : 'TCP';
    await site.cluster.api.apply(
      service(name, [{ port: 7000, targetPort: port, protocol }], site.namespace),
      endpointSlice(name, [ADDRESS], { port, protocol, namespace: site.namespace }),
    );
  }
  const flags = ['--configmap', `${OWN}/options`, '--tcp-services-configmap', `${OWN}/tcp`];
  await (await site.start({ args: [...flags, '--udp-services-configmap', `${OWN}/udp`] })).ready();
});
afterAll(async () => {
  await site?.close();
  await Promise.all(backends.map((backend) => backend.close()));
});

const entry = (name: string) => `${site.namespace}/${name}:7000`;

async function tcp(data: Readonly<Record<string, string>>): Promise<void> {
  await site.cluster.api.apply(configMap('tcp', data, OWN));
}

function answers(port: number, name: string): Promise<unknown> {
  return eventually(`${name} on port ${port}`, async () => (await exchange(port, 'x')).startsWith(`${name}:x`));
}

function isClosed(port: number): Promise<unknown> {
  return eventually(`port ${port} closed`, async () => (await exchange(port, 'x')) === 'ECONNREFUSED');
}

test('TCP ports open, lead elsewhere and close with their entries, and disturb nothing else', async () => {
  const { api } = site.cluster;
  await isClosed(9000);
  // Entries before their Service exists, and others that nobody can read.
  await tcp({ '9000': entry('one'), '9001': entry('absent'), '9002': 'nonsense', '443': entry('one') });
  await answers(9000, 'one');
  await isClosed(9001);
  await isClosed(9002);
  const open = await connectTo(9000);
  await open.ask('a', 'one:a');
  await served(STEADY_HOST, { tls: true });
  const standing = await probe(STEADY_HOST);
  await tcp({ '9000': entry('one'), '9001': entry('two') });
  await answers(9001, 'two');
  await tcp({ '9000': entry('one'), '9001': entry('one') });
  await answers(9001, 'one');
  await tcp({ '9000': entry('one') });
  await isClosed(9001);
  await open.ask('b', 'b');
  await tcp({ '9000': entry('two') });
  await answers(9000, 'two');
  // A connection from before stays with its Service.
  await open.ask('c', 'c');
  await api.remove(configMap('tcp', {}, OWN));
  await isClosed(9000);
  await tcp({ '9000': entry('one') });
  await answers(9000, 'one');
  await tcp({});
  await isClosed(9000);
  open.socket.destroy();
  await expectNothingLost(standing);
  expect((await resourceNames('listeners')).toSorted()).toEqual(['http', 'https']);
  expect(site.product.log()).toMatch(/9002.*StreamEntryInvalid/);
  expect(site.product.log()).toMatch(/443.*StreamEntryInvalid/);
});

test('UDP ports, likewise', async () => {
  const { api } = site.cluster;
  const client = createUdpClient();
  await api.apply(configMap('udp', { '9053': entry('udp') }, OWN));
  await eventually('an answer', async () => (await client.ask(9053, 'x')) === 'udp:x');
  await api.apply(configMap('udp', {}, OWN));
  await eventually('no listener', async () => !(await resourceNames('listeners')).includes('udp-9053'));
  client.close();
  await api.remove(configMap('udp', {}, OWN));
});

test('the ConfigMap of options is followed from when it is created until it is deleted', async () => {
  const { api } = site.cluster;
  const { product } = site;
  const options = (data: Readonly<Record<string, string>>) => api.apply(configMap('options', data, OWN));
  expect(product.log()).toMatch(/ConfigMap ingress-nginx\/options.*ConfigMapNotFound/);
  await options({ 'whitelist-source-range': '192.0.2.0/24' });
  await served(STEADY_HOST, { status: 403, product });
  await options({ 'no-such-option': 'true' });
  await served(STEADY_HOST, { product });
  await eventually('it is told', () => /no-such-option.*ConfigMapKeyUnknown/.test(product.log()));
  await options({ 'whitelist-source-range': '192.0.2.0/24' });
  await served(STEADY_HOST, { status: 403, product });
  await api.remove(configMap('options', {}, OWN));
  await served(STEADY_HOST, { product });
  await everythingBefore(site);
  expect((await product.metrics()).sum('ingress_xds_nacks_total')).toBe(0);
});
