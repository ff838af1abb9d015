/** An authority with an OCSP responder on loopback, which answers as a test wants. */
import 'reflect-metadata';
import { createHash, webcrypto } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import {
  BasicOCSPResponse,
  CertStatus,
  id_pkix_ocsp_basic,
  OCSPRequest,
  OCSPResponse,
  OCSPResponseStatus,
  ResponderID,
  ResponseBytes,
  ResponseData,
  RevokedInfo,
  SingleResponse,
} from '@peculiar/asn1-ocsp';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import { AlgorithmIdentifier, Certificate as Asn1Certificate } from '@peculiar/asn1-x509';
import {
  AuthorityInfoAccessExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { Pair } from './pki.ts';

const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const OCSP_SIGNING = '1.3.6.1.5.5.7.3.9';
const HOUR_MS = 3_600_000;

export interface ResponderBehaviour {
  readonly status?: 'good' | 'revoked' | 'unknown';
  /** Hours from now; default -1 and 24. */
  readonly thisUpdate?: number;
  readonly nextUpdate?: number | null;
  /** Who signs: the authority, whom it has named for this, or somebody it has signed for another purpose, or a stranger. */
  readonly signer?: 'authority' | 'delegate' | 'subject' | 'stranger';
  /** It is about another certificate. */
  readonly aboutAnother?: boolean;
  /** Something else is answered. */
  readonly raw?: { readonly status?: number; readonly body: Uint8Array };
}

export interface Responder {
  /** PEM of the authority's certificate. */
  readonly authority: string;
  /** A certificate for this name, with that of the authority behind it. */
  issue(name: string): Promise<Pair>;
  behaviour: ResponderBehaviour;
  /** How many questions came. */
  readonly asked: number;
  close(): Promise<void>;
}

interface Signer {
  readonly certificate: X509Certificate;
  readonly key: webcrypto.CryptoKey;
}

export async function startResponder(): Promise<Responder> {
  const keysOf = () => webcrypto.subtle.generateKey(P256, true, ['sign', 'verify']);
  const validity = { notBefore: new Date(Date.now() - 24 * HOUR_MS), notAfter: new Date(Date.now() + 720 * HOUR_MS) };
  const selfSigned = async (name: string): Promise<Signer> => {
    const keys = await keysOf();
    const options = {
      ...validity,
      name: `CN=${name}`,
      keys,
      signingAlgorithm: P256,
      extensions: [new BasicConstraintsExtension(true)],
    };
    return {
      certificate: await X509CertificateGenerator.createSelfSigned(options, webcrypto as never),
      key: keys.privateKey,
    };
  };
  const root = await selfSigned('authority');
  const signed = async (name: string, extensions: ConstructorParameters<typeof Object>[0][]): Promise<Signer> => {
    const keys = await keysOf();
    const certificate = await X509CertificateGenerator.create(
      {
        ...validity,
        subject: `CN=${name}`,
        issuer: root.certificate.subject,
        signingKey: root.key,
        publicKey: keys.publicKey,
        signingAlgorithm: P256,
        extensions: extensions as never,
      },
      webcrypto as never,
    );
    return { certificate, key: keys.privateKey };
  };
  const signers: Readonly<Record<NonNullable<ResponderBehaviour['signer']>, Signer>> = {
    authority: root,
    delegate: await signed('delegate', [new ExtendedKeyUsageExtension([OCSP_SIGNING])]),
    subject: await signed('subject', []),
    stranger: await selfSigned('authority'),
  };
  const pem = (certificate: X509Certificate) => `${certificate.toString('pem')}\n`;
  let asked = 0;
  const server = createServer((request, response) => {
    asked++;
    void buffer(request).then(async (body) => {
      const { raw } = responder.behaviour;
      response.statusCode = raw?.status ?? 200;
      response.setHeader('content-type', 'application/ocsp-response');
      response.end(raw?.body ?? (await answer(body, responder.behaviour, signers)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const responder: Responder = {
    authority: pem(root.certificate),
    behaviour: {},
    get asked() {
      return asked;
    },
    async issue(name) {
      const { certificate, key } = await signed(name, [
        new SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
        new AuthorityInfoAccessExtension({ ocsp: [`http://127.0.0.1:${port}/ocsp`] } as never),
      ]);
      const exported = PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
      return { chain: pem(certificate) + pem(root.certificate), key: `${exported}\n` };
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return responder;
}

async function answer(
  request: Uint8Array,
  behaviour: ResponderBehaviour,
  signers: Readonly<Record<string, Signer>>,
): Promise<Uint8Array> {
  const { status = 'good', thisUpdate = -1, nextUpdate = 24, signer = 'authority', aboutAnother = false } = behaviour;
  const [question] = AsnConvert.parse(request, OCSPRequest).tbsRequest.requestList;
  const certID = question!.reqCert;
  if (aboutAnother) certID.serialNumber = new Uint8Array([1, 2, 3]).buffer;
  const time = (hours: number) => new Date(Math.floor((Date.now() + hours * HOUR_MS) / 1000) * 1000);
  const single = new SingleResponse({
    certID,
    certStatus: new CertStatus(
      status === 'revoked' ? { revoked: new RevokedInfo({ revocationTime: time(-2) }) } : { [status]: null },
    ),
    thisUpdate: time(thisUpdate),
    ...(nextUpdate !== null && { nextUpdate: time(nextUpdate) }),
  });
  const { certificate, key } = signers[signer]!;
  const parsed = AsnConvert.parse(certificate.rawData, Asn1Certificate);
  const keyHash = createHash('sha1')
    .update(new Uint8Array(parsed.tbsCertificate.subjectPublicKeyInfo.subjectPublicKey))
    .digest();
  const data = new ResponseData({
    responderID: new ResponderID({ byKey: new OctetString(new Uint8Array(keyHash)) }),
    producedAt: time(0),
    responses: [single],
  });
  const signature = await webcrypto.subtle.sign(P256, key, AsnConvert.serialize(data));
  const basic = new BasicOCSPResponse({
    tbsResponseData: data,
    signatureAlgorithm: new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 }),
    signature: derOf(new Uint8Array(signature)),
    ...(signer !== 'authority' && { certs: [parsed] }),
  });
  const whole = new OCSPResponse({
    responseStatus: OCSPResponseStatus.successful,
    responseBytes: new ResponseBytes({
      responseType: id_pkix_ocsp_basic,
      response: new OctetString(AsnConvert.serialize(basic)),
    }),
  });
  return new Uint8Array(AsnConvert.serialize(whole));
}

/** Web Crypto gives both numbers of a signature one after another; certificates hold a sequence of two integers. */
function derOf(raw: Uint8Array): ArrayBuffer {
  const integer = (bytes: Uint8Array) => {
    const start = bytes.findIndex((byte) => byte !== 0);
    const digits = bytes.subarray(start);
    const content = digits[0]! >= 0x80 ? [0, ...digits] : [...digits];
    return [2, content.length, ...content];
  };
  const half = raw.length / 2;
  const content = [...integer(raw.subarray(0, half)), ...integer(raw.subarray(half))];
  return new Uint8Array([0x30, content.length, ...content]).buffer;
}
