import { once } from 'node:events';
import { createServer } from 'node:net';

/** Linux gives ports from 32,768 to connections of clients, and a bench makes thousands of them. */
const FIRST = 20_000;
const LAST = 32_000;

/** A port of 127.0.0.1 that nobody listens on, and that no connection takes before it is used. */
export async function stablePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '0.0.0.0');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
