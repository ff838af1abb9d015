import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createHealthServer, type HealthOptions } from './health.ts';

let health: ReturnType<typeof createHealthServer>;

afterEach(() => health.close());

async function start(options: Partial<HealthOptions> = {}): Promise<number> {
  health = createHealthServer({
    host: '127.0.0.1',
    port: 0,
    healthCheckPath: '/healthz',
    healthy: () => true,
    ready: () => ({ ready: true, reason: '' }),
    metrics: async () => ({ contentType: 'text/plain', text: '' }),
    ...options,
  });
  return (await health.listen()).port;
}

test('a client that does not end its request is sent away', async () => {
  const port = await start({ requestTimeoutMs: 100 });
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (data) => {
    answer += data;
  });
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n');
  await once(socket, 'close');
  expect(answer).toMatch(/^HTTP\/1.1 408 /);
});

test.each([
  [true, 200, 'ok\n'],
  [false, 500, 'not healthy\n'],
])('healthy: %s', async (healthy, status, text) => {
  const port = await start({ healthy: () => healthy, healthCheckPath: '/health' });
  const answer = await fetch(`http://127.0.0.1:${port}/health`);
  expect([answer.status, await answer.text()]).toEqual([status, text]);
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(404);
});

test('what is waited for is said', async () => {
  const port = await start({ ready: () => ({ ready: false, reason: 'reading the objects' }) });
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
  expect([answer.status, await answer.text()]).toEqual([500, 'reading the objects\n']);
});
