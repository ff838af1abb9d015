import { hostname } from 'node:os';
import { stringify } from 'yaml';
import { buildBootstrap } from '../envoy/bootstrap.ts';
import { parseXdsAddress } from '../xds/address.ts';
import { type BootstrapArguments, parseXdsFlag, UsageError } from './flags.ts';

/** The longest path of a Unix socket that the kernel takes, in bytes. */
const MAX_SOCKET_PATH = 107;

/** The command `bootstrap`: prints what an Envoy needs to find a control plane. Returns the exit code. */
export function bootstrap(args: BootstrapArguments): number {
  const { nodeId = hostname(), nodeCluster, adminSocket, output } = args;
  const xds = withoutBrackets(parseXdsFlag(args.xdsAddress, parseXdsAddress));
  for (const [flag, value] of Object.entries({ 'node-id': nodeId, 'node-cluster': nodeCluster })) {
    if (value === '') throw new UsageError(`--${flag} is empty: Envoy does not start without it`);
  }
  checkSocketPath('admin-socket', adminSocket);
  if (xds.kind === 'unix') checkSocketPath('xds-address', xds.path);
  const message = buildBootstrap({ node: { id: nodeId, cluster: nodeCluster }, xds, adminSocket });
  process.stdout.write(output === 'json' ? `${JSON.stringify(message, null, 2)}\n` : stringify(message));
  return 0;
}

function checkSocketPath(flag: string, path: string): void {
  if (path === '') throw new UsageError(`--${flag} is empty`);
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH) {
    throw new UsageError(`--${flag}: the path of a Unix socket has at most ${MAX_SOCKET_PATH} bytes: ${path}`);
  }
}

/** Envoy writes IPv6 addresses without the brackets that tell them from the port. */
function withoutBrackets(address: ReturnType<typeof parseXdsAddress>): ReturnType<typeof parseXdsAddress> {
  return address.kind === 'tcp' ? { ...address, host: address.host.replace(/^\[|\]$/g, '') } : address;
}
