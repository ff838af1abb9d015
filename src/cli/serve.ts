import { XdsAddressError } from '../xds/address.ts';
import { type ControlPlane, createControlPlane } from './composition.ts';
import { type CredentialFiles, describeCertificate, openCredentialFiles } from './credential-files.ts';
import { ConfigurationError, checkServeArguments, type ServeArguments, UsageError } from './flags.ts';
import { generateCertificate } from './generated-certificate.ts';
import { hasIpv6 } from './ipv6.ts';
import type { Logger } from './logger.ts';
import { ServeReadiness } from './readiness.ts';
import { outliveTerminal, signalExitCode, watchEndRequests } from './signals.ts';
import { xdsDelivery } from './xds-delivery.ts';
import { DEFAULT_CLIENT } from './xds-tls.ts';
import { credentialPaths, parseClients } from './xds-tls-arguments.ts';

/**
 * The command `serve`: a control plane whose Envoys run elsewhere. Ends with the first signal. Resolves with the exit code;
 * faults of the configuration are thrown.
 */
export async function serve(args: ServeArguments): Promise<number> {
  checkServeArguments(args);
  const clients = parseClients(args.xdsClient);
  let log: Logger | undefined;
  const credentials = await openCredentials(args, (level, message) => log?.[level](message));
  const requests = watchEndRequests();
  outliveTerminal();
  requests.second.addEventListener('abort', () => process.exit(signalExitCode(requests.second.reason)));
  const ending = new AbortController();
  const readiness = new ServeReadiness();
  const controlPlane = await createControlPlane({
    proxy: 'envoy',
    args,
    ipv6: await hasIpv6(),
    generatedCertificate: await generateCertificate(),
    delivery: xdsDelivery({
      args,
      addresses: args.xdsAddress,
      secretsOverTcp: args.xdsInsecure,
      ...(credentials && { mutualTls: { credentials, clients } }),
    }),
    ...(args.debugSocket !== undefined && { debugSocket: args.debugSocket }),
    readiness,
    ending: ending.signal,
  });
  log = controlPlane.logger;
  // The API server may be away for long; the end must not wait for it.
  const started = controlPlane.start().then((bound) => {
    if (bound.length === 0) return;
    readiness.listening();
    announce(controlPlane, bound, { args, credentials, clients });
  }, asConfigurationError);
  await Promise.race([started, requests.first]);
  await requests.first;
  ending.abort();
  await controlPlane.stop();
  credentials?.close();
  requests.close();
  return 0;
}

function announce(
  { logger, reporter }: ControlPlane,
  bound: readonly string[],
  { args, credentials, clients }: Trust,
): void {
  const overTcp = bound.filter((address) => !address.startsWith('unix:'));
  if (credentials) {
    const names = clients.map(({ name, namespaces }) =>
      namespaces ? `${name} (keys of ${namespaces.join(', ')})` : name,
    );
    logger.info(
      `mutual TLS with certificate ${describeCertificate(credentials.current)}; clients: ${names.join('; ')}`,
    );
  } else if (overTcp.length > 0) logger.warn(describeTrust(overTcp, args.xdsInsecure));
  reporter.listening(bound);
}

interface Trust {
  readonly args: ServeArguments;
  readonly credentials: CredentialFiles | undefined;
  readonly clients: ReturnType<typeof parseClients>;
}

/** @throws ConfigurationError when the files cannot be used, UsageError for flags that do not go together. */
async function openCredentials(
  args: ServeArguments,
  log: (level: 'info' | 'warn' | 'error', message: string) => void,
): Promise<CredentialFiles | undefined> {
  const paths = credentialPaths(args);
  if (paths === undefined) {
    // Who gives a list believes that it is looked at.
    if (args.xdsClient.join() !== DEFAULT_CLIENT) {
      throw new UsageError('--xds-client is for mutual TLS: it needs --xds-certificate, --xds-key and --xds-ca');
    }
    return undefined;
  }
  if (args.xdsInsecure)
    throw new UsageError('--xds-insecure is without meaning with --xds-certificate: TCP is encrypted');
  if (args.xdsAddress.every((address) => address.startsWith('unix:'))) {
    throw new UsageError('--xds-certificate is for TCP: no --xds-address is HOST:PORT');
  }
  try {
    return await openCredentialFiles(paths, {
      onRenewed: (description) => log('info', `mutual TLS goes on with ${description}`),
      onProblem: (message) => log('error', `mutual TLS goes on with the certificates from before: ${message}`),
      onExpiring: (message) => log('warn', message),
    });
  } catch (error) {
    throw new ConfigurationError(`--xds-certificate, --xds-key, --xds-ca: ${(error as Error).message}`);
  }
}

function describeTrust(addresses: readonly string[], insecure: boolean): string {
  const where = addresses.join(', ');
  return insecure
    ? `private keys are sent unencrypted on ${where}: every process of this machine can read them (--xds-insecure)`
    : `no private keys are sent on ${where}, so that HTTPS is not served there; use --xds-address=unix:PATH`;
}

function asConfigurationError(error: unknown): never {
  throw error instanceof XdsAddressError ? new ConfigurationError(`--xds-address: ${error.message}`) : error;
}
