/** Filter chains, framed like hosts: each is a field of its listener, so that listeners are chains one after another. */
import type { Engine, Key, Reader, Table } from '../derive.ts';
import type { envoy_config_listener_v3_FilterChain as FilterChain } from '../gen/messages.ts';
import {
  type CertificateName,
  DEFAULT_CERTIFICATE,
  type Listener,
  ON_DEMAND,
  type ProxyModel,
  type ServerNameTarget,
} from '../model/proxy-model.ts';
import { SETTINGS } from '../model/settings.ts';
import type { AccessLogOptions } from './access-log.ts';
import { chainName } from './chain-name.ts';
import { existing } from './emit-resource.ts';
import type { Encoder } from './encoder.ts';
import { type ChainParts, certificateChain } from './listener.ts';
import { type PassthroughParts, passthroughChain } from './passthrough-chain.ts';
import { quicChain } from './quic-listener.ts';

export interface ChainOptions extends AccessLogOptions {
  readonly httpsParts: (read: Reader) => ChainParts;
  /** Absent where HTTP/3 is not served. */
  readonly quicParts: (read: Reader) => ChainParts | undefined;
}

export interface Chains {
  /** By `chainName`. */
  readonly tls: Table<Uint8Array>;
  /** By certificate: those that QUIC takes. */
  readonly quic: Table<Uint8Array>;
  /** Keyed by certificate: those that some chain wants, whether or not they exist. */
  readonly certificates: Table<unknown>;
}

export function deriveChains(
  engine: Engine,
  { listeners, certificates, settings }: ProxyModel,
  { httpsParts, quicParts, accessLog = false }: ChainOptions,
  encoder: Encoder,
): Chains {
  const passthroughParts = engine.derive<PassthroughParts>('passthrough-parts', settings, (name, read) => {
    const { streams, logs, listener } = existing(read, settings, name);
    const log = accessLog ? logs.streams : undefined;
    return { settings: streams, ...(log && { log }), proxyProtocol: listener.proxyProtocol !== undefined };
  });
  // Chains read nothing of a certificate but that it is there, and whether QUIC takes it, so a rotated one stops here.
  const kinds = engine.derive<'usual' | 'unusual'>('chain-certificate', certificates, (name, read) =>
    existing(read, certificates, name).unusualKey ? 'unusual' : 'usual',
  );
  const targets = deriveTargets(engine, listeners);
  const wanted = engine.group<ServerNameTarget>('chain-certificates', targets, (_, target) =>
    'passthrough' in target ? [] : [[target.certificate, true]],
  );
  const hasCertificate = (certificate: CertificateName, read: Reader) =>
    certificate === ON_DEMAND || read(kinds, certificate) !== undefined;
  const encodeChain = (chain: FilterChain) => {
    encoder.count('FilterChain');
    return encoder.encodePart('envoy.config.listener.v3.Listener', { filter_chains: [chain] });
  };
  const tls = engine.derive('filter-chain', targets, (name, read) => {
    const target = existing(read, targets, name);
    if ('passthrough' in target)
      return encodeChain(passthroughChain(target.passthrough, existing(read, passthroughParts, SETTINGS)));
    return hasCertificate(target.certificate, read)
      ? encodeChain(certificateChain(target, httpsParts(read)))
      : undefined;
  });
  const quic = engine.derive('quic-filter-chain', wanted, (certificate, read) => {
    const parts = quicParts(read);
    return parts && read(kinds, certificate) === 'usual' ? encodeChain(quicChain(certificate, parts)) : undefined;
  });
  return { tls, quic, certificates: wanted };
}

/** What each chain is for; which names lead to it moves none of them. */
function deriveTargets(engine: Engine, listeners: ProxyModel['listeners']): Table<ServerNameTarget> {
  return engine.reduce<Listener, ServerNameTarget, Map<Key, ServerNameTarget>, ServerNameTarget>(
    'chain-target',
    listeners,
    {
      spread: (_, { serverNames }) => new Map(serverNames.map(({ name: _, ...target }) => [chainName(target), target])),
      init: () => new Map(),
      add: (listener, name, target) => void listener.set(name, target),
      remove: (listener, name) => void listener.delete(name),
      empty: (listener) => listener.size === 0,
      view: (listener) => listener.values().next().value ?? { certificate: DEFAULT_CERTIFICATE },
      // A name stands for all that identifies a chain.
      equal: () => true,
      // That of the default certificate always: a listener without chains of its own would be replaced as a whole, with every
      // connection on it, when its last certificate goes.
      always: [DEFAULT_CERTIFICATE],
    },
  );
}
