/** What a running control plane says about itself, as JSON over a Unix socket that only its user may open. */
import { chmodSync, lstatSync, rmSync } from 'node:fs';
import fastify from 'fastify';

/** Answers with values that go out as JSON; nothing secret may be in them. `undefined`: there is no such thing. */
export interface DebugPages {
  readonly streams: () => unknown;
  /** Without a type: what there is of each. Without a name: all of the type. */
  readonly resources: (type: string | undefined, name: string | undefined) => unknown;
}

export interface DebugServer {
  /** Replaces what a dead process left behind. Rejects when the path cannot be had. */
  listen(): Promise<void>;
  close(): Promise<void>;
}

/** `GET /debug/streams`, `GET /debug/resources?type=TYPE&name=NAME`. */
export function createDebugServer(socketPath: string, pages: DebugPages): DebugServer {
  const server = fastify({ logger: false, forceCloseConnections: true });
  server.get('/debug/streams', () => pages.streams());
  server.get<{ Querystring: { readonly type?: string; readonly name?: string } }>(
    '/debug/resources',
    (request, reply) => {
      const { type, name } = request.query;
      const found = pages.resources(type, name);
      return found === undefined
        ? reply.code(404).send({ error: `there is nothing called ${[type, name].join(' ').trim()}` })
        : found;
    },
  );
  return {
    listen: async () => {
      if (lstatSync(socketPath, { throwIfNoEntry: false })?.isSocket()) rmSync(socketPath);
      await server.listen({ path: socketPath });
      chmodSync(socketPath, 0o600);
    },
    close: () => server.close(),
  };
}
