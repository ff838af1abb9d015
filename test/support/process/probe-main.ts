/** Load and backend in a process of their own: a busy control plane does not slow the load, and the load not the control plane. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { echoWebSocket } from '../../../src/files/echo-websocket.ts';
import type { Address } from '../../../src/model/proxy-model.ts';
import { type Probe, type ProbeOptions, type ProbeReport, startProbe } from '../probe.ts';

export type ProbeCommand =
  | { readonly kind: 'start'; readonly probes: readonly ProbeOptions[] }
  | { readonly kind: 'stop' };

export type ProbeMessage =
  | { readonly kind: 'listening'; readonly backend: Address }
  | { readonly kind: 'started' }
  | { readonly kind: 'sent'; readonly requests: number }
  | { readonly kind: 'report'; readonly reports: readonly ProbeReport[] };

const PROGRESS_MS = 50;
/** Whatever becomes of the test, this process ends; ms. */
const LIFETIME_MS = 180_000;

function send(message: ProbeMessage): void {
  process.send?.(message);
}

let probes: readonly Probe[] = [];
let progress: NodeJS.Timeout | undefined;

/** Cheaper than the echo, and open for longer than a proxy keeps an idle connection. */
async function startBackend(): Promise<Address> {
  const server = createServer({ keepAliveTimeout: 300_000 }, (_request, response) => response.end('ok\n'));
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    echoWebSocket(request, socket, head, []);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { address, port } = server.address() as AddressInfo;
  return { ip: address, port };
}

async function start(options: readonly ProbeOptions[]): Promise<void> {
  probes = await Promise.all(options.map(startProbe));
  progress = setInterval(
    () => send({ kind: 'sent', requests: probes.reduce((sum, probe) => sum + probe.sent(), 0) }),
    PROGRESS_MS,
  );
  send({ kind: 'started' });
}

async function stop(): Promise<void> {
  clearInterval(progress);
  send({ kind: 'report', reports: await Promise.all(probes.map((probe) => probe.stop())) });
}

setTimeout(() => process.exit(1), LIFETIME_MS).unref();
process.on('disconnect', () => process.exit(0));
// A rejection that nobody handles ends this process, and the test sees that.
process.on('message', (command: ProbeCommand) => void (command.kind === 'start' ? start(command.probes) : stop()));
send({ kind: 'listening', backend: await startBackend() });
