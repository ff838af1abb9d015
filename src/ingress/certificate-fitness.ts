import type { KeyObject, X509Certificate } from 'node:crypto';
import { type Element, elementsOf } from './der.ts';

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
/** `[3]` of a TBSCertificate */
const EXTENSIONS = 0xa3;
/** 2.5.29.15 */
const KEY_USAGE = '551d0f';
/** 1.3.6.1.5.5.7.1.24 */
const TLS_FEATURE = '2b06010505070118';

/** Extensions by the hexadecimal bytes of their identifier: https://www.rfc-editor.org/rfc/rfc5280#section-4.1 */
function extensionsOf({ raw }: X509Certificate): Map<string, Uint8Array> {
  const body = elementsOf(contentOf(raw))[0];
  const wrapper = body && elementsOf(body.content).find(({ tag }) => tag === EXTENSIONS);
  if (wrapper === undefined) return new Map();
  return new Map(
    elementsOf(contentOf(wrapper.content)).map(({ content }): [string, Uint8Array] => {
      const parts = elementsOf(content);
      const value = parts.find(({ tag }) => tag === OCTET_STRING)?.content;
      return [Buffer.from(parts[0]?.content ?? []).toString('hex'), value ?? new Uint8Array()];
    }),
  );
}

function contentOf(bytes: Uint8Array): Uint8Array {
  return elementsOf(bytes)[0]?.content ?? new Uint8Array();
}
