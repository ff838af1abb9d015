import type { KeyObject, X509Certificate } from 'node:crypto';
import { type Element, elementsOf, strictElementsOf } from '../der.ts';

const MIN_RSA_BITS = 2048;
/** What Envoy's TLS library takes. */
const MAX_RSA_BITS = 16_384;
const MAX_EXPONENT_BITS = 33;
/** The curves that Envoy 1.40 accepts in a server certificate: P-256, P-384, P-521. It accepts Ed25519 too, but not RSA-PSS. */
const CURVES: ReadonlySet<string | undefined> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);

/**
 * Why Envoy could not serve a certificate with its key, although both are valid and belong together; to be said of a Secret.
 * `undefined` if it can. Envoy's TLS library is stricter than Node's.
 */
export function findUnfitness(leaf: X509Certificate, key: KeyObject): string | undefined {
  const extensions = extensionsOf(leaf);
  if (extensions.has(TLS_FEATURE))
    return 'holds a certificate that demands OCSP stapling (must-staple), which is not supported';
  if (!saysWhose(leaf, extensions.get(SUBJECT_ALTERNATIVE_NAME)))
    return 'holds a certificate without a name: neither a common name nor a DNS name, address or URI among its subject alternative names';
  if (!spellsKeyAsUsual(leaf)) return 'holds a certificate that writes its public key in an unusual way';
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return rsaUnfitness(key);
    case 'ec':
      return ecUnfitness(leaf, key, extensions.get(KEY_USAGE));
    case 'ed25519':
      return undefined;
    default:
      return `holds a key of type ${key.asymmetricKeyType}; use RSA, ECDSA or Ed25519`;
  }
}

/** Whether TLS over TCP takes the key, and Envoy's QUIC does not. */
export function isUnusual({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  const { namedCurve = '' } = asymmetricKeyDetails ?? {};
  return asymmetricKeyType !== 'rsa' && !['prime256v1', 'secp384r1'].includes(namedCurve);
}

function rsaUnfitness(key: KeyObject): string | undefined {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < MIN_RSA_BITS) return `holds an RSA key of ${modulusLength} bits; ${MIN_RSA_BITS} are needed`;
  if (modulusLength > MAX_RSA_BITS)
    return `holds an RSA key of ${modulusLength} bits; at most ${MAX_RSA_BITS} are served`;
  if (publicExponent.toString(2).length > MAX_EXPONENT_BITS)
    return `holds an RSA key with the public exponent ${publicExponent}; use 65537`;
  return isMultiPrime(key) ? 'holds an RSA key of more than two primes; use one of two' : undefined;
}

/** RSAPrivateKey begins with its version, which is 0 for two primes: https://www.rfc-editor.org/rfc/rfc8017#appendix-A.1.2 */
function isMultiPrime(key: KeyObject): boolean {
  const [privateKey] = elementsOf(key.export({ type: 'pkcs1', format: 'der' }));
  const version = privateKey && elementsOf(privateKey.content)[0]?.content;
  return version?.[0] !== 0;
}

function ecUnfitness(leaf: X509Certificate, key: KeyObject, keyUsage: Uint8Array | undefined): string | undefined {
  const { namedCurve } = key.asymmetricKeyDetails ?? {};
  if (!CURVES.has(namedCurve)) return `holds a key on the curve ${namedCurve}; use P-256, P-384 or P-521`;
  const algorithms = [
    elementsOf(contentOf(leaf.publicKey.export({ type: 'spki', format: 'der' })))[0],
    elementsOf(contentOf(key.export({ type: 'pkcs8', format: 'der' })))[1],
  ];
  if (!algorithms.every(namesItsCurve)) return 'holds a key that spells out its curve; use the name of the curve';
  if (keyUsage !== undefined && !allowsSignatures(keyUsage))
    return 'holds an ECDSA certificate whose key usage does not allow digital signatures, such as that of a CA';
  return undefined;
}

function saysWhose(leaf: X509Certificate, alternatives: Uint8Array | undefined): boolean {
  const [, , , , subject] = fieldsOf(leaf);
  const entries = elementsOf(subject?.content ?? new Uint8Array()).flatMap(({ content }) => elementsOf(content));
  if (entries.some(({ content }) => hexOf(elementsOf(content)[0]) === COMMON_NAME)) return true;
  const list = elementsOf(alternatives ?? new Uint8Array())[0];
  const names = (list?.tag === SEQUENCE && strictElementsOf(list.content)) || [];
  return names.every(({ tag }) => NAMES.has(tag) || OTHER_NAMES.has(tag)) && names.some(({ tag }) => NAMES.has(tag));
}

/** As Node would write it: without parameters that mean nothing. A point on a curve also has a hybrid form, which is not taken. */
function spellsKeyAsUsual(leaf: X509Certificate): boolean {
  const written = fieldsOf(leaf)[5]?.content ?? new Uint8Array();
  const usual = contentOf(leaf.publicKey.export({ type: 'spki', format: 'der' }));
  const isHybrid =
    leaf.publicKey.asymmetricKeyType === 'ec' && ((elementsOf(usual)[1]?.content[1] ?? 0) & 0xfe) === 0x06;
  return Buffer.compare(written, usual) === 0 && !isHybrid;
}

/** Of a TBSCertificate, without its version: serial number, algorithm, issuer, validity, subject, public key and more. */
function fieldsOf({ raw }: X509Certificate): Element[] {
  return elementsOf(contentOf(contentOf(raw))).filter(({ tag }) => tag !== VERSION);
}

/** The parameters of an AlgorithmIdentifier are the object identifier of a curve, or everything that makes the curve. */
function namesItsCurve(algorithm: Element | undefined): boolean {
  return algorithm !== undefined && elementsOf(algorithm.content)[1]?.tag === OBJECT_IDENTIFIER;
}

/** The first bit of the bit string, whose first byte counts unused bits. */
function allowsSignatures(keyUsage: Uint8Array): boolean {
  return ((contentOf(keyUsage)[1] ?? 0) & 0x80) !== 0;
}

const OBJECT_IDENTIFIER = 0x06;
const OCTET_STRING = 0x04;
const SEQUENCE = 0x30;
/** `[0]` of a TBSCertificate */
const VERSION = 0xa0;
/** `[3]` of a TBSCertificate */
const EXTENSIONS = 0xa3;
/** DNS name, URI and address among the kinds of GeneralName. */
const NAMES: ReadonlySet<number> = new Set([0x82, 0x86, 0x87]);
/** The other kinds. Of a list with anything else nothing is read. */
const OTHER_NAMES: ReadonlySet<number> = new Set([0xa0, 0x81, 0xa3, 0xa4, 0xa5, 0x88]);
/** 2.5.4.3 */
const COMMON_NAME = '550403';
/** 2.5.29.17 */
const SUBJECT_ALTERNATIVE_NAME = '551d11';
/** 2.5.29.15 */
const KEY_USAGE = '551d0f';
/** 1.3.6.1.5.5.7.1.24 */
const TLS_FEATURE = '2b06010505070118';

/** Extensions by the hexadecimal bytes of their identifier: https://www.rfc-editor.org/rfc/rfc5280#section-4.1 */
function extensionsOf(leaf: X509Certificate): Map<string, Uint8Array> {
  const wrapper = fieldsOf(leaf).find(({ tag }) => tag === EXTENSIONS);
  if (wrapper === undefined) return new Map();
  return new Map(
    elementsOf(contentOf(wrapper.content)).map(({ content }): [string, Uint8Array] => {
      const parts = elementsOf(content);
      const value = parts.find(({ tag }) => tag === OCTET_STRING)?.content;
      return [hexOf(parts[0]), value ?? new Uint8Array()];
    }),
  );
}

function hexOf(element: Element | undefined): string {
  return Buffer.from(element?.content ?? []).toString('hex');
}

function contentOf(bytes: Uint8Array): Uint8Array {
  return elementsOf(bytes)[0]?.content ?? new Uint8Array();
}
