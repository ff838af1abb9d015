/** Services of the ConfigMap of `--udp-services-configmap`, through a real Envoy. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasIpv6 } from '../../../src/cli/ipv6.ts';
import { type Gateway, poll, startGateway } from '../../support/gateway.ts';
import { configMap, endpointSlice, type Manifest, service } from '../../support/manifests.ts';
import { freePorts } from '../../support/static-envoy.ts';
import {
  createUdpClient,
  exchange,
  type StreamBackend,
  startTcpEcho,
  startUdpEcho,
  type UdpClient,
} from '../../support/stream-backend.ts';

let gateway: Gateway;
let dns: StreamBackend;
let dnsOverTcp: StreamBackend;
let other: StreamBackend;
let client: UdpClient;
let dnsPort: number;
let otherPort: number;

const udpServices = (data: Readonly<Record<number, string>>): Manifest => configMap('udp', data);

beforeAll(async () => {
  [dnsPort = 0, otherPort = 0] = await freePorts(2);
  dns = await startUdpEcho('dns');
  dnsOverTcp = await startTcpEcho('dns-tcp');
  other = await startUdpEcho('other');
  client = createUdpClient();
  gateway = await startGateway({
    build: { tcpServices: 'default/tcp', udpServices: 'default/udp' },
    emit: { accessLog: true },
    manifests: [
      service('dns', [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns-tcp', port: 53 },
      ]),
      endpointSlice('dns', ['127.0.0.1'], { port: dns.port, portName: 'dns', protocol: 'UDP', suffix: 'udp' }),
      endpointSlice('dns', ['127.0.0.1'], { port: dnsOverTcp.port, portName: 'dns-tcp', suffix: 'tcp' }),
      service('other', [{ port: 514, protocol: 'UDP' }]),
      configMap('tcp', { [dnsPort]: 'default/dns:53' }),
      udpServices({ [dnsPort]: 'default/dns:53', [otherPort]: 'default/other:514' }),
    ],
  });
});
afterAll(async () => {
  client?.close();
  await gateway?.close();
  await Promise.all([dns, dnsOverTcp, other].map((part) => part?.close()));
});

describe('a UDP service', () => {
  test('answers datagrams, beside a TCP service on the same port and of the same Service port number', async () => {
    expect(await client.ask(dnsPort, 'hello')).toBe('dns:hello');
    expect(await exchange(dnsPort, 'hello')).toBe('dns-tcp:hellodns-tcp end');
  });

  test('over IPv6 as well', async () => {
    if (!(await hasIpv6())) return;
    const six = createUdpClient('::1');
    expect(await six.ask(dnsPort, 'hello')).toBe('dns:hello');
    six.close();
  });

  test('opens with its first endpoint, and disturbs no session of another port', async () => {
    const from = gateway.events.length;
    await gateway.apply(endpointSlice('other', ['127.0.0.1'], { port: other.port, protocol: 'UDP' }));
    expect(await client.ask(otherPort, 'hello')).toBe('other:hello');
    const sent = gateway.events.slice(from).flatMap((event) => (event.kind === 'response' ? event.names : []));
    expect(sent).toEqual(['default/other/514/udp', `udp-${otherPort}`]);
    expect(await client.ask(dnsPort, 'again')).toBe('dns:again');
  });

  test('follows its entry to another Service', async () => {
    await gateway.apply(udpServices({ [dnsPort]: 'default/other:514', [otherPort]: 'default/other:514' }));
    const one = createUdpClient();
    await poll(
      async () => (await one.ask(dnsPort, 'hello')) === 'other:hello',
      () => 'the port leads to its former Service',
    );
    one.close();
  });

  test('is gone with its entry, and logged in the format of ingress-nginx', async () => {
    await gateway.apply(udpServices({}));
    const LINE = /^\[127\.0\.0\.1\] \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\] UDP 200 (\d+) (\d+) -$/;
    const lines = () =>
      gateway
        .log()
        .split('\n')
        .flatMap((line) => {
          const [, sent, received] = LINE.exec(line) ?? [];
          return sent === undefined ? [] : [`${sent} ${received}`];
        });
    await poll(
      () => lines().includes(`${'other:hello'.length} ${'hello'.length}`),
      () => `not in the log:\n${gateway.log()}`,
    );
  });
});

test('nothing was refused by Envoy', () => {
  expect(gateway.events.filter(({ kind }) => kind === 'nack' || kind === 'gateTimeout')).toEqual([]);
});
