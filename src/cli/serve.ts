import { XdsAddressError } from '../xds/address.ts';
import { createControlPlane } from './composition.ts';
import { ConfigurationError, checkServeArguments, type ServeArguments } from './flags.ts';
import { generateCertificate } from './generated-certificate.ts';
import { hasIpv6 } from './ipv6.ts';
import { ServeReadiness } from './readiness.ts';
import { outliveTerminal, signalExitCode, watchEndRequests } from './signals.ts';

/**
 * The command `serve`: a control plane whose Envoys run elsewhere. Ends with the first signal. Resolves with the exit code;
 * faults of the configuration are thrown.
 */
export async function serve(args: ServeArguments): Promise<number> {
  checkServeArguments(args);
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
    ...(args.debugSocket !== undefined && { debugSocket: args.debugSocket }),
    readiness,
    ending: ending.signal,
  });
  const { logger, reporter } = controlPlane;
  const bound = await controlPlane.start().catch(asConfigurationError);
  readiness.listening();
  const overTcp = bound.filter((address) => !address.startsWith('unix:'));
  if (overTcp.length > 0) logger.warn(describeTrust(overTcp, args.xdsInsecure));
  reporter.listening(bound);
  await requests.first;
  ending.abort();
  await controlPlane.stop();
  requests.close();
  return 0;
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
