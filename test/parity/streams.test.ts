/** TCP and UDP services through each proxy: a port can be bound once, so each has ports of its own. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, poll, startGateway } from '../support/gateway.ts';
import { configMap, endpointSlice, service } from '../support/manifests.ts';
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

/** Name of a port in this file → its entry. */
const ENTRIES = {
  plain: 'default/db:5432',
  in: 'default/db:5432:PROXY',
  out: 'default/db:5432::PROXY',
  both: 'default/db:5432:PROXY:PROXY',
  refused: 'default/refused:80',
  empty: 'default/empty:80',
} as const;
const PROXIES = { Envoy: startGateway, nginx: startNginxGateway } as const;
const HEADER = 'PROXY TCP4 203.0.113.7 192.0.2.1 4711 9000\r\n';

let db: StreamBackend;
let dns: StreamBackend;

beforeAll(async () => {
  db = await startTcpEcho('db');
  dns = await startUdpEcho('dns');
});
afterAll(async () => {
  await Promise.all([db, dns].map((part) => part?.close()));
});

describe.each(['Envoy', 'nginx'] as const)('with %s', (proxy) => {
  let gateway: Gateway | NginxGateway;
  let ports: Readonly<Record<string, number>>;
  const portOf = (name: keyof typeof ENTRIES | 'dns') => ports[name] ?? 0;

  beforeAll(async () => {
    const names = [...Object.keys(ENTRIES), 'dns', 'nobody'];
    const free = await freePorts(names.length);
    ports = Object.fromEntries(names.map((name, index) => [name, free[index] ?? 0]));
    const tcp = Object.entries(ENTRIES).map(([name, entry]) => [ports[name], entry]);
    gateway = await PROXIES[proxy]({
      build: { tcpServices: 'default/tcp', udpServices: 'default/udp' },
      manifests: [
        service('db', [{ port: 5432 }]),
        endpointSlice('db', ['127.0.0.1'], { port: db.port }),
        service('dns', [{ port: 53, protocol: 'UDP' }]),
        endpointSlice('dns', ['127.0.0.1'], { port: dns.port, protocol: 'UDP' }),
        service('refused'),
        endpointSlice('refused', ['127.0.0.1'], { port: ports['nobody'] ?? 0 }),
        service('empty'),
        configMap('tcp', Object.fromEntries(tcp)),
        configMap('udp', { [portOf('dns')]: 'default/dns:53' }),
      ],
    });
    await poll(
      async () => !(await exchange(portOf('plain'), 'x')).includes('ECONNREFUSED'),
      () => `the port is not open:\n${gateway.log()}`,
    );
  });
  afterAll(() => gateway?.close());

  test('bytes go both ways', async () => {
    const { socket, ask } = await connectTo(portOf('plain'));
    await ask('hello', 'db:hello');
    await ask('again', 'again');
    socket.destroy();
  });

  test('the header of a client is taken away', async () => {
    const { socket, ask } = await connectTo(portOf('in'));
    await ask(`${HEADER}hello`, 'db:hello');
    socket.destroy();
  });

  test('without the header nothing gets through', async () => {
    expect(await exchange(portOf('in'), 'no header at all\r\n')).toMatch(/^(ECONNRESET)?$/);
  });

  test('the Service learns who the client is', async () => {
    const { socket, ask } = await connectTo(portOf('out'));
    const own = `PROXY TCP4 127.0.0.1 127.0.0.1 ${socket.localPort} ${portOf('out')}\r\n`;
    await ask('hello', `db:${own}hello`);
    socket.destroy();
  });

  test('the Service learns what the header of the client says', async () => {
    const { socket, ask, received } = await connectTo(portOf('both'));
    await ask(`${HEADER}hello`, `db:${headerFor(proxy, portOf('both'))}hello`);
    expect(received()).toContain('203.0.113.7');
    socket.destroy();
  });

  test('a Service whose endpoint refuses, and one without endpoints', async () => {
    expect(await exchange(portOf('refused'), 'hello')).toMatch(/^(ECONNRESET)?$/);
    expect(await exchange(portOf('empty'), 'hello')).toBe('ECONNREFUSED');
  });

  test('a client that ends its side', async () => {
    const answer = await exchange(portOf('plain'), 'hello');
    if (proxy === 'Envoy') expect(answer).toBe('db:hellodb end');
    else expect(answer).not.toContain('db end');
  });

  test('datagrams', async () => {
    const client = createUdpClient();
    expect(await client.ask(portOf('dns'), 'hello')).toBe('dns:hello');
    client.close();
  });
});

/** nginx knows the client by the header, and the port of the connection. */
function headerFor(proxy: keyof typeof PROXIES, port: number): string {
  return proxy === 'Envoy' ? HEADER : `PROXY TCP4 203.0.113.7 127.0.0.1 4711 ${port}\r\n`;
}
