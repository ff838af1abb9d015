import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

export interface ProxyPort {
  readonly port: number;
  /** The flag that chooses it: `--http-port`. */
  readonly flag: string;
  /** TCP if absent. */
  readonly protocol?: 'udp';
}

const EVERY_ADDRESS = ['0.0.0.0', '::'];

/**
 * Tries whether Envoy will be able to listen, and says in one sentence for each port why not. Envoy itself would share a port
 * with another Envoy in silence (SO_REUSEPORT), and report other failures only when its listeners arrive.
 */
export async function findPortFaults(ports: readonly ProxyPort[], addresses = EVERY_ADDRESS): Promise<string[]> {
  const faults: string[] = [];
  for (const { port, flag, protocol } of ports) {
    const tryToOpen = protocol === 'udp' ? tryToBind : tryToListen;
    for (const address of addresses) {
      const code = await tryToOpen(address, port);
      const name = protocol === 'udp' ? `UDP port ${port}` : `Port ${port}`;
      const fault = code === undefined ? undefined : describe(code, address, name, flag);
      if (fault === undefined) continue;
      faults.push(fault);
      break;
    }
  }
  return faults;
}

function describe(code: string, address: string, port: string, flag: string): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `${port} is already in use on ${address}: end what listens there, or choose another port with ${flag}`;
    case 'EACCES':
    case 'EPERM':
      return `${port} needs privileges that this process does not have (root or CAP_NET_BIND_SERVICE): choose a port from 1024 with ${flag}`;
    case 'EAFNOSUPPORT':
    case 'EADDRNOTAVAIL':
      // No IPv6 on this machine: not a fault, Envoy is not told to listen there either.
      return address === '::' ? undefined : `${port} cannot be opened on ${address} (${code})`;
    default:
      return `${port} cannot be opened on ${address} (${code})`;
  }
}

/** The error code, or `undefined` if a listener could be opened; it is closed again. */
function tryToListen(host: string, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  server.listen({ host, port, ipv6Only: true }, () => server.close(() => resolve(undefined)));
  return promise;
}

function tryToBind(address: string, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const socket = createSocket(address.includes(':') ? { type: 'udp6', ipv6Only: true } : { type: 'udp4' });
  socket.once('error', (error: NodeJS.ErrnoException) => {
    resolve(error.code ?? error.message);
    socket.close();
  });
  socket.bind(port, address, () => socket.close(() => resolve(undefined)));
  return promise;
}
