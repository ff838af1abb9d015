/** Listeners as Envoy resources. A change in them drains connections, so every part that may change alone is a unit of its own. */
import type { Engine, Key, Reader, Table } from '../derive.ts';
import type {
  envoy_config_listener_v3_FilterChain as FilterChain,
  envoy_config_listener_v3_Filter as NetworkFilter,
} from '../gen/messages.ts';
import {
  type CertificateName,
  DEFAULT_CERTIFICATE,
  type Listener,
  ON_DEMAND,
  type ProxyModel,
} from '../model/proxy-model.ts';
import { SETTINGS } from '../model/settings.ts';
import { encode } from './codec.ts';
import { deriveResource, existing } from './emit-resource.ts';
import type { Encoder } from './encoder.ts';
import { type ConnectionManagerOptions, httpConnectionManager } from './http-connection-manager.ts';
import {
  type Binding,
  bindingOf,
  certificateChain,
  httpListener,
  httpsListener,
  type ListenerOptions,
} from './listener.ts';
import { QUIC_LISTENER, quicChain, quicListener } from './quic-listener.ts';
import { encodedResource } from './resource.ts';
import { routeTableNames } from './route-table.ts';
import { streamListener } from './stream-listener.ts';

export type ListenerEmitOptions = ListenerOptions & ConnectionManagerOptions;

/** The chains of a certificate, each as a field of its listener. */
interface Chains {
  readonly tls: Uint8Array;
  /** Over QUIC; absent where HTTP/3 is not served. */
  readonly quic?: Uint8Array;
}

const LISTENER = 'envoy.config.listener.v3.Listener';

/** A unit per listener: settings that leave its bytes as they are reach no listener. */
function deriveConnectionManagers(
  engine: Engine,
  { settings }: ProxyModel,
  options: ConnectionManagerOptions,
  encoder: Encoder,
): Table<NetworkFilter> {
  const names = [...routeTableNames, QUIC_LISTENER] as const;
  return engine.derive<NetworkFilter>('connection-manager', names, (key, read) => {
    const name = names.find((one) => one === key) ?? 'http';
    const current = existing(read, settings, SETTINGS);
    if (name === QUIC_LISTENER && current.listener.http3 === undefined) return undefined;
    return httpConnectionManager(encoder, name, current, options);
  });
}

/** A unit of its own, so that other settings leave listeners alone. */
function deriveBinding(
  engine: Engine,
  { settings }: ProxyModel,
  options: ListenerOptions,
  name = 'http-binding',
): Table<Binding> {
  return engine.derive<Binding>(name, settings, (key, read) =>
    bindingOf(existing(read, settings, key).listener, options),
  );
}

export function emitListeners(engine: Engine, model: ProxyModel, options: ListenerEmitOptions, encoder: Encoder) {
  const { listeners, certificates } = model;
  const connectionManagers = deriveConnectionManagers(engine, model, options, encoder);
  const bindings = deriveBinding(engine, model, options);
  // A unit of its own, so that other settings reach no chain.
  const tls = engine.derive('tls-settings', model.settings, (name, read) => existing(read, model.settings, name).tls);
  const partsOf = (connectionManager: NetworkFilter, read: Reader) => ({
    connectionManager,
    tls: existing(read, tls, SETTINGS),
  });
  const chainParts = (read: Reader) => partsOf(existing(read, connectionManagers, 'https'), read);
  /** Absent where HTTP/3 is not served. */
  const quicParts = (read: Reader) => {
    const connectionManager = read(connectionManagers, QUIC_LISTENER);
    return connectionManager && partsOf(connectionManager, read);
  };
  const encodeOne = (chain: FilterChain) => {
    encoder.count('FilterChain');
    return encode(LISTENER, { filter_chains: [chain] });
  };
  const encodeChain = (certificate: CertificateName, read: Reader): Chains => {
    const quic = quicParts(read);
    return {
      tls: encodeOne(certificateChain(certificate, chainParts(read))),
      ...(quic && { quic: encodeOne(quicChain(certificate, quic)) }),
    };
  };
  // Whether a certificate has a chain; which names lead to it moves none of the chains.
  const named = engine.reduce<Listener, true, Set<Key>, true>('chain-certificate', listeners, {
    spread: (_, { serverNames }) => new Map(serverNames.map(({ certificate }) => [certificate, true])),
    init: () => new Set(),
    add: (listener, name) => void listener.add(name),
    remove: (listener, name) => void listener.delete(name),
    empty: (listener) => listener.size === 0,
    view: () => true,
    equal: Object.is,
    // That of the default certificate always: a listener without chains of its own would be replaced as a whole, with every
    // connection on it, when its last certificate goes.
    always: [DEFAULT_CERTIFICATE],
  });
  // Framed like hosts. They read nothing of a certificate but that it is there, so a rotated one stops here.
  const chains = engine.derive('filter-chain', certificates, (certificate, read) =>
    read(named, certificate) === undefined ? undefined : encodeChain(certificate, read),
  );
  const chainOf = (certificate: CertificateName, read: Reader) =>
    certificate === ON_DEMAND ? encodeChain(ON_DEMAND, read) : existing(read, chains, certificate);
  const namesWithChain = (listener: Listener, read: Reader) => {
    const serverNames = listener.serverNames.filter(
      ({ certificate }) => certificate === ON_DEMAND || read(chains, certificate) !== undefined,
    );
    const used = [...new Set([DEFAULT_CERTIFICATE, ...serverNames.map(({ certificate }) => certificate)])].sort();
    return { serverNames, used };
  };
  const resources = deriveResource(engine, 'listener-resource', listeners, (name, read) => {
    const listener = existing(read, listeners, name);
    const binding = existing(read, bindings, SETTINGS);
    const connectionManager = existing(read, connectionManagers, listener.name);
    if (listener.name === 'http') {
      return encodedResource(name, encoder.encode(LISTENER, httpListener(listener, connectionManager, binding), name));
    }
    const { serverNames, used } = namesWithChain(listener, read);
    const rest = encoder.encode(LISTENER, httpsListener(listener, serverNames, chainParts(read), binding), name);
    return encodedResource(name, Buffer.concat([rest, ...used.map((certificate) => chainOf(certificate, read).tls)]));
  });
  const overQuic = engine.derive(
    'quic-listener',
    [QUIC_LISTENER],
    (_, read) => quicParts(read) && existing(read, listeners, 'https'),
  );
  const quicResources = deriveResource(engine, 'quic-listener-resource', overQuic, (name, read) => {
    const parts = quicParts(read);
    if (parts === undefined) throw new Error('HTTP/3 is not served');
    const listener = existing(read, overQuic, name);
    const { serverNames, used } = namesWithChain(listener, read);
    const binding = existing(read, bindings, SETTINGS);
    const rest = encoder.encode(LISTENER, quicListener(listener, serverNames, parts, binding), name);
    const frames = used.map((certificate) => chainOf(certificate, read).quic ?? new Uint8Array());
    return encodedResource(name, Buffer.concat([rest, ...frames]));
  });
  return { resources, quicResources, chains };
}

export function emitStreamListeners(engine: Engine, model: ProxyModel, options: ListenerEmitOptions, encoder: Encoder) {
  const { streamListeners, settings } = model;
  const logs = engine.derive('stream-logs', settings, (key, read) => existing(read, settings, key).logs.streams);
  const bindings = deriveBinding(engine, model, options, 'stream-binding');
  return deriveResource(engine, 'stream-listener-resource', streamListeners, (name, read) => {
    const listener = existing(read, streamListeners, name);
    const log = options.accessLog ? read(logs, SETTINGS) : undefined;
    const bytes = encoder.encode(
      LISTENER,
      streamListener(listener, existing(read, settings, SETTINGS).streams, {
        ...existing(read, bindings, SETTINGS),
        ...(log && { log }),
      }),
      name,
    );
    return encodedResource(name, bytes, { cluster: listener.cluster });
  });
}
