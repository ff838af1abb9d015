import type { BuildOptions } from '../ingress/build.ts';
import { parseListenAddress, type XdsAddress, XdsAddressError } from '../xds/address.ts';
import type { ArgumentsOf } from './flags/flag.ts';
import type { ingressFlags, routingFlags } from './flags/ingress-flags.ts';
import type { controlPlaneFlags, envoyFlags } from './flags/process-flags.ts';
import type { clusterFlags, echoFlags, sourceFlags } from './flags/source-flags.ts';
import type { statusFlags, webhookFlags } from './flags/status-flags.ts';
import type { bootstrapFlags, inspectFlags, serveFlags, waitShutdownFlags } from './flags/tool-flags.ts';

/** `--manifests` and `--endpoint` */
export interface SourceArguments extends ArgumentsOf<typeof sourceFlags> {}

export interface ClusterArguments extends ArgumentsOf<typeof clusterFlags> {}

export interface StatusArguments extends ArgumentsOf<typeof statusFlags> {}

export interface WebhookArguments extends ArgumentsOf<typeof webhookFlags> {}

export interface IngressArguments extends ArgumentsOf<typeof ingressFlags> {}

/** What `run` and `serve` have in common. Durations (`electionTtl`, `statusAckTimeout`) are in milliseconds. */
export interface ControlPlaneArguments
  extends SourceArguments,
    ClusterArguments,
    IngressArguments,
    StatusArguments,
    WebhookArguments,
    ArgumentsOf<typeof echoFlags>,
    ArgumentsOf<typeof routingFlags>,
    ArgumentsOf<typeof controlPlaneFlags> {}

export interface RunArguments extends ControlPlaneArguments, ArgumentsOf<typeof envoyFlags> {}

export interface ServeArguments extends ControlPlaneArguments, ArgumentsOf<typeof serveFlags> {}

export interface InspectArguments extends ArgumentsOf<typeof inspectFlags> {
  readonly what: 'resources' | 'streams';
  readonly type?: string;
  readonly name?: string;
}

export interface BootstrapArguments extends ArgumentsOf<typeof bootstrapFlags> {}

export interface WaitShutdownArguments extends ArgumentsOf<typeof waitShutdownFlags> {}

/** A flag or a combination of flags that cannot be: one clear line for the user, exit code 2. */
export class UsageError extends Error {}

/** Something that the flags name cannot be used (a folder, a port): exit code 2. */
export class ConfigurationError extends Error {}

export function checkIngressArguments(args: IngressArguments): void {
  checkPort('http-port', args.httpPort, 1);
  checkPort('https-port', args.httpsPort, 1);
  if (args.httpPort === args.httpsPort) {
    throw new UsageError(`--http-port and --https-port are both ${args.httpPort}: they must differ`);
  }
  checkObjectName('configmap', args.configmap);
  checkObjectName('default-backend-service', args.defaultBackendService);
  checkObjectName('default-ssl-certificate', args.defaultSslCertificate);
  checkObjectName('tcp-services-configmap', args.tcpServicesConfigmap);
  checkObjectName('udp-services-configmap', args.udpServicesConfigmap);
  for (const flag of ['ingressClass', 'controllerClass', 'annotationsPrefix'] as const) {
    if (args[flag].trim() === '') throw new UsageError(`--${kebab(flag)} is empty`);
  }
  if (/[^\w./-]/.test(args.annotationsPrefix)) {
    throw new UsageError(`--annotations-prefix=${args.annotationsPrefix}: a prefix is a DNS name`);
  }
  if (args.annotationsPrefix.includes('/')) {
    throw new UsageError(
      `--annotations-prefix=${args.annotationsPrefix}: a prefix has no slash (nginx.ingress.kubernetes.io)`,
    );
  }
}

export function checkRunArguments(args: RunArguments): void {
  checkControlPlaneArguments(args);
  if (args.healthzPort === args.httpPort || args.healthzPort === args.httpsPort) {
    throw new UsageError(`--healthz-port=${args.healthzPort} is a port of the proxy already`);
  }
  checkNumber('shutdown-grace-period', args.shutdownGracePeriod, 0);
  checkNumber('drain-timeout', args.drainTimeout, 0);
  checkNumber('envoy-concurrency', args.envoyConcurrency, 1);
  if (!Number.isInteger(args.envoyConcurrency ?? 1)) {
    throw new UsageError(`--envoy-concurrency=${args.envoyConcurrency}: must be a whole number`);
  }
}

export function checkServeArguments(args: ServeArguments): void {
  checkControlPlaneArguments(args);
  const mutualTls = args.xdsCertificate !== undefined;
  for (const address of args.xdsAddress) parseXdsFlag(address, (text) => parseListenAddress(text, mutualTls));
  const repeated = args.xdsAddress.find((address, index) => args.xdsAddress.indexOf(address) !== index);
  if (repeated !== undefined) throw new UsageError(`--xds-address=${repeated} is given twice`);
}

function checkControlPlaneArguments(args: ControlPlaneArguments): void {
  checkIngressArguments(args);
  checkSource(args);
  checkPort('healthz-port', args.healthzPort, 0);
  if (!args.healthCheckPath.startsWith('/')) {
    throw new UsageError(`--health-check-path=${args.healthCheckPath}: a path begins with a slash`);
  }
  // Other characters are patterns to the HTTP server, which could answer for its other paths.
  if (!/^[\w./~-]+$/.test(args.healthCheckPath)) {
    throw new UsageError(`--health-check-path=${args.healthCheckPath}: letters, digits and "-._~/" only`);
  }
  if (['/readyz', '/metrics'].includes(args.healthCheckPath)) {
    throw new UsageError(`--health-check-path=${args.healthCheckPath}: this path has another meaning already`);
  }
  checkNumber('v', args.v, 0);
}

/** @throws UsageError for an address that `parse` refuses. */
export function parseXdsFlag(address: string, parse: (text: string) => XdsAddress): XdsAddress {
  try {
    return parse(address);
  } catch (error) {
    throw error instanceof XdsAddressError ? new UsageError(`--xds-address: ${error.message}`) : error;
  }
}

export function checkSource(args: SourceArguments): void {
  if (args.manifests.length === 0) {
    throw new UsageError('nothing to serve: give --manifests DIR, a folder of Kubernetes manifests');
  }
}

/** The options of the build that flags decide. */
export function buildOptionsFrom(args: IngressArguments): Omit<BuildOptions, 'generatedCertificate'> {
  return {
    ingressClass: args.ingressClass,
    controllerClass: args.controllerClass,
    ingressClassByName: args.ingressClassByName,
    watchIngressWithoutClass: args.watchIngressWithoutClass,
    classNameWithoutObjects: true,
    annotationsPrefix: args.annotationsPrefix,
    ...(args.configmap !== undefined && { configMap: args.configmap }),
    ...(args.defaultBackendService !== undefined && { defaultBackendService: args.defaultBackendService }),
    ...(args.defaultSslCertificate !== undefined && { defaultSslCertificate: args.defaultSslCertificate }),
    tlsOnDemand: args.tlsOnDemand,
    disableCatchAll: args.disableCatchAll,
    disableSvcExternalName: args.disableSvcExternalName,
    deepInspect: args.deepInspect,
    httpPort: args.httpPort,
    httpsPort: args.httpsPort,
  };
}

function checkPort(flag: string, port: number, min: number): void {
  if (!Number.isInteger(port) || port < min || port > 65535) {
    throw new UsageError(`--${flag}${given(port)}: a port is a whole number from ${min} to 65535`);
  }
}

function checkNumber(flag: string, value: number | undefined, min: number): void {
  if (value === undefined) return;
  if (!Number.isFinite(value) || value < min)
    throw new UsageError(`${flag === 'v' ? '-v' : `--${flag}`}${given(value)}: must be a number, ${min} or more`);
}

/** What is no number reaches us as NaN, which the user has not written. */
function given(value: number): string {
  return Number.isNaN(value) ? '' : `=${value}`;
}

function checkObjectName(flag: string, value: string | undefined): void {
  if (value === undefined) return;
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?\/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value)) {
    throw new UsageError(`--${flag}=${value}: must be NAMESPACE/NAME`);
  }
}

function kebab(camel: string): string {
  return camel.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
