import type { Engine, Reader, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import { type CertificateName, type ClusterName, DEFAULT_HOST, type HostName } from '../model/proxy-model.ts';
import type { TlsPolicy } from '../model/tls-settings.ts';
import { covers } from './certificate.ts';
import { diagnose } from './diagnose.ts';
import type { FurtherName } from './further-names.ts';
import { wildcardOf } from './host.ts';
import { type HostIndex, ingressesOf } from './ingresses-by-host.ts';
import { tlsEntryNaming, tlsNamesEveryHost } from './lookup-by-host.ts';
import type { HostPassthrough } from './passthrough.ts';
import type { CertificateNames } from './secret-certificate.ts';
import type { IngressDecision, ServedIngress } from './served-ingress.ts';
import type { HostTlsPolicy } from './tls-policy.ts';

/** How a host is reached over https. */
export interface HostTls {
  /**
   * An Ingress of the host, or of the wildcard host that covers it, has `spec.tls`: plain requests are redirected, whatever became
   * of the certificate.
   */
  readonly tls: boolean;
  /** Absent for the default certificate. */
  readonly certificate?: CertificateName;
  /** Those of the host's Ingresses, sorted: certificates of other namespaces never answer for it. */
  readonly namespaces: readonly string[];
  /** How the host wants TLS spoken; absent for as everywhere. */
  readonly policy?: TlsPolicy;
  /** Its TLS goes to this cluster as it is. There is no certificate then, since nobody sees it. */
  readonly passthrough?: ClusterName;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Unit per host and further name, and one for the default server: that always has the default certificate, and its requests stay on plain HTTP,
 * since no certificate is there for the hosts that it answers.
 */
export function deriveHostTls(
  engine: Engine,
  {
    hosts,
    furtherNames,
    names,
    passthrough,
    policies,
  }: {
    readonly hosts: HostIndex;
    readonly furtherNames: Table<FurtherName>;
    readonly names: Table<CertificateNames>;
    readonly passthrough: Table<HostPassthrough>;
    readonly policies: Table<HostTlsPolicy>;
  },
): Table<HostTls> {
  const sources: CertificateSources = { names, covered: deriveCoveredNames(engine, hosts.servedIngresses, names) };
  const certificateOf = (host: HostName, ingresses: readonly ServedIngress[], read: Reader): HostTls => {
    const namespaces = [...new Set(ingresses.map(({ namespace }) => namespace))].toSorted();
    const decisive = host === DEFAULT_HOST ? undefined : firstWithTls(ingresses);
    if (decisive !== undefined) return { ...chooseCertificate(host, decisive, read, sources), namespaces };
    const wildcard = wildcardOf(host);
    const inherited = wildcard && firstWithTls(ingressesOf(wildcard, read, hosts));
    if (!wildcard || !inherited) return { tls: false, namespaces, diagnostics: [] };
    if (!namespaces.includes(inherited.namespace)) {
      return { tls: false, namespaces, diagnostics: reportForeign(host, wildcard, inherited, ingresses) };
    }
    return { ...chooseCertificate(wildcard, inherited, read, sources), namespaces, diagnostics: [] };
  };
  const ofHost = (host: HostName, read: Reader): HostTls => {
    const hostTls = certificateOf(host, ingressesOf(host, read, hosts), read);
    const target = read(passthrough, host)?.passthrough?.cluster.name;
    if (target !== undefined) return passedThrough(hostTls, target);
    const policy = read(policies, host)?.policy;
    return policy === undefined ? hostTls : { ...hostTls, policy };
  };
  return engine.derive<HostTls>('host-tls', [hosts.byHost, furtherNames], (name, read) => {
    if (read(hosts.byHost, name) !== undefined) return ofHost(name, read);
    const use = read(furtherNames, name)?.use;
    if (use === undefined) return undefined;
    if (use.kind === 'alias') return forOtherName(name, ofHost(use.of, read), read, names);
    // The proxy answers with the redirect by itself, whoever speaks TLS for the host.
    return forOtherName(name, certificateOf(use.of, ingressesOf(use.of, read, hosts), read), read, names);
  });
}

/** Whatever is wrong with a certificate that nobody sees is not worth a word. */
function passedThrough({ tls, namespaces }: HostTls, passthrough: ClusterName): HostTls {
  return { tls, namespaces, passthrough, diagnostics: [] };
}

/** Whoever asks for a host by another name gets its certificate only if that has the name too. */
function forOtherName(
  name: HostName,
  { certificate, ...hostTls }: HostTls,
  read: Reader,
  names: Table<CertificateNames>,
): HostTls {
  const fits = certificate !== undefined && covers((read(names, certificate) ?? NO_NAMES).dnsNames, name);
  return { ...hostTls, ...(fits && { certificate }), diagnostics: [] };
}

function firstWithTls(ingresses: readonly ServedIngress[]): ServedIngress | undefined {
  return ingresses.find(({ tls }) => tls.length > 0);
}

/** In ingress-nginx the host would have the certificate and the redirect of the wildcard host, whoever owns that. */
function reportForeign(
  host: HostName,
  wildcard: HostName,
  owner: ServedIngress,
  ingresses: readonly ServedIngress[],
): Diagnostic[] {
  const message = `host ${host} is covered by ${wildcard}, whose TLS belongs to Ingress ${owner.key}, in another namespace; without spec.tls of its own ${host} has the default certificate and no redirect to https`;
  return ingresses
    .slice(0, 1)
    .map(({ key }) => diagnose(objectRef('Ingress', key), 'warning', 'CertificateForeign', message, 'spec.tls'));
}

/**
 * The first Ingress of a host with `spec.tls` decides, even when its entries do not name the host: by the entry that names the
 * host, else by any of its Secrets that covers it, else the default certificate is served.
 */
function chooseCertificate(
  host: HostName,
  ingress: ServedIngress,
  read: Reader,
  { names, covered }: CertificateSources,
): Pick<HostTls, 'tls' | 'certificate' | 'diagnostics'> {
  const naming = tlsEntryNaming(ingress, host);
  const covering = naming ?? entryCovering(host, read(covered, ingress.key) ?? NOTHING_COVERED);
  const wanted = covering === undefined ? [...ingress.tls.slice(0, MAX_REPORTED).keys()] : [covering];
  const candidates = wanted.flatMap((index) => {
    const secret = secretOf(ingress, index);
    return secret === undefined ? [] : [{ secret, index, names: read(names, secret) ?? NO_NAMES }];
  });
  const certificate = candidates.find((candidate) => covers(candidate.names.dnsNames, host))?.secret;
  if (certificate !== undefined) return { tls: true, certificate, diagnostics: [] };
  return { tls: true, diagnostics: candidates.flatMap((candidate) => reportUnfit(host, ingress, candidate)) };
}

/** An Ingress may have thousands of hosts and as many Secrets: not each pair is worth a message. */
const MAX_REPORTED = 3;

interface CertificateSources {
  readonly names: Table<CertificateNames>;
  readonly covered: Table<CoveredNames>;
}

/** By DNS name, the first entry in `spec.tls` whose certificate carries it. */
type CoveredNames = Readonly<Record<string, number>>;
const NOTHING_COVERED: CoveredNames = {};

/** Unit per Ingress with hosts that no entry of its `spec.tls` names; the others need none. */
function deriveCoveredNames(
  engine: Engine,
  servedIngresses: Table<IngressDecision>,
  names: Table<CertificateNames>,
): Table<CoveredNames> {
  return engine.derive<CoveredNames>('covered-names', servedIngresses, (key, read) => {
    const ingress = read(servedIngresses, key)?.served;
    if (ingress === undefined || ingress.tls.length === 0 || tlsNamesEveryHost(ingress)) return undefined;
    const entries = ingress.tls.flatMap((_, index) => {
      const secret = secretOf(ingress, index);
      const dnsNames = secret === undefined ? [] : (read(names, secret)?.dnsNames ?? []);
      return dnsNames.map((name): [string, number] => [name, index]);
    });
    return Object.fromEntries(entries.toReversed());
  });
}

function entryCovering(host: HostName, covered: CoveredNames): number | undefined {
  const found = [host, `*${host.slice(host.indexOf('.'))}`].flatMap((name) =>
    Object.hasOwn(covered, name) ? (covered[name] ?? []) : [],
  );
  return found.length === 0 ? undefined : Math.min(...found);
}

function secretOf({ namespace, tls }: ServedIngress, entry: number): ObjectKey | undefined {
  const secretName = tls[entry]?.secretName;
  return secretName ? `${namespace}/${secretName}` : undefined;
}

interface Candidate {
  readonly secret: ObjectKey;
  /** Of its entry in `spec.tls`. */
  readonly index: number;
  readonly names: CertificateNames;
}

const NO_NAMES: CertificateNames = { usable: false, missing: true, dnsNames: [] };

/** Why a Secret does not give the host its certificate. A broken Secret is reported once, at the Secret. */
function reportUnfit(host: HostName, ingress: ServedIngress, { secret, index, names }: Candidate): Diagnostic[] {
  const ref = objectRef('Ingress', ingress.key);
  const field = `spec.tls[${index}].secretName`;
  if (names.missing) {
    const message = `Secret ${secret} does not exist; the default certificate is served`;
    return [diagnose(ref, 'warning', 'SecretNotFound', message, field)];
  }
  if (!names.usable) return [];
  const covered = listed(names.dnsNames) || 'no DNS name';
  const message = `the certificate in Secret ${secret} covers ${covered}, not ${host}; the default certificate is served`;
  return [diagnose(ref, 'warning', 'CertificateHostMismatch', message, field)];
}

const MAX_LISTED = 10;

function listed(names: readonly string[]): string {
  const rest = names.length - MAX_LISTED;
  return rest > 0 ? `${names.slice(0, MAX_LISTED).join(', ')} and ${rest} more` : names.join(', ');
}
