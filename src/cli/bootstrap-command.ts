import { hostname } from 'node:os';
import { stringify } from 'yaml';
import { buildBootstrap } from '../envoy/bootstrap.ts';
import { parseXdsAddress } from '../xds/address.ts';
import { type BootstrapArguments, parseXdsFlag, UsageError } from './flags.ts';

/** The longest path of a Unix socket that the kernel takes, in bytes. */
const MAX_SOCKET_PATH = 107;

/** Where the control plane listens unless the flag says so. */
const XDS_ADDRESSES = { gateway: '127.0.0.1:18000', sidecar: 'unix:/run/ingress-xds/xds.sock' } as const;
/** A sidecar shares the memory of its pod with the control plane; as many as one worker of ingress-nginx takes by default. */
const SIDECAR_CONNECTIONS = 16_384;

/**
 * The command `bootstrap`: prints what an Envoy needs to find a control plane. Returns the exit code.
 * @throws UsageError for values with which Envoy would not start, and for a sidecar that is to connect over TCP.
 */
export function bootstrap(args: BootstrapArguments): number {
  const { role, nodeCluster, adminSocket, output } = args;
  const nodeId = args.nodeId ?? (process.env['POD_NAME'] || hostname());
  const xds = withoutBrackets(parseXdsFlag(args.xdsAddress ?? XDS_ADDRESSES[role], parseXdsAddress));
  for (const [flag, value] of Object.entries({ 'node-id': nodeId, 'node-cluster': nodeCluster })) {
    if (value === '') throw new UsageError(`--${flag} is empty: Envoy does not start without it`);
  }
  checkSocketPath('admin-socket', adminSocket);
  if (xds.kind === 'unix') checkSocketPath('xds-address', xds.path);
  else if (role === 'sidecar')
    throw new UsageError('--role=sidecar connects over a Unix socket: --xds-address=unix:PATH');
  const message = buildBootstrap({
    node: { id: nodeId, cluster: nodeCluster },
    xds,
    adminSocket,
    ...(role === 'sidecar' && { maxDownstreamConnections: SIDECAR_CONNECTIONS }),
  });
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
