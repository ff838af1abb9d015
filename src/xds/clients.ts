/** Who may connect with a certificate, and whose private keys it may have. */
import { X509Certificate } from 'node:crypto';

/** A client that is let in. */
export interface ClientRule {
  /** A DNS name or URI of its certificate, or its common name where there are none; `*` is every name without a rule of its own. */
  readonly name: string;
  /** The namespaces whose private keys it may have; absent: all. */
  readonly namespaces?: readonly string[];
}

/** A client whose certificate was verified and whose name is allowed. */
export interface Client {
  readonly name: string;
  /** Absent: it may have the keys of all namespaces. */
  readonly namespaces?: ReadonlySet<string>;
}

const ANY = '*';

/**
 * Finds the rules of a client. Where several of its names have one, they add up.
 * @param names as `namesOf` returns them.
 * @returns `undefined` for a client that may not connect.
 */
export function admit(rules: readonly ClientRule[], names: readonly string[]): Client | undefined {
  if (names.length === 0) return undefined;
  const own = rules.filter(({ name }) => name !== ANY && names.includes(name));
  const granted = own.length > 0 ? own : rules.filter(({ name }) => name === ANY);
  const [first] = granted;
  if (first === undefined) return undefined;
  const name = first.name === ANY ? names[0]! : first.name;
  if (granted.some(({ namespaces }) => namespaces === undefined)) return { name };
  return { name, namespaces: new Set(granted.flatMap(({ namespaces = [] }) => namespaces)) };
}

/**
 * The names of a certificate: its DNS names and URIs, else its common name. Empty where there are none, or where they cannot be
 * told for sure.
 * @param der the certificate, which must have been verified already.
 */
export function namesOf(der: Uint8Array): readonly string[] {
  const certificate = new X509Certificate(der);
  const { subjectAltName } = certificate;
  const alternatives = subjectAltName === undefined ? [] : parseAlternatives(subjectAltName);
  if (alternatives === undefined) return [];
  const names = alternatives.flatMap(({ kind, value }) => (kind === 'DNS' || kind === 'URI' ? [value] : []));
  if (names.length > 0) return names;
  const commonName: unknown = certificate.toLegacyObject().subject?.CN;
  return typeof commonName === 'string' && commonName !== '' ? [commonName] : [];
}

/**
 * Node gives the alternatives as text: `DNS:a.example, URI:"a, \"b\""`; values that could be misread are quoted as in JSON.
 * @returns `undefined` for text of another form: then no name may be trusted.
 */
function parseAlternatives(text: string): { kind: string; value: string }[] | undefined {
  const entry = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;
  const found: { kind: string; value: string }[] = [];
  while (entry.lastIndex < text.length) {
    const [, kind, value] = entry.exec(text) ?? [];
    if (kind === undefined || value === undefined) return undefined;
    found.push({ kind, value: value.startsWith('"') ? (JSON.parse(value) as string) : value });
  }
  return found;
}
