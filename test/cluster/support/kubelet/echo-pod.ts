/**
 * The backend of most tests: answers every path with what it received, and echoes WebSocket frames. As a well-behaved pod, it
 * goes on serving for a while after SIGTERM, because proxies learn of its end at the same time.
 *
 * Environment: PORT (8080), DRAIN_MS (1000), START_MS and ANSWER_MS (0: delays), FAIL_PATH (a path that answers 500).
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { echoWebSocket } from '../../../../src/files/echo-websocket.ts';

/** What it answers, as JSON. */
export interface PodAnswer {
  readonly pod: string;
  readonly namespace: string;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

const { env } = process;
const pod = env['POD_NAME'] ?? '';
const namespace = env['POD_NAMESPACE'] ?? '';

const server = createServer({ keepAliveTimeout: 300_000 }, async ({ method = '', url = '', headers }, response) => {
  await delay(Number(env['ANSWER_MS'] ?? 0));
  const answer: PodAnswer = { pod, namespace, method, url, headers };
  response.statusCode = url === env['FAIL_PATH'] ? 500 : 200;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(answer));
});
const webSockets = new Set<Duplex>();
server.on('upgrade', (request, socket, head) => {
  webSockets.add(socket);
  socket.on('close', () => webSockets.delete(socket));
  socket.on('error', () => socket.destroy());
  echoWebSocket(request, socket, head, []);
});
process.on('SIGTERM', async () => {
  await delay(Number(env['DRAIN_MS'] ?? 1000));
  server.close(() => process.exit(0));
  server.closeIdleConnections();
  for (const socket of webSockets) socket.end();
});
await delay(Number(env['START_MS'] ?? 0));
server.listen(Number(env['PORT'] ?? 8080), env['POD_IP']);
