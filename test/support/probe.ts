/** A standing load that tolerates no failed request and no closed connection. */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { createHttp2, getHttp1, openWebSocket, type Target } from './probe-clients.ts';

export interface ProbeOptions extends Target {
  /** Requests per second, all kinds together. */
  readonly rate: number;
}

export interface ProbeReport {
  readonly requests: number;
  /** One line each; empty is what is wanted. */
  readonly failures: readonly string[];
  /** Connections that ended before they had served as many requests as they may. */
  readonly closed: readonly string[];
  /** Messages that came back, over the WebSocket with fewer of them. */
  readonly messages: number;
  readonly seconds: number;
}

export interface Probe {
  /** Requests sent so far. */
  sent(): number;
  stop(): Promise<ProbeReport>;
}

/** `keep-alive-requests`: a connection is closed after that many, and nobody counts it as lost. */
const REQUESTS_PER_CONNECTION = 1000;
const TICK_MS = 20;
const MAX_SECONDS = 120;
const MAX_PER_TICK = 40;
/** A machine that cannot carry the load gets less of it, and not ever later answers. */
const MAX_IN_FLIGHT = 100;
/** How requests are sent, in turn. */
const WAYS = [
  ...['kept', 'kept TLS', 'HTTP/2', 'kept', 'new', 'HTTP/2', 'kept TLS', 'kept', 'HTTP/2', 'kept'],
  ...['kept', 'kept TLS', 'HTTP/2', 'kept', 'new', 'HTTP/2', 'kept TLS', 'kept', 'HTTP/2', 'new TLS'],
] as const;

/**
 * Requests over kept and over new connections of HTTP/1.1, with and without TLS, and over HTTP/2 with TLS; beside them two
 * WebSockets, one with TLS, that send a message in every tick. The backend must answer every path with 200 and echo WebSocket frames.
 */
export async function startProbe(options: ProbeOptions): Promise<Probe> {
  const failures: string[] = [];
  const closed: string[] = [];
  const inFlight = new Set<Promise<void>>();
  let requests = 0;
  let stopping = false;
  const lose = (what: string) => {
    if (!stopping) closed.push(`${options.host}, ${what}`);
  };
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 4 });
  const tlsAgent = new HttpsAgent({ keepAlive: true, maxSockets: 4 });
  const served = new Map<Socket, number>();
  const http2 = createHttp2(options, lose);
  const webSockets = await Promise.all([
    openWebSocket(options, false, () => lose('WebSocket')),
    openWebSocket(options, true, () => lose('WebSocket with TLS')),
  ]);

  const track = (way: string, sent: Promise<number>) => {
    requests++;
    const done = sent
      .then(
        (status) => void (status !== 200 && failures.push(`${options.host}, ${way}: status ${status}`)),
        (error: Error) => void failures.push(`${options.host}, ${way}: ${error.message}`),
      )
      .finally(() => inFlight.delete(done));
    inFlight.add(done);
  };
  const onSocket = (way: string) => (socket: Socket) => {
    if (!served.has(socket)) {
      socket.once('close', () => {
        const count = served.get(socket) ?? 0;
        if (count < REQUESTS_PER_CONNECTION) lose(`${way} HTTP/1.1 connection after ${count} requests`);
      });
    }
    served.set(socket, (served.get(socket) ?? 0) + 1);
  };
  const senders: Readonly<Record<(typeof WAYS)[number], () => Promise<number>>> = {
    kept: () => getHttp1(options, { tls: false, agent, onSocket: onSocket('kept') }),
    new: () => getHttp1(options, { tls: false }),
    'kept TLS': () => getHttp1(options, { tls: true, agent: tlsAgent, onSocket: onSocket('kept TLS') }),
    'new TLS': () => getHttp1(options, { tls: true }),
    'HTTP/2': http2.get,
  };

  const begin = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const seconds = (performance.now() - begin) / 1000;
    if (seconds > MAX_SECONDS) return;
    // What a busy machine could not send in time is sent in the next ticks, up to a limit: the probe is a load, not a flood.
    const due = Math.min(Math.floor(seconds * options.rate) - sent, MAX_PER_TICK, MAX_IN_FLIGHT - inFlight.size);
    for (let index = 0; index < due; index++) {
      const way = WAYS[(sent + index) % WAYS.length]!;
      track(way, senders[way]());
    }
    sent += Math.max(0, due);
    for (const webSocket of webSockets) webSocket.send();
  }, TICK_MS);

  return {
    sent: () => requests,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(inFlight);
      stopping = true;
      agent.destroy();
      tlsAgent.destroy();
      http2.close();
      for (const webSocket of webSockets) webSocket.close();
      return {
        requests,
        failures,
        closed,
        messages: Math.min(...webSockets.map((webSocket) => webSocket.received())),
        seconds: (performance.now() - begin) / 1000,
      };
    },
  };
}
