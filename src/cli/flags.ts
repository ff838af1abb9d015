import type { BuildOptions } from '../ingress/build.ts';
import { parseListenAddress, type XdsAddress, XdsAddressError } from '../xds/address.ts';
import type { ArgumentsOf } from './flags/flag.ts';
import type { ingressFlags, routingFlags } from './flags/ingress-flags.ts';
import type { nginxModeFlags } from './flags/nginx-mode-flags.ts';
import type { controlPlaneFlags, envoyFlags } from './flags/process-flags.ts';
import type { clusterFlags, echoFlags, sourceFlags } from './flags/source-flags.ts';
import type { statusFlags, webhookFlags } from './flags/status-flags.ts';
import type { bootstrapFlags, inspectFlags, serveFlags, waitShutdownFlags } from './flags/tool-flags.ts';
import { type PortArguments, reservedPorts } from './reserved-ports.ts';

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

/** How a proxy beside its control plane is ended. */
export interface ShutdownArguments {
  readonly shutdownGracePeriod: number;
  readonly drainTimeout?: number;
  readonly postShutdownGracePeriod?: number;
}

export interface RunArguments extends ControlPlaneArguments, ArgumentsOf<typeof envoyFlags> {}

export interface NginxArguments extends ControlPlaneArguments, ArgumentsOf<typeof nginxModeFlags> {}

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
  checkHttp3(args);
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

function checkHttp3({ http3, http3AdvertisedPort, tlsOnDemand }: IngressArguments): void {
  if (http3AdvertisedPort !== undefined) {
    if (!http3) throw new UsageError('--http3-advertised-port needs --http3');
    checkPort('http3-advertised-port', http3AdvertisedPort, 1);
  }
  if (http3 && tlsOnDemand) {
    throw new UsageError('--http3 and --tls-on-demand exclude each other: Envoy looks up no certificate over QUIC');
  }
}

/** At a reload nginx leads datagrams of requests in flight to its new workers, which do not know them: half of them never end. */
export function checkHttp3OfProxy({ http3 }: Pick<IngressArguments, 'http3'>, proxy: BuildOptions['proxy']): void {
  if (http3 && proxy === 'nginx') throw new UsageError('--http3 is for Envoy: nginx cuts HTTP/3 whenever it reloads');
}

export function checkRunArguments(args: RunArguments): void {
  checkTreeArguments(args);
  checkNumber('envoy-concurrency', args.envoyConcurrency, 1);
  if (!Number.isInteger(args.envoyConcurrency ?? 1)) {
    throw new UsageError(`--envoy-concurrency=${args.envoyConcurrency}: must be a whole number`);
  }
}

export function checkNginxArguments(args: NginxArguments): void {
  checkTreeArguments(args);
  if (args.tlsOnDemand) {
    throw new UsageError('--tls-on-demand is for Envoy: nginx looks up certificates by name in any case');
  }
  checkHttp3OfProxy(args, 'nginx');
  if (args.routeSharding) throw new UsageError('--route-sharding is for Envoy: nginx has no route tables');
  checkNumber('sync-rate-limit', args.syncRateLimit, 0);
  checkNumber('dynamic-configuration-retries', args.dynamicConfigurationRetries, 0);
  checkNumber('nginx-worker-processes', args.nginxWorkerProcesses, 1);
  if (!Number.isInteger(args.nginxWorkerProcesses ?? 1)) {
    throw new UsageError(`--nginx-worker-processes=${args.nginxWorkerProcesses}: must be a whole number`);
  }
}

/** What control planes have in common that have a proxy beside them. */
function checkTreeArguments(args: ControlPlaneArguments & ShutdownArguments): void {
  checkControlPlaneArguments(args);
  if (args.healthzPort === args.httpPort || args.healthzPort === args.httpsPort) {
    throw new UsageError(`--healthz-port=${args.healthzPort} is a port of the proxy already`);
  }
  checkNumber('shutdown-grace-period', args.shutdownGracePeriod, 0);
  checkNumber('post-shutdown-grace-period', args.postShutdownGracePeriod, 0);
  checkNumber('drain-timeout', args.drainTimeout, 0);
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
  if (servesCluster(args)) checkClusterArguments(args);
  else checkManifestArguments(args);
  checkPort('healthz-port', args.healthzPort, 0);
  checkNumber('health-check-timeout', args.healthCheckTimeout, 0);
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

/** Whether the objects come from a cluster; else from `--manifests`. */
export function servesCluster(args: Pick<SourceArguments, 'manifests'>): boolean {
  return args.manifests.length === 0;
}

/** Flags that mean nothing without an API server: whoever gives them does not expect a folder to be served. */
const CLUSTER_ONLY = [
  'kubeconfig',
  'apiserverHost',
  'certificateAuthority',
  'watchNamespace',
  'watchNamespaceSelector',
  'publishService',
  'publishStatusAddress',
  'validatingWebhook',
] as const satisfies readonly (keyof ControlPlaneArguments)[];

function checkManifestArguments(args: ControlPlaneArguments): void {
  const given = CLUSTER_ONLY.find((name) => args[name] !== undefined);
  if (given !== undefined) throw new UsageError(`--${kebab(given)} is for a cluster: not together with --manifests`);
}

function checkClusterArguments(args: ControlPlaneArguments): void {
  if (args.echo) throw new UsageError('--echo needs --manifests');
  if (args.endpoint.length > 0) throw new UsageError('--endpoint needs --manifests');
  checkNotBoth(args, 'watchNamespace', 'watchNamespaceSelector');
  checkNotBoth(args, 'publishService', 'publishStatusAddress');
  checkObjectName('publish-service', args.publishService);
  if (args.watchNamespace !== undefined && !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(args.watchNamespace)) {
    throw new UsageError(`--watch-namespace=${args.watchNamespace}: must be the name of a namespace`);
  }
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(args.electionId)) {
    throw new UsageError(`--election-id=${args.electionId}: must be the name of a Lease`);
  }
  if (args.electionTtl < 1_000) throw new UsageError('--election-ttl: must be 1s or more');
  checkWebhookArguments(args);
  checkPodIdentity(args);
}

function checkWebhookArguments(args: ControlPlaneArguments): void {
  if (args.validatingWebhook === undefined) return;
  const [, digits] = /:(\d{1,5})$/.exec(args.validatingWebhook) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) {
    throw new UsageError(`--validating-webhook=${args.validatingWebhook}: must be HOST:PORT or :PORT`);
  }
  const taken = (['httpPort', 'httpsPort', 'healthzPort'] as const).find((name) => args[name] === port && port !== 0);
  if (taken !== undefined) {
    throw new UsageError(`--validating-webhook=${args.validatingWebhook}: --${kebab(taken)} has this port already`);
  }
  for (const name of ['validatingWebhookCertificate', 'validatingWebhookKey'] as const) {
    if (args[name] === undefined) throw new UsageError(`--validating-webhook needs --${kebab(name)}`);
  }
}

function checkNotBoth(
  args: ControlPlaneArguments,
  one: keyof ControlPlaneArguments,
  other: keyof ControlPlaneArguments,
): void {
  if (args[one] === undefined || args[other] === undefined) return;
  throw new UsageError(`--${kebab(one)} and --${kebab(other)} exclude each other`);
}

/**
 * The name of the pod is needed for the election of a leader, and for the status of Ingresses where it shows the nodes of pods like
 * this one.
 * @throws ConfigurationError where it is needed and not in the environment.
 */
function checkPodIdentity(args: StatusArguments): void {
  const missing = ['POD_NAME', 'POD_NAMESPACE'].filter((variable) => !process.env[variable]);
  const published = args.publishService !== undefined || args.publishStatusAddress !== undefined;
  const needed = [
    ...(args.disableLeaderElection ? [] : ['to elect a leader (or give --disable-leader-election)']),
    ...(published || !args.updateStatus
      ? []
      : [
          'to find the nodes whose addresses are published (or give --publish-service, --publish-status-address or --update-status=false)',
        ]),
  ];
  if (missing.length === 0 || needed.length === 0) return;
  throw new ConfigurationError(`the environment has no ${missing.join(' and ')}, needed ${needed.join(', and ')}`);
}

/** @throws UsageError for an address that `parse` refuses. */
export function parseXdsFlag(address: string, parse: (text: string) => XdsAddress): XdsAddress {
  try {
    return parse(address);
  } catch (error) {
    throw error instanceof XdsAddressError ? new UsageError(`--xds-address: ${error.message}`) : error;
  }
}

/** For commands that read no cluster. */
export function checkSource(args: SourceArguments): void {
  if (servesCluster(args)) throw new UsageError('give --manifests DIR, a folder of Kubernetes manifests');
}

/** The options of the build that flags decide. */
export function buildOptionsFrom(
  args: IngressArguments & Partial<SourceArguments> & PortArguments,
  proxy: BuildOptions['proxy'],
): Omit<BuildOptions, 'generatedCertificate'> {
  return {
    ingressClass: args.ingressClass,
    controllerClass: args.controllerClass,
    ingressClassByName: args.ingressClassByName,
    watchIngressWithoutClass: args.watchIngressWithoutClass,
    // A folder need not hold the IngressClass; a cluster's absent class is not ours, as in ingress-nginx.
    classNameWithoutObjects: args.manifests === undefined || args.manifests.length > 0,
    annotationsPrefix: args.annotationsPrefix,
    proxy,
    ...(args.configmap !== undefined && { configMap: args.configmap }),
    ...(args.tcpServicesConfigmap !== undefined && { tcpServices: args.tcpServicesConfigmap }),
    ...(args.udpServicesConfigmap !== undefined && { udpServices: args.udpServicesConfigmap }),
    ...(args.defaultBackendService !== undefined && { defaultBackendService: args.defaultBackendService }),
    ...(args.defaultSslCertificate !== undefined && { defaultSslCertificate: args.defaultSslCertificate }),
    tlsOnDemand: args.tlsOnDemand,
    sslPassthrough: args.enableSslPassthrough,
    disableCatchAll: args.disableCatchAll,
    disableSvcExternalName: args.disableSvcExternalName,
    deepInspect: args.deepInspect,
    httpPort: args.httpPort,
    httpsPort: args.httpsPort,
    reservedPorts: reservedPorts(args),
    ...(args.http3 && { http3: { advertisedPort: args.http3AdvertisedPort ?? args.httpsPort } }),
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
