import 'reflect-metadata';
import { generateKeyPairSync, webcrypto } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { Pair } from '../../support/pki.ts';
import { NODE_ADDRESS } from './namespace.ts';

/** One certificate authority for the cluster, and the files that its programs are started with. */
export interface ClusterPki {
  readonly caPath: string;
  /** PEM */
  readonly ca: string;
  /** The API server's own. */
  readonly server: PairFiles;
  readonly admin: PairFiles;
  readonly controllerManager: PairFiles;
  /** RSA, for the tokens of ServiceAccounts. */
  readonly serviceAccountKeyPath: string;
  readonly serviceAccountPublicKeyPath: string;
  /** A client certificate: the user is the common name, the groups are the organizations. */
  client(name: string, groups?: readonly string[]): Promise<PairFiles>;
}

export interface PairFiles extends Pair {
  readonly chainPath: string;
  readonly keyPath: string;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 24 * 60 * 60 * 1000;
const SERVER_NAMES = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
const SERVER_ADDRESSES = ['127.0.0.1', '10.96.0.1', NODE_ADDRESS];

export async function createPki(folder: string): Promise<ClusterPki> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + 365 * DAY_MS) };
  const authorityKeys = await generateKeys();
  const authority = await X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=cluster-ca',
      ...validity,
      keys: authorityKeys,
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(true, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      ],
    },
    webcrypto as never,
  );
  const caPath = join(folder, 'ca.crt');
  const ca = pem(authority);
  writeFileSync(caPath, ca);

  const issue = async (
    file: string,
    subject: string,
    extensions: readonly (ExtendedKeyUsageExtension | SubjectAlternativeNameExtension)[],
  ): Promise<PairFiles> => {
    const keys = await generateKeys();
    const certificate = await X509CertificateGenerator.create(
      {
        subject,
        issuer: authority.subject,
        ...validity,
        publicKey: keys.publicKey,
        signingKey: authorityKeys.privateKey,
        signingAlgorithm: algorithm,
        extensions: [...extensions],
      },
      webcrypto as never,
    );
    const chain = pem(certificate);
    const key = `${PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')}\n`;
    const [chainPath, keyPath] = [join(folder, `${file}.crt`), join(folder, `${file}.key`)];
    writeFileSync(chainPath, chain);
    writeFileSync(keyPath, key, { mode: 0o600 });
    return { chain, key, chainPath, keyPath };
  };
  const client = (name: string, groups: readonly string[] = []) =>
    issue(name.replaceAll(':', '-'), [...groups.map((group) => `O=${group}`), `CN=${name}`].join(', '), [
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
    ]);

  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const serviceAccountKeyPath = join(folder, 'service-account.key');
  const serviceAccountPublicKeyPath = join(folder, 'service-account.pub');
  writeFileSync(serviceAccountKeyPath, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  writeFileSync(serviceAccountPublicKeyPath, publicKey.export({ type: 'spki', format: 'pem' }));

  return {
    ca,
    caPath,
    server: await issue('kube-apiserver', 'CN=kube-apiserver', [
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([
        ...SERVER_NAMES.map((value) => ({ type: 'dns' as const, value })),
        ...SERVER_ADDRESSES.map((value) => ({ type: 'ip' as const, value })),
      ]),
    ]),
    admin: await client('admin', ['system:masters']),
    controllerManager: await client('system:kube-controller-manager'),
    serviceAccountKeyPath,
    serviceAccountPublicKeyPath,
    client,
  };
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
}

function pem(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}
