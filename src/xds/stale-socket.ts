/** Unix sockets whose process is dead. */
import { lstatSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { XdsAddressError } from './address.ts';

/**
 * A process that was killed leaves its socket behind, and nobody can bind the path again.
 * @throws XdsAddressError when the path is in use, or no socket.
 */
export async function removeStaleSocket(path: string): Promise<void> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isSocket()) throw new XdsAddressError(`${path} exists and is not a socket`);
  if (await answers(path)) throw new XdsAddressError(`${path} is in use by another process`);
  rmSync(path, { force: true });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
