import { connect, type SecureVersion } from 'node:tls';

/** Whether a handshake with exactly this version of TLS succeeds. */
export function handshakes(port: number, version: SecureVersion): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(
    {
      host: '127.0.0.1',
      port,
      rejectUnauthorized: false,
      minVersion: version,
      maxVersion: version,
      // The client must not be the one that refuses an old version.
      ciphers: 'DEFAULT:@SECLEVEL=0',
    },
    () => {
      resolve(true);
      socket.destroy();
    },
  );
  socket.on('error', () => resolve(false));
  return promise;
}
