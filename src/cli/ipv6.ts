import { createServer } from 'node:net';

/** Whether this machine can listen on IPv6 addresses; containers and kernels may have it switched off. */
export function hasIpv6(): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once('error', () => resolve(false));
  server.listen({ host: '::', port: 0 }, () => server.close(() => resolve(true)));
  return promise;
}
