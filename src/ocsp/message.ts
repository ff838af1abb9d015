/** Questions to OCSP responders and what is made of their answers: https://www.rfc-editor.org/rfc/rfc6960 */
import { createHash, verify, X509Certificate } from 'node:crypto';
import {
  BasicOCSPResponse,
  CertID,
  id_pkix_ocsp_basic,
  OCSPRequest,
  OCSPResponse,
  OCSPResponseStatus,
  Request,
  type SingleResponse,
  TBSRequest,
} from '@peculiar/asn1-ocsp';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import { AlgorithmIdentifier, Certificate as Asn1Certificate } from '@peculiar/asn1-x509';
import { isPlainResponseData } from './plain-der.ts';

/** A certificate about which a responder can be asked. */
export interface Question {
  /** Where to ask. */
  readonly url: URL;
  /** DER of the request. */
  readonly request: Uint8Array;
  readonly leaf: X509Certificate;
  readonly issuer: X509Certificate;
  /** What the answer must be about. */
  readonly id: CertID;
}

/** `unasked`: there is nobody to ask. */
export type QuestionResult = Question | { readonly unasked: string };

/** Times in milliseconds since 1970. */
export interface GoodAnswer {
  /** DER, written anew from what was checked: proxies read it more strictly than it came. */
  readonly response: Uint8Array;
  readonly thisUpdate: number;
  /** Absent where newer information is always there. */
  readonly nextUpdate?: number;
}

/** What is said of a reason follows `the OCSP responder …`. */
export type AnswerResult = GoodAnswer | { readonly reason: string };

const OCSP_URL = /^OCSP - URI:"?([^"\n]+)"?$/m;
/** The identifier that every responder knows; nothing depends on its strength. */
const SHA1 = '1.3.14.3.2.26';
/** Of extended key usage: https://www.rfc-editor.org/rfc/rfc6960#section-4.2.2.2 */
const OCSP_SIGNING = '1.3.6.1.5.5.7.3.9';
/** How far the clock of a responder may be ahead. */
const MAX_SKEW_MS = 5 * 60 * 1000;

/** Hashes of the signatures that count. */
const SIGNATURE_HASHES: ReadonlyMap<string, string> = new Map([
  ['1.2.840.113549.1.1.11', 'sha256'],
  ['1.2.840.113549.1.1.12', 'sha384'],
  ['1.2.840.113549.1.1.13', 'sha512'],
  ['1.2.840.10045.4.3.2', 'sha256'],
  ['1.2.840.10045.4.3.3', 'sha384'],
  ['1.2.840.10045.4.3.4', 'sha512'],
]);

/** @param chain PEM, leaf first, in canonical form; OpenSSL has read it, which takes what others do not. */
export function questionAbout(chain: Uint8Array): QuestionResult {
  try {
    return questionOf(certificatesOf(chain));
  } catch {
    return { unasked: 'a certificate in tls.crt is not written as others read it' };
  }
}

function questionOf([leaf, issuer]: readonly X509Certificate[]): QuestionResult {
  const address = OCSP_URL.exec(leaf?.infoAccess ?? '')?.[1];
  if (leaf === undefined || address === undefined) return { unasked: 'the certificate names no OCSP responder' };
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
    return { unasked: `the certificate names an OCSP responder of no use, ${JSON.stringify(address)}` };
  if (issuer === undefined || !leaf.checkIssued(issuer) || !leaf.verify(issuer.publicKey))
    return { unasked: 'tls.crt does not hold the certificate of the issuer behind that of the server' };
  const id = identify(leaf, issuer);
  const request = new OCSPRequest({ tbsRequest: new TBSRequest({ requestList: [new Request({ reqCert: id })] }) });
  return { url: new URL(address), request: new Uint8Array(AsnConvert.serialize(request)), leaf, issuer, id };
}

function certificatesOf(chain: Uint8Array): X509Certificate[] {
  const blocks = Buffer.from(chain)
    .toString('latin1')
    .match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  return (blocks ?? []).slice(0, 2).map((block) => new X509Certificate(block));
}

function identify(leaf: X509Certificate, issuer: X509Certificate): CertID {
  const { serialNumber } = AsnConvert.parse(leaf.raw, Asn1Certificate).tbsCertificate;
  const { subject, subjectPublicKeyInfo } = AsnConvert.parse(issuer.raw, Asn1Certificate).tbsCertificate;
  return new CertID({
    hashAlgorithm: new AlgorithmIdentifier({ algorithm: SHA1, parameters: null }),
    issuerNameHash: new OctetString(sha1(AsnConvert.serialize(subject))),
    issuerKeyHash: new OctetString(sha1(subjectPublicKeyInfo.subjectPublicKey)),
    serialNumber,
  });
}

function sha1(bytes: ArrayBuffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha1').update(new Uint8Array(bytes)).digest());
}

/**
 * Whether an answer says of the certificate that it is good, and how long that holds. Envoy and nginx check no more than that it is
 * about the certificate, so everything else is checked here.
 * @param now milliseconds since 1970
 */
export function readAnswer(bytes: Uint8Array, { issuer, id }: Question, now: number): AnswerResult {
  try {
    const { responseStatus, responseBytes } = AsnConvert.parse(bytes, OCSPResponse);
    if (responseStatus !== OCSPResponseStatus.successful)
      return { reason: `answers ${OCSPResponseStatus[responseStatus] ?? responseStatus}` };
    if (responseBytes?.responseType !== id_pkix_ocsp_basic) return { reason: 'answers in a form that nobody reads' };
    const basic = AsnConvert.parse(responseBytes.response.buffer, BasicOCSPResponse);
    const [single, ...more] = basic.tbsResponseData.responses;
    if (single === undefined || more.length > 0 || !isAbout(single, id))
      return { reason: 'answers about other certificates' };
    const response = signedResponse(basic, issuer, now);
    if (response === undefined)
      return {
        reason: 'gives an answer that is not signed by whom the issuer trusts, or not written as proxies read it',
      };
    const validity = validityOf(single, now);
    return 'reason' in validity ? validity : { response, ...validity };
  } catch {
    return { reason: 'gives an answer that is none' };
  }
}

function isAbout({ certID }: SingleResponse, wanted: CertID): boolean {
  const equal = (a: ArrayBuffer, b: ArrayBuffer) => Buffer.from(a).equals(Buffer.from(b));
  return (
    certID.hashAlgorithm.algorithm === SHA1 &&
    equal(certID.issuerNameHash.buffer, wanted.issuerNameHash.buffer) &&
    equal(certID.issuerKeyHash.buffer, wanted.issuerKeyHash.buffer) &&
    equal(certID.serialNumber, wanted.serialNumber)
  );
}

/** The whole response, if the issuer of the certificate, or somebody it has named for this, has signed it. */
function signedResponse(basic: BasicOCSPResponse, issuer: X509Certificate, now: number): Uint8Array | undefined {
  const { algorithm } = basic.signatureAlgorithm;
  const hash = SIGNATURE_HASHES.get(algorithm);
  if (hash === undefined || basic.tbsResponseDataRaw === undefined) return undefined;
  const data = new Uint8Array(basic.tbsResponseDataRaw);
  if (!isPlainResponseData(data)) return undefined;
  const signature = new Uint8Array(basic.signature);
  const delegates = (basic.certs ?? [])
    .map((certificate) => new X509Certificate(Buffer.from(AsnConvert.serialize(certificate))))
    .filter((certificate) => speaksFor(certificate, issuer, now));
  const signer = [issuer, ...delegates].find(({ publicKey }) => {
    try {
      return verify(hash, data, publicKey, signature);
    } catch {
      // A key of another kind than the signature.
      return false;
    }
  });
  if (signer === undefined) return undefined;
  const parameters = signer.publicKey.asymmetricKeyType === 'rsa' ? { parameters: null } : {};
  return responseOf([
    data,
    new Uint8Array(AsnConvert.serialize(new AlgorithmIdentifier({ algorithm, ...parameters }))),
    der(BIT_STRING, Uint8Array.of(0), signature),
    ...(signer === issuer ? [] : [der(FIRST_TAGGED, der(SEQUENCE, signer.raw))]),
  ]);
}

const [SEQUENCE, BIT_STRING, OCTET_STRING, ENUMERATED, FIRST_TAGGED] = [0x30, 0x03, 0x04, 0x0a, 0xa0];
/** 1.3.6.1.5.5.7.48.1.1 */
const BASIC_RESPONSE = Buffer.from('06092b0601050507300101', 'hex');

/** @param basic the elements of a BasicOCSPResponse */
function responseOf(basic: readonly Uint8Array[]): Uint8Array {
  const content = der(SEQUENCE, BASIC_RESPONSE, der(OCTET_STRING, der(SEQUENCE, ...basic)));
  return der(SEQUENCE, der(ENUMERATED, Uint8Array.of(OCSPResponseStatus.successful)), der(FIRST_TAGGED, content));
}

function der(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

function speaksFor(delegate: X509Certificate, issuer: X509Certificate, now: number): boolean {
  return (
    delegate.checkIssued(issuer) &&
    delegate.verify(issuer.publicKey) &&
    (delegate.keyUsage ?? []).includes(OCSP_SIGNING) &&
    delegate.validFromDate.getTime() <= now + MAX_SKEW_MS &&
    delegate.validToDate.getTime() > now
  );
}

function validityOf(
  { certStatus, thisUpdate, nextUpdate }: SingleResponse,
  now: number,
): Omit<GoodAnswer, 'response'> | { readonly reason: string } {
  if (certStatus.revoked !== undefined) return { reason: 'says that the certificate is revoked' };
  if (certStatus.good === undefined) return { reason: 'does not know the certificate' };
  if (thisUpdate.getTime() > now + MAX_SKEW_MS) return { reason: 'gives an answer of the future' };
  if (nextUpdate === undefined) return { thisUpdate: thisUpdate.getTime() };
  if (nextUpdate.getTime() <= now) return { reason: `gives an answer that held until ${nextUpdate.toISOString()}` };
  return { thisUpdate: thisUpdate.getTime(), nextUpdate: nextUpdate.getTime() };
}
