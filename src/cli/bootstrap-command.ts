import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { buildBootstrap } from '../envoy/bootstrap.ts';
import { type XdsTls, xdsSecrets } from '../envoy/bootstrap-tls.ts';
import { parseXdsAddress } from '../xds/address.ts';
import { type BootstrapArguments, ConfigurationError, parseXdsFlag, UsageError } from './flags.ts';
import type { XdsTlsClientArguments } from './xds-tls.ts';
import { credentialPaths } from './xds-tls-arguments.ts';

/** The longest path of a Unix socket that the kernel takes, in bytes. */
const MAX_SOCKET_PATH = 107;

/** Where the control plane listens unless the flag says so. */
const XDS_ADDRESSES = { gateway: '127.0.0.1:18000', sidecar: 'unix:/run/ingress-xds/xds.sock' } as const;
/** A sidecar shares the memory of its pod with the control plane; as many as one worker of ingress-nginx takes by default. */
const SIDECAR_CONNECTIONS = 16_384;

/**
 * The command `bootstrap`: prints what an Envoy needs to find a control plane, and writes the files that tell it where the
 * certificates for mutual TLS are. Returns the exit code.
 * @throws UsageError for values with which Envoy would not start, and for a sidecar that is to connect unencrypted over TCP.
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
  const xdsTls = prepareTls(args, xds);
  if (role === 'sidecar' && xds.kind === 'tcp' && xdsTls === undefined) {
    throw new UsageError(
      '--role=sidecar connects over a Unix socket (--xds-address=unix:PATH) or with --xds-certificate',
    );
  }
  const message = buildBootstrap({
    node: { id: nodeId, cluster: nodeCluster },
    xds,
    ...(xdsTls && { xdsTls }),
    adminSocket,
    ...(role === 'sidecar' && { maxDownstreamConnections: SIDECAR_CONNECTIONS }),
  });
  process.stdout.write(output === 'json' ? `${JSON.stringify(message, null, 2)}\n` : stringify(message));
  return 0;
}

/** Writes the files with the secrets of mutual TLS, if it is asked for. */
function prepareTls(args: XdsTlsClientArguments, xds: ReturnType<typeof parseXdsAddress>): XdsTls | undefined {
  const { xdsServerName, xdsSecrets: folder = '.' } = args;
  const paths = credentialPaths(args);
  if (paths === undefined) {
    if (xdsServerName !== undefined)
      throw new UsageError('--xds-server-name is for mutual TLS: it needs --xds-certificate');
    return undefined;
  }
  if (xds.kind === 'unix') throw new UsageError('--xds-certificate is for TCP: a Unix socket needs no certificates');
  if (dirname(paths.certificate) !== dirname(paths.key)) {
    throw new UsageError('--xds-certificate and --xds-key must be in one folder, which Envoy watches for both');
  }
  const secretFiles = {
    certificate: inFolder(join(folder, 'xds-certificate.json')),
    authorities: inFolder(join(folder, 'xds-ca.json')),
  };
  const secrets = xdsSecrets({
    certificate: inFolder(paths.certificate),
    key: inFolder(paths.key),
    ca: inFolder(paths.ca),
  });
  try {
    mkdirSync(folder, { recursive: true });
    for (const which of ['certificate', 'authorities'] as const) {
      writeFileSync(secretFiles[which], `${JSON.stringify(secrets[which], null, 2)}\n`);
    }
  } catch (error) {
    throw new ConfigurationError(`--xds-secrets: ${(error as Error).message}`);
  }
  return { serverName: xdsServerName ?? xds.host, secretFiles };
}

/** Envoy takes no path without a folder for one that it can watch. */
function inFolder(path: string): string {
  return path.includes('/') ? path : `./${path}`;
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
