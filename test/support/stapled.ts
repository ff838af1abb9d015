import { connect } from 'node:tls';

/** The OCSP response that a handshake carries for a client that asks; nothing if there is none. */
export function stapledResponse(port: number, serverName: string): Promise<Buffer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  const socket = connect({
    port,
    host: '127.0.0.1',
    servername: serverName,
    rejectUnauthorized: false,
    requestOCSP: true,
  });
  let response: Buffer | undefined;
  socket.on('OCSPResponse', (bytes: Buffer | null) => {
    response = bytes ?? undefined;
  });
  socket.on('secureConnect', () => {
    resolve(response);
    socket.destroy();
  });
  socket.on('error', reject);
  return promise;
}
