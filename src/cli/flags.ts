import type { Options } from 'yargs';
import type { BuildOptions } from '../ingress/build.ts';
import { parseListenAddress, type XdsAddress, XdsAddressError } from '../xds/address.ts';
import { type XdsTlsClientArguments, type XdsTlsServerArguments, xdsTlsClientFlags, xdsTlsFlags } from './xds-tls.ts';

/**
 * Every flag in one place; the commands choose theirs by group. Names are those of ingress-nginx where it has the flag.
 */
export const sourceFlags = {
  manifests: {
    type: 'string',
    array: true,
    requiresArg: true,
    describe: 'Folder of Kubernetes manifests to serve (*.yaml, *.yml, *.json below it); may be repeated',
  },
  endpoint: {
    type: 'string',
    array: true,
    requiresArg: true,
    describe: 'Where a Service lives on this machine: NAMESPACE/SERVICE:PORT=ADDRESS:PORT; may be repeated',
  },
} as const satisfies Record<string, Options>;

export const ingressFlags = {
  'ingress-class': {
    type: 'string',
    requiresArg: true,
    default: 'nginx',
    describe:
      'Value of the annotation kubernetes.io/ingress.class that is ours; also the class name for --ingress-class-by-name',
  },
  'controller-class': {
    type: 'string',
    requiresArg: true,
    default: 'k8s.io/ingress-nginx',
    describe: 'Value of spec.controller of the IngressClasses that are ours',
  },
  'ingress-class-by-name': {
    type: 'boolean',
    default: false,
    describe: 'Serve the IngressClass that is called like --ingress-class, whatever its controller',
  },
  'watch-ingress-without-class': {
    type: 'boolean',
    default: false,
    describe: 'Serve Ingresses that name no class at all',
  },
  'annotations-prefix': {
    type: 'string',
    requiresArg: true,
    default: 'nginx.ingress.kubernetes.io',
    describe: 'Prefix of the annotations that configure an Ingress',
  },
  configmap: {
    type: 'string',
    requiresArg: true,
    describe: 'NAMESPACE/NAME of the ConfigMap with the global options',
  },
  'default-backend-service': {
    type: 'string',
    requiresArg: true,
    describe: 'NAMESPACE/NAME of the Service that answers what no rule matches; without it 404',
  },
  'default-ssl-certificate': {
    type: 'string',
    requiresArg: true,
    describe:
      'NAMESPACE/NAME of the TLS Secret for hosts without a certificate of their own; without it a generated one',
  },
  'tls-on-demand': {
    type: 'boolean',
    default: false,
    describe:
      'Let Envoy look up certificates for single hosts when they are asked for; for more than 200 certificates. Server names that nobody claims are then refused, and TLS sessions are not resumed',
  },
  'disable-catch-all': {
    type: 'boolean',
    default: false,
    describe: 'Ignore Ingresses that have spec.defaultBackend',
  },
  'route-sharding': {
    type: 'boolean',
    default: false,
    describe:
      'Divide the route table, so that a changed host costs Envoy little, however many there are; for more than 1,000 hosts',
  },
  'disable-svc-external-name': {
    type: 'boolean',
    default: false,
    describe: 'Resolve no Service of type ExternalName: its paths answer 503',
  },
  'access-log': {
    type: 'boolean',
    default: true,
    describe: "Write a line for each request to Envoy's standard output, in the format of ingress-nginx",
  },
  'deep-inspect': {
    type: 'boolean',
    default: true,
    describe: 'Refuse Ingresses with dangerous text in hosts, paths or tls, as ingress-nginx does',
  },
  'http-port': { type: 'number', requiresArg: true, default: 80, describe: 'Port for HTTP' },
  'https-port': { type: 'number', requiresArg: true, default: 443, describe: 'Port for HTTPS' },
} as const satisfies Record<string, Options>;

export const controlPlaneFlags = {
  echo: {
    type: 'boolean',
    default: false,
    describe:
      'Answer for every Service without endpoints with a built-in backend that shows what the Service would receive',
  },
  'healthz-host': {
    type: 'string',
    requiresArg: true,
    describe: 'Address for health checks and metrics; without it every address',
  },
  'healthz-port': {
    type: 'number',
    requiresArg: true,
    default: 10254,
    describe: 'Port for /healthz, /readyz and /metrics; 0 takes a free one',
  },
  'health-check-path': {
    type: 'string',
    requiresArg: true,
    default: '/healthz',
    describe: 'Path of the health check on --healthz-port',
  },
  'debug-socket': {
    type: 'string',
    requiresArg: true,
    describe: 'Unix socket for ingress-xds inspect; without it run makes one in its private folder, and serve none',
  },
  'log-format': { choices: ['text', 'json'] as const, default: 'text', requiresArg: true, describe: 'Form of the log' },
  v: {
    type: 'number',
    alias: 'verbosity',
    requiresArg: true,
    default: 2,
    describe: 'Log level as a number: 0 errors, 1 warnings, 2 information, 3 and more debugging',
  },
} as const satisfies Record<string, Options>;

const envoyFlags = {
  'envoy-path': {
    type: 'string',
    requiresArg: true,
    describe: 'Envoy to run; without it $ENVOY_PATH, PATH, or one that is fetched and kept in the cache folder',
  },
  'envoy-concurrency': {
    type: 'number',
    requiresArg: true,
    describe: 'Worker threads of Envoy; without it one per CPU',
  },
  'shutdown-grace-period': {
    type: 'number',
    requiresArg: true,
    describe: 'Seconds to keep accepting connections after SIGTERM, before the drain',
    default: 0,
  },
  'drain-timeout': {
    type: 'number',
    requiresArg: true,
    describe: 'Seconds to wait for open connections when ending; without it 240, or 5 on a terminal',
  },
} as const satisfies Record<string, Options>;

export const runFlags = { ...controlPlaneFlags, ...envoyFlags } as const satisfies Record<string, Options>;

export const serveFlags = {
  'xds-address': {
    type: 'string',
    array: true,
    requiresArg: true,
    default: ['127.0.0.1:18000'],
    describe:
      'Where Envoys connect to: unix:PATH, or HOST:PORT, which off loopback needs --xds-certificate; may be repeated',
  },
  'xds-insecure': {
    type: 'boolean',
    default: false,
    describe: 'Send private keys also over TCP, where every process of this machine can read them',
  },
  ...xdsTlsFlags,
} as const satisfies Record<string, Options>;

export const inspectFlags = {
  'debug-socket': {
    type: 'string',
    requiresArg: true,
    describe: 'Unix socket of the control plane; without it that of the one run of this user on this machine',
  },
  output: { choices: ['yaml', 'json'] as const, default: 'yaml', requiresArg: true, describe: 'Form of the output' },
} as const satisfies Record<string, Options>;

export const bootstrapFlags = {
  role: {
    choices: ['gateway', 'sidecar'] as const,
    default: 'gateway',
    requiresArg: true,
    describe: 'gateway: one of many proxies; sidecar: the proxy beside a control plane, in the same pod',
  },
  'xds-address': {
    type: 'string',
    requiresArg: true,
    describe:
      'Where the control plane listens: unix:PATH or HOST:PORT; without it 127.0.0.1:18000, of a sidecar unix:/run/ingress-xds/xds.sock',
  },
  'node-id': {
    type: 'string',
    requiresArg: true,
    describe: 'Name of the proxy; without it $POD_NAME, or the name of this machine',
  },
  'node-cluster': {
    type: 'string',
    requiresArg: true,
    default: 'ingress-xds',
    describe: 'Name of the group that the proxy belongs to',
  },
  'admin-socket': {
    type: 'string',
    requiresArg: true,
    default: 'envoy-admin.sock',
    describe: "Unix socket of Envoy's admin interface; a relative path begins where Envoy is started",
  },
  ...xdsTlsClientFlags,
  output: { choices: ['yaml', 'json'] as const, default: 'yaml', requiresArg: true, describe: 'Form of the output' },
} as const satisfies Record<string, Options>;

export interface SourceArguments {
  readonly manifests: readonly string[];
  readonly endpoint: readonly string[];
}

export interface IngressArguments {
  readonly ingressClass: string;
  readonly controllerClass: string;
  readonly ingressClassByName: boolean;
  readonly watchIngressWithoutClass: boolean;
  readonly annotationsPrefix: string;
  readonly configmap?: string;
  readonly defaultBackendService?: string;
  readonly defaultSslCertificate?: string;
  readonly tlsOnDemand: boolean;
  readonly disableCatchAll: boolean;
  readonly routeSharding: boolean;
  readonly disableSvcExternalName: boolean;
  readonly accessLog: boolean;
  readonly deepInspect: boolean;
  readonly httpPort: number;
  readonly httpsPort: number;
}

export interface ControlPlaneArguments extends SourceArguments, IngressArguments {
  readonly echo: boolean;
  readonly debugSocket?: string;
  readonly healthzHost?: string;
  readonly healthzPort: number;
  readonly healthCheckPath: string;
  readonly logFormat: 'text' | 'json';
  readonly v: number;
}

export interface RunArguments extends ControlPlaneArguments {
  readonly envoyPath?: string;
  readonly envoyConcurrency?: number;
  readonly shutdownGracePeriod: number;
  readonly drainTimeout?: number;
}

export interface ServeArguments extends ControlPlaneArguments, XdsTlsServerArguments {
  readonly xdsAddress: readonly string[];
  readonly xdsInsecure: boolean;
}

export interface InspectArguments {
  readonly what: 'resources' | 'streams';
  readonly type?: string;
  readonly name?: string;
  readonly debugSocket?: string;
  readonly output: 'yaml' | 'json';
}

export interface BootstrapArguments extends XdsTlsClientArguments {
  readonly role: 'gateway' | 'sidecar';
  readonly xdsAddress?: string;
  readonly nodeId?: string;
  readonly nodeCluster: string;
  readonly adminSocket: string;
  readonly output: 'yaml' | 'json';
}

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
