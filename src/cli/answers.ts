import { connect, type NetConnectOpts } from 'node:net';

/** Whether somebody takes connections there. */
export function answers(where: NetConnectOpts): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(where);
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
