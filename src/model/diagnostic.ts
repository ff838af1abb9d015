import type { ObjectRef } from './object-ref.ts';

export type Severity = 'error' | 'warning' | 'info';

/**
 * What a user is told about an object: a value like any other, so that it can be compared, shown, and made into an Event.
 * `error`: something that was asked for is not served. `warning`: served, but not as written. `info`: worth knowing.
 */
export interface Diagnostic {
  readonly severity: Severity;
  /** Stable name in PascalCase, greppable and documented in docs/diagnostics.md: `ServiceNotFound`. */
  readonly code: DiagnosticCode;
  /** One sentence that names the value and the reason; the object and field stand beside it. */
  readonly message: string;
  /** Absent only for what is about no object (a file that does not parse). */
  readonly ref?: ObjectRef;
  /** Path inside the object: `spec.rules[0].http.paths[1].backend.service.name`. */
  readonly field?: string;
  /** What of the object has no effect at all. */
  readonly ignored?: Ignored;
  /** For objects read from files. Added where the Diagnostic is shown: positions are not part of a unit's value. */
  readonly source?: SourcePosition;
}

/** What has no effect, as a whole or on some of what it is about. */
export interface Ignored {
  /** Names without prefix; `all` of the object. */
  readonly annotations: readonly string[] | 'all';
  /** As part of a sentence. */
  readonly why: string;
  /** Hosts, names in `server-alias`, or fields of the paths of a canary, for which there is no effect; absent: for none there is. */
  readonly parts?: readonly string[];
}

/** `line` and `column` count from 1. */
export interface SourcePosition {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Every code with its meaning; `docs/diagnostics.md` is generated from it. */
export const diagnosticCodes = {
  // files
  FileUnreadable: 'A manifest file could not be read; its last good objects stay.',
  FileInvalid: 'A manifest file is not valid YAML or JSON; its last good objects stay.',
  OcspUnavailable:
    'The OCSP responder of a certificate says nothing that could be sent to clients; the certificate is served all the same.',
  ObjectInvalid: 'An object does not have the shape of its kind; its last good version stays.',
  ObjectDuplicate: 'The same object stands in two places; the first in path order counts.',
  FieldUnknown: 'A field that objects of this kind do not have, misspelt perhaps; it is ignored.',
  AddressTypeUnsupported: 'An EndpointSlice of names instead of addresses; it is ignored.',
  IngressApiVersionOld: 'An Ingress of a removed API version; the message shows the networking.k8s.io/v1 form.',
  // API server
  ApiServerUnavailable: 'The API server does not answer; what was read before stays in force.',
  ApiServerRefuses: 'The API server refuses to list or watch a kind; the message says what to grant.',
  // Ingress
  IngressesMissing: '`check` was given no Ingress at all, or none that is ours.',
  IngressClassForeign: 'The Ingress belongs to another class and is not served.',
  ConfigMapNotNamed:
    'A ConfigMap looks like that of the controller, and no `--configmap` names it, so it has no effect.',
  ValueNotText: 'A value of a ConfigMap is a number, or true or false, without quotes; it counts as text.',
  IngressClassMissing: 'The Ingress names no class, or one that does not exist, and is not served.',
  IngressRefused: 'The Ingress holds something for which it is refused as a whole; it is not served.',
  IngressHeld: 'A change of the Ingress is refused as a whole; the version before it stays in force.',
  IngressHostInvalid: 'A host that is no DNS name; its rule is not served.',
  IngressHostNormalized: 'A host in upper case or with a dot at its end; it is served as the name that it means.',
  IngressPathInvalid:
    'A path that is not absolute or holds characters that no request can carry; it is not served, and closed where it is to be protected.',
  PathPatternUnsupported:
    'A path is a regular expression that the proxy cannot follow; what begins like it answers 503.',
  PathTakenLiterally: 'A path looks like a regular expression, but no annotation makes it one; it stands for itself.',
  RegexModeInherited:
    'Another Ingress makes every path of the host a regular expression: any case, and all that begins like it. What a protected path says and then no longer matches stays protected, or is closed.',
  IngressFeatureUnsupported: 'A field that is not supported yet; what happens instead is said.',
  CanaryUnmatched:
    'A canary for a host and path that no other Ingress serves, or for its own Service; it takes no requests.',
  CanaryIgnores: 'Annotations of a canary that have no effect: its requests are treated as its primary says.',
  PathConflict: 'Another, older Ingress owns the same host and path, or what no path of the host takes.',
  AliasConflict:
    'A name in server-alias is the host of another Ingress, or an older one has it as an alias or redirects it; it stays there. Or another Ingress names the aliases of the host.',
  ProtectionUnavailable: 'Something that protects a backend cannot be honoured, so its paths answer 503.',
  // annotations
  AnnotationInvalid: 'The value of an annotation is not readable; the message says what holds instead.',
  AnnotationIgnored: 'An annotation without effect, since another one is missing or counts before it.',
  AnnotationDoubtful: 'An annotation counts as it is written, which is hardly what is meant.',
  AnnotationDenied: 'An annotation without which the paths must not be served is not usable; they answer 503.',
  AnnotationUnsupported: 'An annotation without effect; the message says why, and what to use instead.',
  AnnotationUnknown: 'No annotation of that name is known, misspelt perhaps; it is ignored.',
  // global options
  ConfigMapNotFound:
    'A ConfigMap that a flag names does not exist; what it would set is at its default, or not served.',
  ConfigMapKeyInvalid: 'The value of a key of the ConfigMap is not readable; the message says what holds instead.',
  ConfigMapKeyUnsupported: 'A key of the ConfigMap without effect; the message says why.',
  ConfigMapKeyUnknown: 'No key of that name is known in the ConfigMap, misspelt perhaps; it is ignored.',
  LogVariableMissing:
    'A variable of a log format of the ConfigMap that this proxy cannot say; it is written as missing.',
  // TCP and UDP services
  StreamEntryInvalid: 'An entry of a ConfigMap of TCP or UDP services that is not served, or not all of it.',
  // backends
  BackendInvalid: 'A backend that names no Service, or a resource; its path answers 503.',
  ServiceNotFound: 'The Service does not exist; its paths answer 503, its TCP and UDP ports are closed.',
  ServicePortNotFound: 'The Service has no such port; its paths answer 503, its TCP and UDP ports are closed.',
  ServiceWithoutEndpoints:
    'No endpoint of the Service is ready; its paths answer 503, its TCP and UDP ports are closed. The requests of a canary go to its primary.',
  ExternalNameInvalid:
    'The external name is no DNS name that may be resolved; paths answer 503, TCP and UDP ports are closed.',
  // TLS
  SecretNotFound: 'The TLS Secret does not exist; the default certificate is served.',
  SecretInvalid: 'The TLS Secret is not usable; the last good pair, else the default certificate, is served.',
  CertificateHostMismatch: 'The certificate does not cover the host; the default certificate is served.',
  CertificateForeign: 'The wildcard host that covers the host has TLS, but in another namespace; it is not used.',
  TlsWithoutHost: 'An Ingress with spec.tls whose rules name no host; its certificates are not used.',
  PassthroughUnavailable:
    'TLS of a host cannot be passed through to its backend; the proxy ends it, as for other hosts.',
  PassthroughIgnores: 'What has no effect on TLS that is passed through to a backend, or no effect at all.',
  CertificateExpired: 'The certificate has expired; it is served all the same.',
  CertificateExpiring: 'The certificate expires in less than ten days.',
  // scale
  RouteShardingRecommended: 'There are so many hosts that changes cost less with `--route-sharding`.',
  // publishing
  UnitFailed: 'A bug in ingress-xds: one part could not be computed. Everything else is served.',
  ResourceInvalid: 'A resource that Envoy would refuse was held back; its last good version stays.',
  ResourceRejected: 'Envoy refused a resource; its last good version stays in force there.',
} as const;

export type DiagnosticCode = keyof typeof diagnosticCodes;
