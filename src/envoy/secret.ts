import type { Engine, Table } from '../derive.ts';
import type { envoy_extensions_transport_sockets_tls_v3_Secret as Secret } from '../gen/messages.ts';
import { type Certificate, type CertificateName, DEFAULT_CERTIFICATE, type ProxyModel } from '../model/proxy-model.ts';
import type { Encoder } from './encoder.ts';
import { quicSecretName } from './quic-listener.ts';
import { contentVersion, type EncodedResource, EVERY_NAMESPACE, sameVersion } from './resource.ts';

const SECRET = 'envoy.extensions.transport_sockets.tls.v3.Secret';

export function secretMessage({ name, ...pair }: Certificate): Secret {
  return { name, ...pairMessage(pair) };
}

export function pairMessage({ chain, key, ocspResponse }: Pick<Certificate, 'chain' | 'key' | 'ocspResponse'>): Secret {
  return {
    tls_certificate: {
      certificate_chain: { inline_bytes: chain },
      private_key: { inline_bytes: key.reveal() },
      // A response that holds no longer is not sent: the default of `ocsp_staple_policy`.
      ...(ocspResponse && { ocsp_staple: { inline_bytes: ocspResponse } }),
    },
  };
}

/**
 * A secret per certificate that filter chains name.
 * @param named keyed by certificate
 */
export function emitSecrets(
  engine: Engine,
  { certificates }: ProxyModel,
  named: Table<unknown>,
  encoder: Encoder,
): Table<EncodedResource> {
  return engine.derive(
    'secret-resource',
    certificates,
    (name, read) => {
      const certificate = read(certificates, name);
      if (certificate === undefined || read(named, name) === undefined) return undefined;
      return transientResource(name, secretMessage(certificate), encoder);
    },
    sameVersion,
  );
}

/**
 * The same once more for the chains over QUIC, each under a name of its own.
 * @param chains keyed by certificate
 */
export function emitQuicSecrets(
  engine: Engine,
  { certificates }: ProxyModel,
  chains: Table<unknown>,
  encoder: Encoder,
): Table<EncodedResource> {
  const byName = engine.group<unknown, true>('quic-secret-name', chains, (certificate) => [
    [quicSecretName(certificate), true],
  ]);
  return engine.derive(
    'quic-secret',
    byName,
    (name, read) => {
      const [of = ''] = read(byName, name)?.keys() ?? [];
      const certificate = read(certificates, of);
      return certificate && transientResource(name, secretMessage({ ...certificate, name }), encoder);
    },
    sameVersion,
  );
}

/**
 * A secret per server name that is looked up. Envoy wants the name that it asked for in the message, so messages are put together
 * when they are sent: the pair is kept once, whatever names lead to it.
 */
export function emitOnDemandSecrets(
  engine: Engine,
  { certificates, onDemandNames }: ProxyModel,
  encoder: Encoder,
): Table<EncodedResource> {
  const namesOf = engine.group<CertificateName>('on-demand-certificate', onDemandNames, (_, certificate) => [
    [certificate, true],
  ]);
  const pairs = engine.derive(
    'on-demand-pair',
    namesOf,
    (name, read) => {
      const certificate = read(certificates, name);
      if (certificate === undefined) return undefined;
      return transientResource(name, pairMessage(certificate), encoder);
    },
    sameVersion,
  );
  return engine.derive(
    'on-demand-secret',
    onDemandNames,
    (serverName, read) => {
      const pair = read(pairs, read(onDemandNames, serverName) ?? '');
      return pair === undefined ? undefined : namedSecret(serverName, pair, encoder);
    },
    sameVersion,
  );
}

/**
 * Encoded now, for its version and to find faults, and again whenever it is sent: meanwhile only the message is kept, which refers
 * to the bytes of the Secret.
 */
export function transientResource(name: CertificateName, message: Secret, encoder: Encoder): EncodedResource {
  const version = contentVersion(encoder.encode(SECRET, message, name));
  const bytes = () => encoder.encodePart(SECRET, message);
  return { name, version, namespace: namespaceOf(name), transient: true, bytes, origin: () => [] };
}

function namespaceOf(name: CertificateName): string {
  return name === DEFAULT_CERTIFICATE || name === quicSecretName(DEFAULT_CERTIFICATE)
    ? EVERY_NAMESPACE
    : name.slice(0, name.indexOf('/'));
}

function namedSecret(name: string, pair: EncodedResource, encoder: Encoder): EncodedResource {
  const { namespace = '' } = pair;
  const bytesAs = (spelling: string) => Buffer.concat([encoder.encodePart(SECRET, { name: spelling }), pair.bytes()]);
  return {
    name,
    // Who may have it is part of it: with the same bytes in another namespace it comes and goes for some clients.
    version: contentVersion(name, namespace, pair.version),
    namespace,
    bytes: () => bytesAs(name),
    bytesAs,
    origin: () => [],
  };
}
