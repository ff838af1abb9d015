/** What a proxy writes about connections of TCP and UDP services, whichever it is. */
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, poll } from './gateway.ts';
import { configMap, endpointSlice, type Manifest, service } from './manifests.ts';
import { freePorts, REFUSING_PORT } from './static-envoy.ts';
import { connectTo, createUdpClient, type StreamBackend, startTcpAnswer, startUdpEcho } from './stream-backend.ts';

export interface StreamLogGateway extends Pick<Gateway, 'close'> {
  /** The lines that were written so far. */
  accessLog(): string;
}

/** Starts a proxy with an access log. `build` are options of the build. */
export type StartLogged = (options: {
  readonly build: { readonly tcpServices: string; readonly udpServices: string; readonly configMap: string };
  readonly manifests: readonly Manifest[];
}) => Promise<StreamLogGateway>;

const EVERYTHING = [
  'bytes_received',
  'bytes_sent',
  'connection',
  'hostname',
  'msec',
  'protocol',
  'proxy_protocol_addr',
  'proxy_protocol_port',
  'proxy_upstream_name',
  'remote_addr',
  'remote_port',
  'server_addr',
  'server_port',
  'session_time',
  'ssl_preread_alpn_protocols',
  'ssl_preread_protocol',
  'ssl_preread_server_name',
  'status',
  'time_iso8601',
  'upstream_addr',
  'upstream_bytes_received',
  'upstream_bytes_sent',
  'upstream_connect_time',
  'upstream_first_byte_time',
  'upstream_session_time',
] as const;

const FORMAT = `LINE ${EVERYTHING.map((name) => `${name}=$${name}`).join(' ')} 100% "a\\b'c" $\{protocol}x`;
const NUMBER = /^\d+$/;
const SECONDS = /^\d+\.\d{3}$/;

/** Resolves with the answer, after which the backend closes: which side does so first must not depend on the proxy. */
async function talk(port: number, text: string): Promise<string> {
  const { socket, closed } = await connectTo(port);
  socket.write(text);
  const answer = await closed;
  socket.destroy();
  return answer;
}

type Fields = Readonly<Record<(typeof EVERYTHING)[number], string>>;

/**
 * @param knowsTimes whether the proxy knows how long endpoints took to answer, and how long sessions of UDP were
 */
export function streamLogCases(start: StartLogged, { knowsTimes }: { readonly knowsTimes: boolean }): void {
  let backends: readonly [tcp: StreamBackend, udp: StreamBackend];
  let ports: Readonly<Record<'tcp' | 'proxied' | 'refused' | 'udp', number>>;

  beforeAll(async () => {
    backends = [await startTcpAnswer('db'), await startUdpEcho('dns')];
  });
  afterAll(async () => {
    await Promise.all((backends ?? []).map((backend) => backend.close()));
  });

  async function startWith(data: Readonly<Record<string, string>>): Promise<StreamLogGateway> {
    const [tcp = 0, proxied = 0, refused = 0, udp = 0] = await freePorts(4);
    ports = { tcp, proxied, refused, udp };
    const [db, dns] = backends;
    const gateway = await start({
      build: { tcpServices: 'default/tcp', udpServices: 'default/udp', configMap: 'default/config' },
      manifests: [
        configMap('config', { 'proxy-stream-timeout': '1s', ...data }),
        configMap('tcp', {
          [tcp]: 'default/db:5432',
          [proxied]: 'default/db:5432:PROXY',
          [refused]: 'default/refused:1',
        }),
        configMap('udp', { [udp]: 'default/dns:53' }),
        service('db', [{ port: 5432 }]),
        endpointSlice('db', ['127.0.0.1'], { port: db.port }),
        service('dns', [{ port: 53, protocol: 'UDP' }]),
        endpointSlice('dns', ['127.0.0.1'], { port: dns.port, protocol: 'UDP' }),
        service('refused', [{ port: 1 }]),
        endpointSlice('refused', ['127.0.0.1'], { port: REFUSING_PORT }),
      ],
    });
    await poll(
      async () => (await talk(tcp, 'open')) === 'db:open',
      () => 'the port is not open',
    );
    return gateway;
  }

  /** The last line for this port. */
  async function lineFor(gateway: StreamLogGateway, find: (line: string) => boolean): Promise<string> {
    const last = () => gateway.accessLog().split('\n').findLast(find);
    await poll(
      () => last() !== undefined,
      () => `no such line in:\n${gateway.accessLog()}`,
    );
    return last() ?? '';
  }

  describe('with log-format-stream', () => {
    let gateway: StreamLogGateway;

    beforeAll(async () => {
      gateway = await startWith({ 'log-format-stream': FORMAT, 'log-format-escape-json': 'true' });
    });
    afterAll(() => gateway?.close());

    async function fieldsOf(name: keyof typeof ports, received = 5): Promise<Fields> {
      const marks = [`LINE bytes_received=${received} `, ` server_port=${ports[name]} `];
      const line = await lineFor(gateway, (one) => marks.every((mark) => one.includes(mark)));
      expect(line).toMatch(/ 100% "a\\b'c" (?:TCP|UDP)x$/);
      const pairs = line.split(' ').flatMap((part) => {
        const [, key, value = ''] = /^(\w+)=(.*)$/.exec(part) ?? [];
        return key === undefined ? [] : [[key, value]];
      });
      return Object.fromEntries(pairs) as Fields;
    }

    test('a connection is written with everything that is known of it', async () => {
      await talk(ports.tcp, 'hello');
      const [db] = backends;
      expect(await fieldsOf('tcp')).toEqual({
        bytes_received: '5',
        bytes_sent: '8',
        connection: expect.stringMatching(NUMBER),
        hostname: hostname(),
        msec: expect.stringMatching(/^\d{10}\.\d{3}$/),
        protocol: 'TCP',
        proxy_protocol_addr: '-',
        proxy_protocol_port: '-',
        proxy_upstream_name: 'tcp-default-db-5432',
        remote_addr: '127.0.0.1',
        remote_port: expect.stringMatching(NUMBER),
        server_addr: '127.0.0.1',
        server_port: String(ports.tcp),
        session_time: expect.stringMatching(SECONDS),
        ssl_preread_alpn_protocols: '-',
        ssl_preread_protocol: '-',
        ssl_preread_server_name: '-',
        status: '200',
        time_iso8601: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/),
        upstream_addr: `127.0.0.1:${db.port}`,
        upstream_bytes_received: '8',
        upstream_bytes_sent: '5',
        upstream_connect_time: expect.stringMatching(SECONDS),
        upstream_first_byte_time: knowsTimes ? expect.stringMatching(SECONDS) : '-',
        upstream_session_time: knowsTimes ? expect.stringMatching(SECONDS) : '-',
      });
    });

    test('the time of a connection is that of its end', async () => {
      const { socket, closed } = await connectTo(ports.tcp);
      // Long enough to tell the beginning from the end.
      await delay(100);
      const end = Date.now();
      socket.write('waited');
      await closed;
      socket.destroy();
      expect(Number((await fieldsOf('tcp', 6)).msec) * 1000).toBeGreaterThanOrEqual(end - 1);
    });

    test('the client is who the PROXY protocol names', async () => {
      await talk(ports.proxied, 'PROXY TCP4 192.0.2.7 192.0.2.1 4711 5432\r\nhello');
      const line = await lineFor(gateway, (one) => one.includes('proxy_protocol_addr=192.0.2.7'));
      expect(line).toContain(' proxy_protocol_port=4711 ');
      expect(line).toContain(' remote_addr=192.0.2.7 remote_port=4711 ');
    });

    test('a connection that no endpoint takes is a failure', async () => {
      await talk(ports.refused, 'hello');
      expect(await fieldsOf('refused', 0)).toMatchObject({
        status: '502',
        bytes_sent: '0',
        upstream_connect_time: '-',
        proxy_upstream_name: 'tcp-default-refused-1',
      });
    });

    test('a session of a UDP service', async () => {
      const client = createUdpClient();
      await client.ask(ports.udp, 'hello');
      client.close();
      const [, dns] = backends;
      expect(await fieldsOf('udp')).toMatchObject({
        protocol: 'UDP',
        status: '200',
        bytes_received: '5',
        bytes_sent: '9',
        upstream_bytes_sent: '5',
        upstream_bytes_received: '9',
        upstream_addr: `127.0.0.1:${dns.port}`,
        proxy_upstream_name: 'udp-default-dns-53',
        session_time: knowsTimes ? expect.stringMatching(SECONDS) : '-',
        remote_addr: '127.0.0.1',
        remote_port: expect.stringMatching(NUMBER),
      });
    });
  });

  test.each([
    ['without log-format-stream', {}],
    ['with a variable that nobody knows', { 'log-format-stream': '$remote_addr $http_host' }],
  ])('%s the line is that of ingress-nginx', async (_, data) => {
    const gateway = await startWith(data);
    try {
      await talk(ports.tcp, 'hello');
      const line = await lineFor(gateway, (one) => one.includes(' 8 5 '));
      expect(line).toMatch(
        /^\[127\.0\.0\.1\] \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\] TCP 200 8 5 \d+\.\d{3}$/,
      );
    } finally {
      await gateway.close();
    }
  });
}
