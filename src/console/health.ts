import fastify from 'fastify';

export interface HealthOptions {
  /** `::` for every address, `0.0.0.0` where there is no IPv6. */
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Path of the health check, usually `/healthz`. */
  readonly healthCheckPath: string;
  /** How long a client may take for its request, in milliseconds; 0, the default: as long as it likes. */
  readonly requestTimeoutMs?: number;
  /** Whether the process has been ready once and is not ending: what `/healthz` says. */
  readonly healthy: () => boolean;
  /** Whether traffic may be sent now, with the reason if not: what `/readyz` says. */
  readonly ready: () => Readiness;
  /** The metrics in the text format of Prometheus. */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
}

export interface Readiness {
  readonly ready: boolean;
  /** `waiting for Envoy to accept the first configuration` */
  readonly reason: string;
}

/** How late a timeout may be noticed. */
const TIMEOUT_CHECK_MS = 500;

/** HTTP server of `/healthz`, `/readyz` and `/metrics`. Start it with `listen`; rejects when the port is taken. */
export function createHealthServer(options: HealthOptions): {
  listen(): Promise<{ port: number }>;
  close(): Promise<void>;
} {
  const server = fastify({
    logger: false,
    forceCloseConnections: true,
    requestTimeout: options.requestTimeoutMs ?? 0,
    http: { connectionsCheckingInterval: TIMEOUT_CHECK_MS },
  });
  server.get(options.healthCheckPath, (_request, reply) => {
    const healthy = options.healthy();
    return reply
      .code(healthy ? 200 : 500)
      .type('text/plain')
      .send(healthy ? 'ok\n' : 'not healthy\n');
  });
  server.get('/readyz', (_request, reply) => {
    const { ready, reason } = options.ready();
    return reply
      .code(ready ? 200 : 500)
      .type('text/plain')
      .send(`${ready ? 'ok' : reason}\n`);
  });
  server.get('/metrics', async (_request, reply) => {
    const { contentType, text } = await options.metrics();
    return reply.type(contentType).send(text);
  });
  return {
    listen: async () => {
      try {
        await server.listen({ port: options.port, host: options.host });
      } catch (error) {
        throw new Error(listenFault(error as NodeJS.ErrnoException, options), { cause: error });
      }
      const address = server.server.address();
      return { port: typeof address === 'object' && address !== null ? address.port : options.port };
    },
    close: () => server.close(),
  };
}

function listenFault({ code, message }: NodeJS.ErrnoException, { host, port }: HealthOptions): string {
  if (code === 'EADDRINUSE') return `port ${port} is already in use: choose another, or 0 for a free one`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `${host} is no address of this machine (--healthz-host)`;
  return `cannot listen on ${host}, port ${port}: ${message}`;
}
