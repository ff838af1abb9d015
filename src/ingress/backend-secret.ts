import type { Secret } from '../cluster/objects.ts';
import type { Engine, Table } from '../derive.ts';
import type { ObjectKey } from '../model/object-ref.ts';
import type { BackendSecret, Cluster } from '../model/proxy-model.ts';
import { parseAuthorities, parseTlsSecret } from './certificate.ts';

export type ParsedBackendSecret = { readonly secret: BackendSecret } | { readonly reason: string };

/** What a Secret holds for TLS to backends: a certificate with its key, authorities, or both. */
export function parseBackendSecret(name: ObjectKey, secret: Secret): ParsedBackendSecret {
  const { 'ca.crt': authorities, 'tls.crt': chain, 'tls.key': key } = secret.data;
  const hasPair = isThere(chain) || isThere(key);
  const hasAuthorities = isThere(authorities);
  if (!hasPair && !hasAuthorities) return { reason: 'has neither tls.crt with tls.key nor ca.crt' };
  const pair = hasPair ? parseTlsSecret(name, secret) : undefined;
  if (pair !== undefined && 'reason' in pair) return pair;
  const parsed = hasAuthorities ? parseAuthorities(authorities) : undefined;
  if (parsed !== undefined && 'reason' in parsed) return parsed;
  return {
    secret: {
      name,
      ...(pair !== undefined && { pair: { chain: pair.certificate.chain, key: pair.certificate.key } }),
      ...(parsed !== undefined && { authorities: parsed.authorities }),
    },
  };
}

function isThere(bytes: Uint8Array | undefined): bytes is Uint8Array {
  return bytes !== undefined && bytes.length > 0;
}

/** Unit per Secret that clusters refer to. One that is not usable closes the paths that lead there, so that no cluster names it. */
export function deriveBackendSecrets(
  engine: Engine,
  clusters: Table<Cluster>,
  secrets: Table<Secret>,
): Table<BackendSecret> {
  const references = engine.group<Cluster>('backend-secret-references', clusters, (_, { policy }) =>
    policy?.backendTls === undefined ? [] : [[policy.backendTls.secret, true]],
  );
  return engine.derive<BackendSecret>('backend-secret', references, (key, read) => {
    const secret = read(secrets, key);
    const parsed = secret && parseBackendSecret(key, secret);
    return parsed !== undefined && 'secret' in parsed ? parsed.secret : undefined;
  });
}
