import type { Ingress, IngressBackend, IngressTls } from '../cluster/objects.ts';
import type { Engine, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectKey, objectRef } from '../model/object-ref.ts';
import { DEFAULT_HOST, type HostName, type PathMatch } from '../model/proxy-model.ts';
import type { AcceptedIngress, AcceptOptions } from './accepted.ts';
import { contentOf, parseBool } from './annotation.ts';
import { diagnose, quote } from './diagnose.ts';
import { parseHost } from './host.ts';
import { parsePath } from './path.ts';
import { type Protection, protectiveAnnotations } from './protective.ts';

export type IngressOptions = Pick<AcceptOptions, 'annotationsPrefix'>;

/** Switches whose `false` asks for what happens anyway. */
const OFF_BY_DEFAULT: ReadonlySet<string> = new Set([
  'canary',
  'enable-modsecurity',
  'enable-owasp-core-rules',
  'force-ssl-redirect',
  'use-regex',
]);

/** An Ingress as it is to be served: of our class, with hosts and paths that requests can carry. */
export interface ServedIngress {
  readonly key: ObjectKey;
  readonly namespace: string;
  /** Seconds since 1970. */
  readonly creationTimestamp: number;
  readonly rules: readonly ServedRule[];
  readonly defaultBackend?: IngressBackend;
  /** It has no rules, only a default backend: it answers every host that nobody claims. */
  readonly catchAll: boolean;
  readonly tls: readonly IngressTls[];
  readonly protections: readonly Protection[];
  /** Its paths are meant as regular expressions, which turns the whole host to regular expressions in ingress-nginx. */
  readonly regex: boolean;
}

export interface ServedRule {
  readonly host: HostName;
  /** `spec.rules[0]` */
  readonly field: string;
  readonly paths: readonly ServedPath[];
}

export interface ServedPath {
  readonly match: PathMatch;
  /** `spec.rules[0].http.paths[0]` */
  readonly field: string;
  readonly backend: IngressBackend;
}

/** What became of an Ingress. */
export interface IngressDecision {
  /** Absent when no version of the Ingress is accepted; its diagnostics stand there. */
  readonly served?: ServedIngress;
  readonly diagnostics: readonly Diagnostic[];
}

/** Older Ingresses come first; of equal age, in reverse order of `namespace/name`, as ingress-nginx sorts them. */
export function compareAge(a: ServedIngress, b: ServedIngress): number {
  return a.creationTimestamp - b.creationTimestamp || (a.key < b.key ? 1 : -1);
}

/** The hosts that an Ingress speaks about, each once. */
export function hostsOf(served: ServedIngress): Set<HostName> {
  return new Set(served.catchAll ? [DEFAULT_HOST] : served.rules.map(({ host }) => host));
}

/** Unit per Ingress. */
export function deriveServedIngresses(
  engine: Engine,
  accepted: Table<AcceptedIngress>,
  options: IngressOptions,
): Table<IngressDecision> {
  return engine.derive<IngressDecision>('served-ingress', accepted, (key, read) => {
    const version = read(accepted, key);
    if (version?.ingress === undefined) return { diagnostics: [] };
    return serve(version.ingress, version.missingProtections, options);
  });
}

/** `missing`: what a newer, refused version protects; it closes the paths as what is written here and cannot be honoured. */
function serve(ingress: Ingress, missing: readonly Protection[], options: IngressOptions): IngressDecision {
  const { annotations, defaultBackend, tls, namespace, creationTimestamp } = ingress;
  const { annotationsPrefix: prefix } = options;
  const diagnostics: Diagnostic[] = [];
  const protections = protectiveAnnotations(annotations, prefix);
  const rules = serveRules(ingress, diagnostics);
  reportAnnotations(ingress, prefix, protections, diagnostics);
  diagnostics.push(...reportUnusedTls(ingress, rules));
  const served: ServedIngress = {
    key: objectKey(ingress),
    namespace,
    creationTimestamp,
    rules,
    ...(defaultBackend === undefined ? {} : { defaultBackend }),
    catchAll: ingress.rules.length === 0 && defaultBackend !== undefined,
    tls,
    protections: [...protections, ...missing],
    regex: isOn(ingress, `${prefix}/use-regex`) || contentOf(annotations, `${prefix}/rewrite-target`) !== undefined,
  };
  return { served, diagnostics };
}

function serveRules(ingress: Ingress, diagnostics: Diagnostic[]): ServedRule[] {
  const ref = objectRef('Ingress', objectKey(ingress));
  return ingress.rules.flatMap((rule, index) => {
    const field = `spec.rules[${index}]`;
    const { host: written = '' } = rule;
    const parsed = parseHost(written);
    if ('reason' in parsed) {
      const message = `host ${quote(written)} ${parsed.reason}; the rule is not served`;
      diagnostics.push(diagnose(ref, 'error', 'IngressHostInvalid', message, `${field}.host`));
      return [];
    }
    if (written !== '' && written !== parsed.host) {
      const message = `host ${quote(written)} is served as ${parsed.host}; Kubernetes takes lower-case names without a dot at the end`;
      diagnostics.push(diagnose(ref, 'warning', 'IngressHostNormalized', message, `${field}.host`));
    }
    return [{ host: parsed.host, field, paths: servePaths(ingress, index, diagnostics) }];
  });
}

function servePaths(ingress: Ingress, rule: number, diagnostics: Diagnostic[]): ServedPath[] {
  const ref = objectRef('Ingress', objectKey(ingress));
  return (ingress.rules[rule]?.paths ?? []).flatMap(({ path, pathType, backend }, index) => {
    const field = `spec.rules[${rule}].http.paths[${index}]`;
    const parsed = parsePath(path, pathType);
    if ('match' in parsed) return [{ match: parsed.match, field, backend }];
    const message = `path ${quote(path ?? '')} ${parsed.reason}; it is not served`;
    diagnostics.push(diagnose(ref, 'error', 'IngressPathInvalid', message, `${field}.path`));
    return [];
  });
}

/** Why `spec.tls` of an Ingress does nothing: the default certificate answers where no host is named. */
function reportUnusedTls(ingress: Ingress, rules: readonly ServedRule[]): Diagnostic[] {
  if (ingress.tls.length === 0 || rules.some(({ host }) => host !== DEFAULT_HOST)) return [];
  const message =
    'no rule that is served names a host, so spec.tls is without effect: the default certificate answers, and plain HTTP is not redirected';
  return [diagnose(objectRef('Ingress', objectKey(ingress)), 'warning', 'TlsWithoutHost', message, 'spec.tls')];
}

/** With these ingress-nginx takes the paths of the host for regular expressions. */
const REGEX: ReadonlySet<string> = new Set(['use-regex', 'rewrite-target']);

function reportAnnotations(
  ingress: Ingress,
  prefix: string,
  protections: readonly Protection[],
  diagnostics: Diagnostic[],
): void {
  const ref = objectRef('Ingress', objectKey(ingress));
  const protective = protections.map(({ key }) => key);
  if (protective.length > 0) {
    const message = `${protective.join(', ')}: not supported yet; what it protects answers 503`;
    diagnostics.push(diagnose(ref, 'error', 'ProtectionUnavailable', message, 'metadata.annotations'));
  }
  const others = Object.entries(ingress.annotations)
    .filter(([key, value]) => key.startsWith(`${prefix}/`) && value.trim() !== '' && !protective.includes(key))
    .filter(([key, value]) => !(OFF_BY_DEFAULT.has(key.slice(prefix.length + 1)) && parseBool(value.trim()) === false))
    .map(([key]) => key)
    .toSorted();
  if (others.length > 0) {
    const literally = others.some((key) => REGEX.has(key.slice(prefix.length + 1)))
      ? '; paths are taken literally'
      : '';
    const message = `${others.join(', ')}: not supported yet and without effect${literally}`;
    diagnostics.push(diagnose(ref, 'warning', 'IngressFeatureUnsupported', message, 'metadata.annotations'));
  }
}

function isOn(ingress: Ingress, key: string): boolean {
  const content = contentOf(ingress.annotations, key);
  return content !== undefined && parseBool(content) === true;
}
