import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { Secret } from '../cluster/objects.ts';
import { type Certificate, type CertificateName, PrivateKey } from '../model/proxy-model.ts';
import { findUnfitness, isUnusual } from './certificate-fitness.ts';
import { isWellFormed } from './certificate-form.ts';
import { isDnsName } from './host.ts';

export type ParsedCertificate = { readonly certificate: Certificate } | { readonly reason: string };

const CERTIFICATE_BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const KEY_BLOCK = /-----BEGIN ((?:[A-Z]+ )?PRIVATE KEY)-----[\s\S]+?-----END (?:[A-Z]+ )?PRIVATE KEY-----/;
/** How a key is written, by the label of its block; else PKCS#8. */
const KEY_FORMS: ReadonlyMap<string | undefined, 'pkcs1' | 'sec1'> = new Map([
  ['RSA PRIVATE KEY', 'pkcs1'],
  ['EC PRIVATE KEY', 'sec1'],
]);

/** Far above the largest key in use. Looking for a PEM block takes time that grows with the square of the text. */
const MAX_KEY_BYTES = 64 * 1024;

/** The pair in `tls.crt` and `tls.key` of a Secret (of any type), or why Envoy could not serve it. */
export function parseTlsSecret(name: CertificateName, { data }: Secret): ParsedCertificate {
  const chain = data['tls.crt'];
  const key = data['tls.key'];
  if (chain === undefined || chain.length === 0) return { reason: 'has no tls.crt' };
  if (key === undefined || key.length === 0) return { reason: 'has no tls.key' };
  if (key.length > MAX_KEY_BYTES) return { reason: `has a tls.key of ${key.length} bytes, more than any key has` };
  return parsePair(name, chain, key);
}

/**
 * A certificate from PEM texts, in canonical form: what stands around the blocks is dropped. It is a view of the texts where they
 * hold that form, so that they are kept once; they must not change. Messages never show the key.
 */
export function parsePair(name: CertificateName, chainPem: Uint8Array, keyPem: Uint8Array): ParsedCertificate {
  const chain = parseChain(textOf(chainPem));
  if (typeof chain === 'string') return { reason: chain };
  const parsedKey = parseKey(textOf(keyPem));
  if (typeof parsedKey === 'string') return { reason: parsedKey };
  const { key, pem: canonicalKey } = parsedKey;
  const leaf = chain[0]!;
  if (!leaf.checkPrivateKey(key)) return { reason: 'holds a key that does not belong to its first certificate' };
  const unfitness = findUnfitness(leaf, key);
  if (unfitness !== undefined) return { reason: unfitness };
  return {
    certificate: {
      name,
      chain: within(chainPem, chain.map((certificate) => certificate.toString()).join('')),
      key: new PrivateKey(within(keyPem, canonicalKey)),
      ...(isUnusual(key) && { unusualKey: true }),
      dnsNames: dnsNamesOf(leaf),
      notAfter: leaf.validToDate.getTime(),
    },
  };
}

function textOf(bytes: Uint8Array): string {
  return bufferOf(bytes).toString('latin1');
}

/** A view of the bytes that say `text`, or, where there are none, bytes of its own. */
function within(bytes: Uint8Array, text: string): Uint8Array {
  const start = bufferOf(bytes).indexOf(text, 0, 'latin1');
  // Not a part of the pool that small buffers share: this is kept for long.
  return start < 0 ? new Uint8Array(Buffer.from(text, 'latin1')) : bytes.subarray(start, start + text.length);
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** The certificates of authorities in `ca.crt` of a Secret, in canonical form, or why they cannot be used. */
export function parseAuthorities(pem: Uint8Array): { readonly authorities: Uint8Array } | { readonly reason: string } {
  const parsed = parseChain(textOf(pem), 'ca.crt');
  if (typeof parsed === 'string') return { reason: parsed };
  return { authorities: within(pem, parsed.map((certificate) => certificate.toString()).join('')) };
}

function parseChain(pem: string, field = 'tls.crt'): X509Certificate[] | string {
  const blocks = pem.match(CERTIFICATE_BLOCK) ?? [];
  if (blocks.length === 0) return `holds no certificate in ${field}`;
  // A torn block must not shorten the chain in silence.
  if (blocks.length !== pem.split('-----BEGIN CERTIFICATE-----').length - 1)
    return `holds a broken certificate in ${field}`;
  const chain: X509Certificate[] = [];
  for (const [index, block] of blocks.entries()) {
    const which = `${field} (number ${index + 1} of ${blocks.length})`;
    try {
      chain.push(new X509Certificate(block));
    } catch {
      return `holds a broken certificate in ${which}`;
    }
    if (!isWellFormed(chain[index]!.raw))
      return `holds a certificate in ${which} whose encoding breaks the rules of X.509`;
  }
  return chain;
}

interface ParsedKey {
  readonly key: KeyObject;
  /** Canonical, in the form that it was written in. */
  readonly pem: string;
}

function parseKey(pem: string): ParsedKey | string {
  const [block, label] = pem.match(KEY_BLOCK) ?? [];
  if (block === undefined) return 'holds no private key in tls.key';
  if (block.includes('ENCRYPTED')) return 'holds an encrypted private key, whose password nobody can give';
  try {
    const key = createPrivateKey(block);
    return { key, pem: key.export({ type: KEY_FORMS.get(label) ?? 'pkcs8', format: 'pem' }).toString() };
  } catch {
    return 'holds a broken private key in tls.key';
  }
}

/** Whether a certificate with these names answers for a host: by the name itself, or a wildcard for its first label. */
export function covers(dnsNames: readonly string[], host: string): boolean {
  return dnsNames.includes(host) || dnsNames.includes(`*${host.slice(host.indexOf('.'))}`);
}

/** One entry of a subject alternative name as Node prints it; unusual values are quoted. */
const ALTERNATIVE_NAME = /([^:,]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/g;

/** The DNS names; the common name counts only where there is no subject alternative name. Sorted, without duplicates. */
function dnsNamesOf({ subjectAltName, subject }: X509Certificate): string[] {
  const names =
    subjectAltName === undefined
      ? subject.split('\n').flatMap((line) => (line.startsWith('CN=') ? line.slice('CN='.length) : []))
      : [...subjectAltName.matchAll(ALTERNATIVE_NAME)].flatMap(([, kind, value]) =>
          kind === 'DNS' ? (value ?? []) : [],
        );
  const usable = names.map((name) => name.toLowerCase()).filter((name) => isDnsName(name.replace(/^\*\./, '')));
  return [...new Set(usable)].toSorted();
}
