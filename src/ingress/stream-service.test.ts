import { describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import type { BuildOptions } from './build.ts';
import { configMap, endpointSlice, externalName, ingress, remove, rule, service, upsert, World } from './testing.ts';

const generated = await makePair(['ingress.local']);
const options = { tcpServices: 'ingress/tcp', udpServices: 'ingress/udp' };

function world(more: Partial<BuildOptions> = {}): World {
  const made = new World(generated, { ...options, ...more });
  made.apply(configMap('ingress/tcp', {}), configMap('ingress/udp', {}));
  return made;
}

const tcp = (data: Readonly<Record<string, string>>) => configMap('ingress/tcp', data);
const udp = (data: Readonly<Record<string, string>>) => configMap('ingress/udp', data);

/** A Service with a TCP port and endpoints. */
function running(name: string, port = 5432) {
  return [
    service(`shop/${name}`, [{ name: 'main', port }]),
    endpointSlice(`shop/${name}-1`, name, ['10.0.0.1'], { main: port }),
  ];
}

/** `tcp-9000 → shop/db/5432`, with `(PROXY)` where it is read; sorted. */
function ports({ model }: World): string[] {
  return [...model.streamListeners.keys()].toSorted().map((key) => {
    const { name = '', cluster = '', proxyProtocol } = model.streamListeners.get(key) ?? {};
    return `${name} → ${cluster}${proxyProtocol ? ' (PROXY)' : ''}`;
  });
}

describe('a TCP service', () => {
  test('by the number and by the name of the port', () => {
    const made = world();
    made.apply(...running('db'), tcp({ 9000: 'shop/db:5432', 9001: 'shop/db:main' }));
    expect(ports(made)).toEqual(['tcp-9000 → shop/db/5432', 'tcp-9001 → shop/db/5432']);
    expect([...made.model.clusters.keys()]).toEqual(['shop/db/5432']);
    expect(made.complaints()).toEqual([]);
  });

  test('has a cluster of its own where the PROXY protocol is sent, with the same endpoints', () => {
    const made = world();
    made.apply(...running('db'), tcp({ 9000: 'shop/db:5432:PROXY:PROXY', 9001: 'shop/db:5432' }));
    const variant = made.model.streamListeners.get('tcp-9000')?.cluster ?? '';
    expect(variant).toMatch(/^shop\/db\/5432~[0-9a-f]{8}$/);
    expect(ports(made)).toEqual([`tcp-9000 → ${variant} (PROXY)`, 'tcp-9001 → shop/db/5432']);
    expect(made.model.clusters.get(variant)).toEqual({
      kind: 'endpoints',
      name: variant,
      policy: { proxyProtocol: true },
      endpoints: 'shop/db/5432',
    });
    expect([...made.model.endpoints.keys()]).toEqual(['shop/db/5432']);
  });

  test('shares the cluster of an Ingress, which stays while one of them needs it', () => {
    const made = world();
    const site = ingress('shop/site', { rules: [rule('shop.example.com', { '/': 'db:5432' })] });
    made.apply(...running('db'), site, tcp({ 9000: 'shop/db:5432' }));
    for (const change of [remove(site), upsert(site), tcp({}), tcp({ 9000: 'shop/db:5432' })]) {
      const pass = made.apply(change);
      expect(pass.of(made.model.clusters).size).toBe(0);
    }
    made.apply(remove(site), tcp({}));
    expect([...made.model.clusters.keys()]).toEqual([]);
  });

  test('is closed without endpoints, and says so at the entry', () => {
    const made = world();
    made.apply(service('shop/db', [{ name: 'main', port: 5432 }]), tcp({ 9000: 'shop/db:5432' }));
    expect(ports(made)).toEqual([]);
    expect(made.complaints()).toEqual([
      'ServiceWithoutEndpoints ConfigMap ingress/tcp data.9000',
      'ServiceWithoutEndpoints Service shop/db',
    ]);
    const [slice] = running('db').slice(1);
    made.apply(slice!);
    expect(ports(made)).toEqual(['tcp-9000 → shop/db/5432']);
    expect(made.complaints()).toEqual([]);
  });

  test('behind an external name is open', () => {
    const made = world();
    made.apply(
      externalName('shop/mail', 'mail.example.org', [{ port: 25, targetPort: 2525 }]),
      externalName('shop/other', 'other.example.org'),
      tcp({ 25: 'shop/mail:25', 26: 'shop/other:2626' }),
    );
    expect(ports(made)).toEqual(['tcp-25 → shop/mail/25', 'tcp-26 → shop/other/2626']);
    expect(made.model.clusters.get('shop/mail/25')).toMatchObject({ kind: 'dns', port: 2525 });
    expect(made.model.clusters.get('shop/other/2626')).toMatchObject({ kind: 'dns', port: 2626 });
  });
});

test('TCP and UDP have the same port numbers, and a Service may have both', () => {
  const made = world();
  made.apply(
    service('shop/dns', [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns-tcp', port: 53 },
    ]),
    {
      ...endpointSlice('shop/dns-1', 'dns', ['10.0.0.1']),
      ports: [
        { name: 'dns', port: 5353, protocol: 'UDP' },
        { name: 'dns-tcp', port: 5354, protocol: 'TCP' },
      ],
    },
    tcp({ 53: 'shop/dns:53' }),
    udp({ 53: 'shop/dns:dns' }),
  );
  expect(ports(made)).toEqual(['tcp-53 → shop/dns/53', 'udp-53 → shop/dns/53/udp']);
  expect(made.addresses('shop/dns/53')).toEqual(['10.0.0.1 5354']);
  expect(made.addresses('shop/dns/53/udp')).toEqual(['10.0.0.1 5353']);
});

describe('an entry that cannot be served is told, and the others are served', () => {
  test.each<[string, Record<string, string>, string]>([
    ['no port', { web: 'shop/db:5432' }, 'StreamEntryInvalid ConfigMap ingress/tcp data.web'],
    ['a port with a dot', { '9.5': 'shop/db:5432' }, 'StreamEntryInvalid ConfigMap ingress/tcp data["9.5"]'],
    ['the port of HTTP', { 80: 'shop/db:5432' }, 'StreamEntryInvalid ConfigMap ingress/tcp data.80'],
    ['a port of the control plane', { 10254: 'shop/db:5432' }, 'StreamEntryInvalid ConfigMap ingress/tcp data.10254'],
    ['no Service', { 9000: 'db' }, 'StreamEntryInvalid ConfigMap ingress/tcp data.9000'],
    ['a missing Service', { 9000: 'shop/gone:5432' }, 'ServiceNotFound ConfigMap ingress/tcp data.9000'],
    ['a missing port', { 9000: 'shop/db:1' }, 'ServicePortNotFound ConfigMap ingress/tcp data.9000'],
    ['a UDP port', { 9000: 'shop/udp:53' }, 'ServicePortNotFound ConfigMap ingress/tcp data.9000'],
    ['this machine', { 9000: 'shop/self:80' }, 'ExternalNameInvalid ConfigMap ingress/tcp data.9000'],
  ])('%s', (_, data, complaint) => {
    const made = world({ reservedPorts: [10254] });
    made.apply(
      ...running('db'),
      service('shop/udp', [{ port: 53, protocol: 'UDP' }]),
      externalName('shop/self', '127.0.0.1'),
      tcp({ ...data, 9999: 'shop/db:5432' }),
    );
    expect(ports(made)).toEqual(['tcp-9999 → shop/db/5432']);
    expect(made.complaints()).toEqual([complaint]);
  });

  test('what is ignored is a warning', () => {
    const made = world();
    made.apply(...running('db'), tcp({ 9000: 'shop/db:5432:v2' }));
    expect(ports(made)).toEqual(['tcp-9000 → shop/db/5432']);
    expect(made.diagnostics()).toEqual([
      expect.objectContaining({ severity: 'warning', code: 'StreamEntryInvalid', field: 'data.9000' }),
    ]);
  });
});

describe('a ConfigMap', () => {
  test('that does not exist is told, and served as soon as it does', () => {
    const made = new World(generated, options);
    made.apply(...running('db'));
    expect(made.complaints()).toEqual([
      'ConfigMapNotFound ConfigMap ingress/tcp',
      'ConfigMapNotFound ConfigMap ingress/udp',
    ]);
    made.apply(tcp({ 9000: 'shop/db:5432' }));
    expect(ports(made)).toEqual(['tcp-9000 → shop/db/5432']);
    made.apply(remove(tcp({})));
    expect(ports(made)).toEqual([]);
  });

  test('may be named for both protocols', () => {
    const made = new World(generated, { tcpServices: 'ingress/both', udpServices: 'ingress/both' });
    made.apply(...running('db'), configMap('ingress/both', { 9000: 'shop/db:5432' }));
    expect(ports(made)).toEqual(['tcp-9000 → shop/db/5432']);
    expect(made.complaints()).toEqual(['ServicePortNotFound ConfigMap ingress/both data.9000']);
  });

  test('that no flag names means nothing', () => {
    const made = new World(generated);
    made.apply(...running('db'), tcp({ 9000: 'shop/db:5432' }));
    expect(ports(made)).toEqual([]);
    expect(made.complaints()).toEqual([]);
  });
});

test('a changed entry runs the units of its port alone, however many there are', () => {
  const made = world();
  const data = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [9000 + index, 'shop/db:5432']));
  made.apply(...running('db'), ...running('other'), tcp(data));
  const runs = made.runsOf(() => made.apply(tcp({ ...data, 9050: 'shop/other:5432' })));
  expect(runs).toEqual({
    'stream-config-map': 1,
    // The ConfigMap is read as a whole; all entries but one are as before.
    'stream-entry': 100,
    'stream-service': 1,
    'port-cluster-references': 2,
    cluster: 1,
    'endpoints-references': 1,
    endpoints: 1,
    'stream-port': 1,
    'stream-listener': 1,
  });
});
