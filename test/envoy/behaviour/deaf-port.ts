import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

export interface DeafPort {
  readonly port: number;
  close(): void;
}

/** A port that takes no connection: nobody accepts, and those that wait to be accepted are as many as may wait. */
export async function startDeafPort(): Promise<DeafPort> {
  const script = `
    const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      require('node:fs').writeSync(1, server.address().port + '\\n');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const child: ChildProcess = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  const port = Number(line);
  const waiting = Array.from({ length: 8 }, () => connect({ port, host: '127.0.0.1' }).on('error', () => {}));
  await Promise.all(waiting.slice(0, 2).map((socket) => once(socket, 'connect')));
  return {
    port,
    close: () => {
      for (const socket of waiting) socket.destroy();
      child.kill('SIGKILL');
    },
  };
}
