/** Services of the ConfigMap of `--tcp-services-configmap`, through a real Envoy. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasIpv6 } from '../../../src/cli/ipv6.ts';
import { type DnsServer, startDnsServer } from '../../support/dns-server.ts';
import { type Gateway, poll, startGateway } from '../../support/gateway.ts';
import { configMap, endpointSlice, externalName, ingress, type Manifest, service } from '../../support/manifests.ts';
import { freePorts, REFUSING_PORT } from '../../support/static-envoy.ts';
import { connectTo, exchange, type StreamBackend, startTcpEcho } from '../../support/stream-backend.ts';
import { observe, type Services, startServices } from './cases.ts';

let gateway: Gateway;
let dns: DnsServer;
let services: Services;
let db: StreamBackend;
let mail: StreamBackend;
/** What stands in the ConfigMap: name of the port in this file → the value. */
const entries: Record<string, string> = {
  plain: 'default/db:5432',
  named: 'default/db:postgres',
  in: 'default/db:5432:PROXY',
  out: 'default/db:5432::PROXY',
  both: 'default/db:5432:PROXY:PROXY',
  lowercase: 'default/db:5432:proxy',
  web: 'default/web:80',
  external: 'default/external:25',
  empty: 'default/empty:80',
  refused: 'default/refused:80',
  moving: 'default/db:5432',
};
let ports: Record<string, number>;

/** The ConfigMap with some entries changed, or without some. */
function tcpServices(changes: Readonly<Record<string, string | undefined>> = {}): Manifest {
  const data = Object.entries({ ...entries, ...changes }).flatMap(([name, value]) =>
    value === undefined ? [] : [[String(ports[name]), value]],
  );
  return configMap('tcp', Object.fromEntries(data));
}

const portOf = (name: string): number => ports[name] ?? 0;

/** Waits until the port is open, or closed. */
async function untilOpen(name: string, open: boolean): Promise<void> {
  const answers = async () => !(await exchange(portOf(name), 'x')).includes('ECONNREFUSED');
  await poll(
    async () => (await answers()) === open,
    () => `port ${name} is not ${open ? 'open' : 'closed'}\n${gateway.log()}`,
  );
}

/** `Listener tcp-9000`, `-Cluster …`, in the order in which they were sent since `from`; ports by their names here. */
function sentSince(from: number): string[] {
  const names = new Map(Object.entries(ports).map(([name, port]) => [`tcp-${port}`, name]));
  return gateway.events.slice(from).flatMap((event) => {
    if (event.kind !== 'response') return [];
    const type = event.typeUrl.slice(event.typeUrl.lastIndexOf('.') + 1);
    return [
      ...event.names.map((name) => `${type} ${names.get(name) ?? name}`),
      ...event.removed.map((name) => `-${type} ${names.get(name) ?? name}`),
    ];
  });
}

beforeAll(async () => {
  const names = [...Object.keys(entries), 'added'];
  const free = await freePorts(names.length);
  ports = Object.fromEntries(names.map((name, index) => [name, free[index] ?? 0]));
  dns = await startDnsServer();
  services = await startServices('web');
  db = await startTcpEcho('db');
  mail = await startTcpEcho('mail');
  dns.set('mail.internal', { addresses: ['127.0.0.1'], ttl: 600 });
  gateway = await startGateway({
    build: { tcpServices: 'default/tcp' },
    emit: { accessLog: true, dnsServers: [dns.address] },
    manifests: [
      ...services.manifests,
      ingress({ name: 'web', rules: [{ host: 'web.example.com', paths: [{}] }] }),
      service('db', [{ name: 'postgres', port: 5432 }]),
      endpointSlice('db', ['127.0.0.1'], { port: db.port, portName: 'postgres' }),
      service('mail', [{ port: 25 }]),
      endpointSlice('mail', ['127.0.0.1'], { port: mail.port }),
      service('empty'),
      service('refused'),
      endpointSlice('refused', ['127.0.0.1'], { port: REFUSING_PORT }),
      externalName('external', 'mail.internal', 25, undefined, mail.port),
      tcpServices(),
    ],
  });
  for (const name of Object.keys(entries)) await untilOpen(name, name !== 'empty');
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all([services, db, mail, dns].map((part) => part?.close()));
});

describe('a TCP service', () => {
  test.each(['plain', 'named'])('%s: bytes go both ways, and the end of each side arrives', async (name) => {
    expect(await exchange(portOf(name), 'hello')).toBe('db:hellodb end');
  });

  test('over IPv6 as well', async () => {
    if (!(await hasIpv6())) return;
    expect(await exchange(portOf('plain'), 'hello', '::1')).toBe('db:hellodb end');
  });

  test('that an Ingress serves too shares its cluster', async () => {
    expect((await observe(gateway, { url: 'http://web.example.com/' })).received?.backend).toBe('web');
    expect(await exchange(portOf('web'), 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')).toContain('200 OK');
    expect([...gateway.pipeline.build.model.clusters.keys()].filter((name) => name.includes('/web/'))).toEqual([
      'default/web/80',
    ]);
  });

  test('behind an external name', async () => {
    await poll(
      async () => (await exchange(portOf('external'), 'hello')) === 'mail:hellomail end',
      () => `the name was not resolved: ${dns.questions.join(', ')}`,
    );
  });

  test('whose endpoint refuses connections: connections are closed', async () => {
    expect(await exchange(portOf('refused'), 'hello')).toMatch(/^(ECONNRESET)?$/);
  });
});

describe('the PROXY protocol', () => {
  const header = 'PROXY TCP4 203.0.113.7 192.0.2.1 4711 9000\r\n';

  test.each(['in', 'lowercase'])('%s: the header of the client is taken away', async (name) => {
    const { socket, ask } = await connectTo(portOf(name));
    await ask(`${header}hello`, 'db:hello');
    socket.destroy();
  });

  test('without the header nothing gets through', async () => {
    expect(await exchange(portOf('in'), 'no header at all\r\n')).toMatch(/^(ECONNRESET)?$/);
  });

  test('out: the Service learns who the client is', async () => {
    const { socket, ask } = await connectTo(portOf('out'));
    const own = `PROXY TCP4 127.0.0.1 127.0.0.1 ${socket.localPort} ${portOf('out')}\r\n`;
    await ask('hello', `db:${own}hello`);
    socket.destroy();
  });

  test('both: the Service learns what the header of the client says', async () => {
    const { socket, ask } = await connectTo(portOf('both'));
    await ask(`${header}hello`, `db:${header}hello`);
    socket.destroy();
  });
});

describe('the log', () => {
  const LINE =
    /^\[(?<client>\S+)\] \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\] TCP (?<status>\d{3}) (?<sent>\d+) (?<received>\d+) \d+\.\d{3}$/;
  const lines = () =>
    gateway
      .log()
      .split('\n')
      .map((line) => LINE.exec(line)?.groups ?? {});

  test('has a line for each connection, in the format of ingress-nginx', async () => {
    const { socket, ask, closed } = await connectTo(portOf('in'));
    await ask('PROXY TCP4 203.0.113.99 192.0.2.1 1 2\r\nhello', 'db:hello');
    socket.end();
    await closed;
    await exchange(portOf('refused'), 'hello');
    await poll(
      () => lines().some(({ client }) => client === '203.0.113.99') && lines().some(({ status }) => status === '502'),
      () => `not in the log:\n${gateway.log()}`,
    );
    expect(lines().find(({ client }) => client === '203.0.113.99')).toMatchObject({
      status: '200',
      sent: String('db:hellodb end'.length),
      received: String('hello'.length),
    });
    expect(lines().find(({ status }) => status === '502')).toMatchObject({ client: '127.0.0.1', sent: '0' });
  });
});

describe('a change', () => {
  test('of an entry sends one listener, and disturbs no connection of another port', async () => {
    const other = await connectTo(portOf('plain'));
    await other.ask('one', 'db:one');
    const from = gateway.events.length;
    await gateway.apply(tcpServices({ moving: 'default/mail:25' }));
    expect(sentSince(from)).toEqual([
      'Cluster default/mail/25',
      'ClusterLoadAssignment default/mail/25',
      'Listener moving',
    ]);
    await poll(
      async () => (await exchange(portOf('moving'), 'hello')) === 'mail:hellomail end',
      () => 'the port leads to its former Service',
    );
    await other.ask('two', 'two');
    other.socket.destroy();
  });

  test('that takes an entry away closes its port; connections on it and on others live on', async () => {
    await gateway.apply(tcpServices({ moving: 'default/mail:25' }));
    const own = await connectTo(portOf('moving'));
    await own.ask('one', 'mail:one');
    const other = await connectTo(portOf('plain'));
    await other.ask('one', 'db:one');
    const from = gateway.events.length;
    await gateway.apply(tcpServices({ moving: undefined }));
    await untilOpen('moving', false);
    await poll(
      () => sentSince(from).length >= 2,
      () => `only ${sentSince(from)}`,
    );
    expect(sentSince(from).slice(0, 2)).toEqual(['-Listener moving', '-Cluster default/mail/25']);
    await other.ask('two', 'two');
    await own.ask('two', 'two');
    for (const { socket } of [own, other]) socket.destroy();
    await gateway.apply(tcpServices());
    await untilOpen('moving', true);
  });

  test('that adds an entry: the first connection already finds its Service', async () => {
    for (let round = 0; round < 5; round++) {
      await gateway.apply(tcpServices({ added: 'default/mail:25' }));
      const answers: string[] = [];
      await poll(
        async () => answers.push(await exchange(portOf('added'), 'hello')) > 0 && answers.at(-1) !== 'ECONNREFUSED',
        () => 'the port did not open',
      );
      expect(answers.at(-1)).toBe('mail:hellomail end');
      await gateway.apply(tcpServices());
      await untilOpen('added', false);
    }
  });

  test('of endpoints opens a port, and closes it when none is left', async () => {
    await untilOpen('empty', false);
    const from = gateway.events.length;
    await gateway.apply(endpointSlice('empty', ['127.0.0.1'], { port: mail.port }));
    await untilOpen('empty', true);
    expect(await exchange(portOf('empty'), 'hello')).toBe('mail:hellomail end');
    expect(sentSince(from)).toEqual(['ClusterLoadAssignment default/empty/80', 'Listener empty']);
    await gateway.apply(endpointSlice('empty', []));
    await untilOpen('empty', false);
  });
});

describe('a port that another program has', () => {
  test('is refused by Envoy and holds up nothing else', async () => {
    const squatter = createServer().listen(portOf('added'), '0.0.0.0');
    await once(squatter, 'listening');
    try {
      const from = gateway.events.length;
      await gateway.apply(tcpServices({ added: 'default/db:5432', moving: 'default/mail:25' }));
      await poll(
        async () => (await exchange(portOf('moving'), 'hello')) === 'mail:hellomail end',
        () => 'the other entry is not served',
      );
      const refusals = gateway.events.slice(from).flatMap((event) => (event.kind === 'nack' ? event.message : []));
      expect(refusals).toEqual([expect.stringContaining(`tcp-${portOf('added')}: cannot bind`)]);
    } finally {
      await gateway.apply(tcpServices());
      await once(squatter.close(), 'close');
    }
  });
});

test('nothing else was refused by Envoy', () => {
  const refused = gateway.events.flatMap((event) => (event.kind === 'nack' ? event.message : []));
  expect(refused.filter((message) => !message.includes(`tcp-${portOf('added')}: cannot bind`))).toEqual([]);
  expect(gateway.events.filter(({ kind }) => kind === 'gateTimeout')).toEqual([]);
});
