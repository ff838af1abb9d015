import { XdsAddressError } from '../xds/address.ts';
import { createControlPlane } from './composition.ts';
import { type CredentialFiles, describeCertificate, openCredentialFiles } from './credential-files.ts';
import { ConfigurationError, checkServeArguments, type ServeArguments, UsageError } from './flags.ts';
import { generateCertificate } from './generated-certificate.ts';
import { hasIpv6 } from './ipv6.ts';
import { ServeReadiness } from './readiness.ts';
import { outliveTerminal, signalExitCode, watchEndRequests } from './signals.ts';
import { credentialPaths, parseClients } from './xds-tls-arguments.ts';

/**
 * The command `serve`: a control plane whose Envoys run elsewhere. Ends with the first signal. Resolves with the exit code;
 * faults of the configuration are thrown.
 */
export async function serve(args: ServeArguments): Promise<number> {
  checkServeArguments(args);
  const clients = parseClients(args.xdsClient);
  const credentials = await openCredentials(args, (level, message) => controlPlane.logger[level](message));
  const requests = watchEndRequests();
  outliveTerminal();
  requests.second.addEventListener('abort', () => process.exit(signalExitCode(requests.second.reason)));
  const ending = new AbortController();
  const readiness = new ServeReadiness();
  const controlPlane = createControlPlane({
    args,
    ipv6: await hasIpv6(),
    generatedCertificate: await generateCertificate(),
    xdsAddresses: args.xdsAddress,
    secretsOverTcp: args.xdsInsecure,
    ...(credentials && { mutualTls: { credentials, clients } }),
    ...(args.debugSocket !== undefined && { debugSocket: args.debugSocket }),
    readiness,
    ending: ending.signal,
  });
  const { logger, reporter } = controlPlane;
  const bound = await controlPlane.start().catch(asConfigurationError);
  readiness.listening();
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
  await requests.first;
  ending.abort();
  await controlPlane.stop();
  credentials?.close();
  requests.close();
  return 0;
}

/** @throws ConfigurationError when the files cannot be used, UsageError for flags that do not go together. */
async function openCredentials(
  args: ServeArguments,
  log: (level: 'info' | 'error', message: string) => void,
): Promise<CredentialFiles | undefined> {
  const paths = credentialPaths(args);
  if (paths === undefined) return undefined;
  if (args.xdsInsecure)
    throw new UsageError('--xds-insecure is without meaning with --xds-certificate: TCP is encrypted');
  if (args.xdsAddress.every((address) => address.startsWith('unix:'))) {
    throw new UsageError('--xds-certificate is for TCP: no --xds-address is HOST:PORT');
  }
  try {
    return await openCredentialFiles(paths, {
      onRenewed: (description) => log('info', `mutual TLS goes on with ${description}`),
      onProblem: (message) => log('error', `mutual TLS goes on with the certificates from before: ${message}`),
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
