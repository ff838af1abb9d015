/** Services of the ConfigMaps of TCP and UDP services, through a real nginx. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configMap, endpointSlice, externalName, type Manifest, service } from '../support/manifests.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import { freePorts } from '../support/static-envoy.ts';
import {
  connectTo,
  createUdpClient,
  exchange,
  type StreamBackend,
  startTcpEcho,
  startUdpEcho,
} from '../support/stream-backend.ts';

let gateway: NginxGateway;
let db: StreamBackend;
let other: StreamBackend;
let names: StreamBackend;
let ports: Readonly<Record<string, number>>;

const entries = {
  plain: 'default/db:5432',
  in: 'default/db:5432:PROXY',
  out: 'default/db:5432::PROXY',
  both: 'default/db:5432:PROXY:PROXY',
  empty: 'default/empty:80',
};

const portOf = (name: string): number => ports[name] ?? 0;

function tcpServices(): Manifest {
  return configMap('tcp', Object.fromEntries(Object.entries(entries).map(([name, value]) => [portOf(name), value])));
}

beforeAll(async () => {
  const wanted = [...Object.keys(entries), 'dns'];
  const free = await freePorts(wanted.length);
  ports = Object.fromEntries(wanted.map((name, index) => [name, free[index] ?? 0]));
  [db, other, names] = await Promise.all([startTcpEcho('db'), startTcpEcho('other'), startUdpEcho('names')]);
  gateway = await startNginxGateway({
    build: { tcpServices: 'default/tcp', udpServices: 'default/udp' },
    manifests: [
      service('db', [{ port: 5432 }]),
      endpointSlice('db', ['127.0.0.1'], { port: db.port }),
      service('empty'),
      service('names', [{ port: 53, protocol: 'UDP' }]),
      endpointSlice('names', ['127.0.0.1'], { port: names.port, protocol: 'UDP' }),
      tcpServices(),
      configMap('udp', { [portOf('dns')]: 'default/names:53' }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all([db, other, names].map((backend) => backend.close()));
});

describe('TCP', () => {
  test('bytes go both ways', async () => {
    const { socket, ask } = await connectTo(portOf('plain'));
    await ask('hello', 'db:hello');
    await ask('again', 'again');
    socket.destroy();
  });

  test('the end of the client ends the connection, as with ingress-nginx', async () => {
    expect(await exchange(portOf('plain'), 'hello')).not.toContain('end');
  });

  test('without an endpoint the port is closed', async () => {
    expect(await exchange(portOf('empty'), 'hello')).toBe('ECONNREFUSED');
  });
});

describe('the PROXY protocol', () => {
  const header = 'PROXY TCP4 203.0.113.7 192.0.2.1 4711 9000\r\n';

  test('in: the header of the client is taken away', async () => {
    const { socket, ask } = await connectTo(portOf('in'));
    await ask(`${header}hello`, 'db:hello');
    socket.destroy();
  });

  test('without the header nothing gets through', async () => {
    expect(await exchange(portOf('in'), 'no header at all\r\n')).toMatch(/^(ECONNRESET)?$/);
  });

  test('out: the Service learns who the client is', async () => {
    const { socket, ask } = await connectTo(portOf('out'));
    await ask('hello', `db:PROXY TCP4 127.0.0.1 127.0.0.1 ${socket.localPort} ${portOf('out')}\r\nhello`);
    socket.destroy();
  });

  test('both: the Service learns who the client of the header is', async () => {
    const { socket, ask } = await connectTo(portOf('both'));
    // nginx says where the connection has really come to.
    await ask(`${header}hello`, `db:PROXY TCP4 203.0.113.7 127.0.0.1 4711 ${portOf('both')}\r\nhello`);
    socket.destroy();
  });
});

test('UDP: a datagram, and its answer', async () => {
  const client = createUdpClient();
  expect(await client.ask(portOf('dns'), 'who')).toBe('names:who');
  client.close();
});

describe('changes', () => {
  test('of endpoints take one reload, and new connections see them', async () => {
    const before = gateway.outcomes.length;
    await gateway.apply(endpointSlice('db', ['127.0.0.1'], { port: other.port }));
    const { socket, ask } = await connectTo(portOf('plain'));
    await ask('hello', 'other:hello');
    socket.destroy();
    expect(gateway.outcomes.slice(before).map(({ kind }) => kind)).toEqual(['loaded']);
  });

  test('an external name that is an address of another machine is loaded', async () => {
    await gateway.apply(externalName('empty', '192.0.2.1'));
    expect(gateway.outcomes.at(-1)?.kind).toBe('loaded');
  });
});
