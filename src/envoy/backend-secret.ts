/** Secrets for TLS to backends: what is shown to them, and what they are checked against. */
import type { Engine, Table } from '../derive.ts';
import type { envoy_extensions_transport_sockets_tls_v3_Secret as Secret } from '../gen/messages.ts';
import type { ObjectKey } from '../model/object-ref.ts';
import type { BackendSecret, ProxyModel } from '../model/proxy-model.ts';
import type { Encoder } from './encoder.ts';
import { type EncodedResource, sameVersion } from './resource.ts';
import { pairMessage, transientResource } from './secret.ts';

/** Never that of a certificate for listeners, `namespace/name`, nor a server name. */
export function clientCertificateName(secret: ObjectKey): string {
  return `${secret}/client-certificate`;
}

export function authoritiesName(secret: ObjectKey): string {
  return `${secret}/authorities`;
}

/** One for each part of a Secret. */
export function emitBackendSecrets(
  engine: Engine,
  { backendSecrets }: ProxyModel,
  encoder: Encoder,
): Table<EncodedResource> {
  const parts = engine.group<BackendSecret>('backend-secret-parts', backendSecrets, (_, secret) =>
    [...partsOf(secret).keys()].map((name) => [name, true]),
  );
  return engine.derive(
    'backend-secret-resource',
    parts,
    (name, read) => {
      const secret = read(backendSecrets, name.slice(0, name.lastIndexOf('/')));
      const message = secret && partsOf(secret).get(name);
      return message && transientResource(name, { name, ...message }, encoder);
    },
    sameVersion,
  );
}

function partsOf({ name, pair, authorities }: BackendSecret): ReadonlyMap<string, Secret> {
  const parts = new Map<string, Secret>();
  if (pair !== undefined) parts.set(clientCertificateName(name), pairMessage(pair));
  if (authorities !== undefined)
    parts.set(authoritiesName(name), { validation_context: { trusted_ca: { inline_bytes: authorities } } });
  return parts;
}
