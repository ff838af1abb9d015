import type { KeyPair } from './certificate-authority.ts';

/** A Kubernetes Secret of the type `kubernetes.io/tls`. */
export interface TlsSecret {
  readonly apiVersion: 'v1';
  readonly kind: 'Secret';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly type: 'kubernetes.io/tls';
  /** Base64 */
  readonly data: Readonly<Record<string, string>>;
}

export const AUTHORITY_SECRET = 'ingress-xds-ca';

const LABELS = { 'app.kubernetes.io/name': 'ingress-xds', 'app.kubernetes.io/component': 'xds-tls' };

/** The authority with its key, for renewals. Nothing mounts it. */
export function authoritySecret(namespace: string, { certificate, key }: KeyPair): TlsSecret {
  return secret(namespace, AUTHORITY_SECRET, { 'tls.crt': certificate, 'tls.key': key });
}

/** What is mounted: `tls.crt`, `tls.key` and `ca.crt`. */
export function leafSecret(namespace: string, leaf: string, pair: KeyPair, authority: string): TlsSecret {
  const data = { 'tls.crt': pair.certificate, 'tls.key': pair.key, 'ca.crt': authority };
  return secret(namespace, leafSecretName(leaf), data);
}

export function leafSecretName(leaf: string): string {
  return `${leaf}-tls`;
}

function secret(namespace: string, name: string, texts: Readonly<Record<string, string>>): TlsSecret {
  const entries = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: LABELS },
    type: 'kubernetes.io/tls',
    data: Object.fromEntries(entries),
  };
}
