/**
 * Build: from the objects of the cluster to the neutral model. This file only wires the units, in the order of their ranks; each
 * idea has a file of its own.
 */
import type { ClusterState, MemoryEntry } from '../cluster/cluster-state.ts';
import type { Engine, Key, Pass, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, type ObjectRef, objectRef } from '../model/object-ref.ts';
import {
  type Certificate,
  DEFAULT_CERTIFICATE,
  type Listener,
  PrivateKey,
  type ProxyModel,
} from '../model/proxy-model.ts';
import type { Http3Settings } from '../model/settings.ts';
import { type AcceptOptions, acceptedMemory, deriveAcceptedIngresses } from './accepted.ts';
import { deriveBackendSecrets } from './backend-secret.ts';
import { deriveLonelyCanaries } from './canary.ts';
import { parsePair } from './certificate.ts';
import { deriveCertificateExpiry } from './certificate-expiry.ts';
import { deriveClusters, deriveEndpointsReferences } from './cluster.ts';
import { deriveDefaultBackend } from './default-backend.ts';
import { diagnose } from './diagnose.ts';
import { deriveDefaultEffects } from './effects.ts';
import { deriveEndpoints, endpointsReader } from './endpoints.ts';
import { externalNameReader } from './external-name.ts';
import { deriveFurtherNames } from './further-names.ts';
import { deriveGlobalHeaders } from './global-headers.ts';
import {
  configMapMemory,
  deriveAcceptancePolicy,
  deriveConfigMapState,
  deriveGlobalOptions,
  GLOBAL,
  type GlobalOptions,
} from './global-options.ts';
import { deriveHeld } from './held.ts';
import { indexByHost } from './ingresses-by-host.ts';
import { derivePassthrough } from './passthrough.ts';
import { passthroughProblem } from './passthrough-options.ts';
import { deriveProxySettings } from './proxy-settings.ts';
import {
  certificateMemory,
  deriveCertificateNames,
  deriveSecretCertificates,
  type SecretCertificate,
} from './secret-certificate.ts';
import { deriveServedIngresses, type IngressDecision, type IngressOptions } from './served-ingress.ts';
import { ALL_NAMES, deriveServerNames, mergeServerNames, type ServerNames } from './server-names.ts';
import { deriveAvailability } from './stand-in.ts';
import { deriveStapleReport, withStaple } from './staple.ts';
import { deriveStreamListeners } from './stream-listener.ts';
import { deriveStreamServices, type StreamOptions } from './stream-service.ts';
import { deriveHostTls, type HostTls } from './tls.ts';
import { deriveTlsPolicies } from './tls-policy.ts';
import { deriveVirtualHosts } from './virtual-host.ts';

export interface BuildOptions extends AcceptOptions, StreamOptions, IngressOptions {
  /** `--configmap` */
  readonly configMap?: ObjectKey;
  /** `--default-backend-service` */
  readonly defaultBackendService?: ObjectKey;
  /** `--disable-svc-external-name` */
  readonly disableSvcExternalName?: boolean;
  /** `--default-ssl-certificate` */
  readonly defaultSslCertificate?: ObjectKey;
  /** `--tls-on-demand` */
  readonly tlsOnDemand?: boolean;
  /** `--http3`; not together with `tlsOnDemand`. */
  readonly http3?: Http3Settings;
  /**
   * Where the proxy stands (label `topology.kubernetes.io/zone` of its node), with `--enable-topology-aware-routing`: Services that
   * ask for it are served by endpoints of this zone. Absent: by all.
   */
  readonly zone?: string;
  /** PEM; the default certificate where no usable Secret is named. Absent where nothing is served: one without content. */
  readonly generatedCertificate?: { readonly chain: string; readonly key: PrivateKey };
}

export interface Build {
  readonly model: ProxyModel;
  /** Every table whose values carry what users are told. */
  readonly diagnosticTables: readonly Table<{ readonly diagnostics: readonly Diagnostic[] }>[];
  /** Keyed by `namespace/name`: what became of each Ingress. */
  readonly servedIngresses: Table<IngressDecision>;
  /** Keyed by host: whether it has TLS, and with which certificate. */
  readonly hostTls: Table<HostTls>;
  /** The objects whose newest version is refused or broken, so that one of the past is served. */
  held(): readonly ObjectRef[];
  /** What to remember after a pass, `undefined` to forget; to be set in the memory of the state before the next pass. */
  memory(pass: Pass): Iterable<{ readonly key: Key; readonly value: MemoryEntry | undefined }>;
}

/** Adds the units to the engine; nothing runs before its next pass. Throws if the generated certificate is unusable. */
export function createBuild(engine: Engine, state: ClusterState, options: BuildOptions): Build {
  const { services, localEndpoints } = state;
  const { defaultSslCertificate } = options;
  const backends = {
    services,
    readExternalName: externalNameReader({ disabled: options.disableSvcExternalName ?? false }),
  };
  const globalOptions = deriveGlobalOptions(engine, state, options);
  const globalHeaders = deriveGlobalHeaders(engine, { ...state, globalOptions }, options);
  const policy = deriveAcceptancePolicy(engine, globalOptions);
  const acceptedIngresses = deriveAcceptedIngresses(engine, { ...state, policy }, options);
  const servedIngresses = deriveServedIngresses(engine, { ...state, acceptedIngresses, globalOptions }, options);
  const hosts = indexByHost(engine, servedIngresses);
  const certificates = deriveSecretCertificates(engine, { ...state, servedIngresses, defaultSslCertificate });
  const certificateExpiry = deriveCertificateExpiry(engine, state, certificates);
  const names = deriveCertificateNames(engine, certificates);
  const furtherNames = deriveFurtherNames(engine, hosts);
  const passthrough = derivePassthrough(engine, hosts, backends);
  const policies = deriveTlsPolicies(engine, hosts, passthrough);
  const hostTls = deriveHostTls(engine, { hosts, furtherNames, names, passthrough, policies });
  const defaultBackend = deriveDefaultBackend(engine, services, options.defaultBackendService);
  const defaultEffects = deriveDefaultEffects(engine, globalOptions, options.proxy);
  const lonelyCanaries = deriveLonelyCanaries(engine, hosts);
  const readEndpoints = endpointsReader(engine, { ...state, slices: state.endpointSlices }, options);
  const availability = deriveAvailability(engine, { servedIngresses, readEndpoints, ...backends });
  const virtualHosts = deriveVirtualHosts(engine, {
    hosts,
    hostTls,
    passthrough,
    globalOptions,
    defaultEffects,
    defaultBackend,
    furtherNames,
    availability,
    httpsPort: options.httpsPort,
    proxy: options.proxy,
    ...backends,
  });
  const streams = deriveStreamServices(engine, { configMaps: state.configMaps, ...backends }, options);
  const streamServices = streams.entries;
  const clusters = deriveClusters(engine, {
    globalOptions,
    virtualHosts,
    streamServices,
    localEndpoints,
    ...backends,
  });
  const references = deriveEndpointsReferences(engine, clusters);
  const endpoints = deriveEndpoints(engine, references, readEndpoints);
  const streamListeners = deriveStreamListeners(engine, { streamServices, clusters, endpoints });
  const serverNames = deriveServerNames(engine, hostTls, names, options.tlsOnDemand ?? false);
  const listeners = deriveListeners(engine, serverNames, globalOptions, options);
  const defaultCertificate = deriveDefaultCertificate(engine, certificates, options);
  const served = engine.derive<Certificate>('served-certificate', serverNames.usedCertificates, (name, read) => {
    const certificate =
      name === DEFAULT_CERTIFICATE
        ? read(defaultCertificate, DEFAULT_CERTIFICATE)?.certificate
        : read(certificates, name)?.certificate;
    return certificate && withStaple(certificate, read(state.staples, name));
  });
  return {
    model: {
      settings: deriveProxySettings(engine, { globalOptions, globalHeaders }, options),
      listeners,
      streamListeners: streamListeners.listeners,
      virtualHosts,
      clusters,
      endpoints,
      certificates: served,
      backendSecrets: deriveBackendSecrets(engine, clusters, state.secrets),
      onDemandNames: serverNames.onDemand,
    },
    diagnosticTables: [
      globalOptions,
      globalHeaders,
      acceptedIngresses,
      servedIngresses,
      certificates,
      certificateExpiry,
      deriveStapleReport(engine, state, defaultSslCertificate),
      furtherNames,
      passthrough,
      policies,
      hostTls,
      defaultBackend,
      lonelyCanaries,
      virtualHosts,
      streams.configMaps,
      streamServices,
      streamListeners.ports,
      endpoints,
      defaultCertificate,
    ],
    servedIngresses,
    hostTls,
    held: deriveHeld(engine, {
      ConfigMap: deriveConfigMapState(engine, globalOptions, options.configMap),
      Ingress: acceptedIngresses,
      Secret: certificates,
    }),
    memory: (pass) => [
      ...configMapMemory(pass, globalOptions, options.configMap),
      ...acceptedMemory(pass, acceptedIngresses),
      ...certificateMemory(pass, certificates),
    ],
  };
}

function deriveListeners(
  engine: Engine,
  { certificateNames, exceptions }: ServerNames,
  globalOptions: Table<GlobalOptions>,
  options: BuildOptions,
): Table<Listener> {
  const { httpPort, httpsPort, tlsOnDemand = false } = options;
  // A unit of its own, so that the ConfigMap reaches no listener otherwise.
  const passes = engine.derive<boolean>('passes-tls-through', [GLOBAL], (_, read) => {
    const { values } = read(globalOptions, GLOBAL) ?? {};
    return values && passthroughProblem(options, values) === undefined;
  });
  return engine.derive<Listener>('listener', ['http', 'https'], (name, read) => {
    if (name === 'http') return { name, port: httpPort, serverNames: [] };
    const serverNames = mergeServerNames(read(certificateNames, ALL_NAMES) ?? [], read(exceptions, ALL_NAMES) ?? []);
    const passesThrough = read(passes, GLOBAL) ?? false;
    return {
      name: 'https',
      port: httpsPort,
      serverNames,
      ...(tlsOnDemand && { onDemand: true }),
      ...(passesThrough && { passesThrough }),
    };
  });
}

function defaultPair(generated: BuildOptions['generatedCertificate']): { readonly certificate: Certificate } {
  if (generated === undefined) return { certificate: NO_CERTIFICATE };
  const parsed = parsePair(DEFAULT_CERTIFICATE, Buffer.from(generated.chain), generated.key.reveal());
  if ('reason' in parsed) throw new Error(`the generated certificate ${parsed.reason}`);
  return parsed;
}

const NO_CERTIFICATE: Certificate = {
  name: DEFAULT_CERTIFICATE,
  chain: new Uint8Array(),
  key: new PrivateKey(''),
  dnsNames: [],
  notAfter: Number.MAX_SAFE_INTEGER,
};

interface DefaultCertificate {
  readonly certificate: Certificate;
  readonly diagnostics: readonly Diagnostic[];
}

/** The pair in the flag's Secret, else the generated one. A broken Secret is reported at the Secret. */
function deriveDefaultCertificate(
  engine: Engine,
  certificates: Table<SecretCertificate>,
  { defaultSslCertificate, generatedCertificate }: BuildOptions,
): Table<DefaultCertificate> {
  const generated = defaultPair(generatedCertificate);
  return engine.derive<DefaultCertificate>('default-certificate', [DEFAULT_CERTIFICATE], (name, read) => {
    if (defaultSslCertificate === undefined) return { ...generated, diagnostics: [] };
    const { state, certificate } = read(certificates, defaultSslCertificate) ?? { state: 'missing' };
    if (certificate !== undefined) return { certificate: { ...certificate, name }, diagnostics: [] };
    if (state !== 'missing') return { ...generated, diagnostics: [] };
    const message = `Secret ${defaultSslCertificate} (--default-ssl-certificate) does not exist; a generated certificate is served`;
    const ref = objectRef('Secret', defaultSslCertificate);
    return { ...generated, diagnostics: [diagnose(ref, 'warning', 'SecretNotFound', message)] };
  });
}
