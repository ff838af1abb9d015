/** Keys of the ConfigMap about TCP and UDP services, through each proxy: a port can be bound once, so each has ports of its own. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, poll, startGateway } from '../support/gateway.ts';
import { configMap, endpointSlice, service } from '../support/manifests.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import { freePorts, REFUSING_PORT } from '../support/static-envoy.ts';
import { connectTo, type StreamBackend, startTcpEcho } from '../support/stream-backend.ts';

const PROXIES = { Envoy: startGateway, nginx: startNginxGateway } as const;

let db: StreamBackend;

beforeAll(async () => {
  db = await startTcpEcho('db');
});
afterAll(() => db?.close());

/** Whether a connection reaches the backend. */
async function answers(port: number): Promise<boolean> {
  const { socket, ask, closed } = await connectTo(port);
  const answered = await Promise.race([ask('x', 'db:x').then(() => true), closed.then(() => false)]);
  socket.destroy();
  return answered;
}

/** What the ConfigMap says, and what becomes of connections. */
const SETTINGS = [
  { data: {}, triesOthers: true, endsSilence: false },
  { data: { 'proxy-stream-timeout': '1s' }, triesOthers: true, endsSilence: true },
  { data: { 'proxy-stream-next-upstream': 'false' }, triesOthers: false, endsSilence: false },
  { data: { 'proxy-stream-next-upstream-tries': '1' }, triesOthers: false, endsSilence: false },
  {
    data: {
      'proxy-stream-timeout': 'long',
      'proxy-stream-next-upstream': 'off',
      'proxy-stream-next-upstream-tries': '-1',
    },
    triesOthers: true,
    endsSilence: false,
  },
] as const;

describe.each(['Envoy', 'nginx'] as const)('with %s', (proxy) => {
  describe.each(SETTINGS)('$data', ({ data, triesOthers, endsSilence }) => {
    let gateway: Gateway | NginxGateway;
    /** Of two endpoints, one of which refuses; and of the other one alone. */
    let port: number;
    let alone: number;

    beforeAll(async () => {
      const [free = 0, other = 0] = await freePorts(2);
      port = free;
      alone = other;
      gateway = await PROXIES[proxy]({
        build: { tcpServices: 'default/tcp', configMap: 'default/config' },
        manifests: [
          configMap('config', data),
          configMap('tcp', { [port]: 'default/db:5432', [alone]: 'default/alone:5432' }),
          service('db', [{ port: 5432 }]),
          endpointSlice('db', ['127.0.0.1'], { port: db.port, suffix: 'there' }),
          endpointSlice('db', ['127.0.0.1'], { port: REFUSING_PORT, suffix: 'gone' }),
          service('alone', [{ port: 5432 }]),
          endpointSlice('alone', ['127.0.0.1'], { port: db.port }),
        ],
      });
      await poll(
        () => answers(port),
        () => 'the port is not open',
      );
    });
    afterAll(() => gateway?.close());

    test(`a connection that an endpoint refuses ${triesOthers ? 'goes to another one' : 'ends'}`, async () => {
      const found = [];
      while (found.length < 6) found.push(await answers(port));
      expect(found.every((answered) => answered)).toBe(triesOthers);
    });

    test(`a silent connection ${endsSilence ? 'ends' : 'stays'}`, async () => {
      const { socket, ask, closed } = await connectTo(alone);
      await ask('x', 'db:x');
      const ends = await Promise.race([closed.then(() => true), delay(endsSilence ? 10_000 : 1500, false)]);
      socket.destroy();
      expect(ends).toBe(endsSilence);
    });
  });
});
