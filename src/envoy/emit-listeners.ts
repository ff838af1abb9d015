/** Listeners as Envoy resources. A change in them drains connections, so every part that may change alone is a unit of its own. */
import type { Engine, Reader, Table } from '../derive.ts';
import type { envoy_config_listener_v3_Filter as NetworkFilter } from '../gen/messages.ts';
import { DEFAULT_CERTIFICATE, type Listener, type ProxyModel } from '../model/proxy-model.ts';
import { SETTINGS } from '../model/settings.ts';
import { chainName } from './chain-name.ts';
import { deriveChains } from './emit-chains.ts';
import { deriveResource, existing } from './emit-resource.ts';
import type { Encoder } from './encoder.ts';
import { type ConnectionManagerOptions, httpConnectionManager } from './http-connection-manager.ts';
import { type Binding, bindingOf, httpListener, httpsListener, type ListenerOptions } from './listener.ts';
import { QUIC_LISTENER, quicListener } from './quic-listener.ts';
import { encodedResource } from './resource.ts';
import { routeTableNames } from './route-table.ts';
import { streamListener } from './stream-listener.ts';

export type ListenerEmitOptions = ListenerOptions & ConnectionManagerOptions;

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
  const { listeners } = model;
  const connectionManagers = deriveConnectionManagers(engine, model, options, encoder);
  const bindings = deriveBinding(engine, model, options);
  // A unit of its own, so that other settings reach no chain.
  const tls = engine.derive('tls-settings', model.settings, (name, read) => existing(read, model.settings, name).tls);
  const partsOf = (connectionManager: NetworkFilter, read: Reader) => ({
    connectionManager,
    tls: existing(read, tls, SETTINGS),
  });
  const httpsParts = (read: Reader) => partsOf(existing(read, connectionManagers, 'https'), read);
  /** Absent where HTTP/3 is not served. */
  const quicParts = (read: Reader) => {
    const connectionManager = read(connectionManagers, QUIC_LISTENER);
    return connectionManager && partsOf(connectionManager, read);
  };
  const chains = deriveChains(engine, model, { httpsParts, quicParts, ...options }, encoder);
  const resources = deriveResource(engine, 'listener-resource', listeners, (name, read) => {
    const listener = existing(read, listeners, name);
    const binding = existing(read, bindings, SETTINGS);
    const connectionManager = existing(read, connectionManagers, listener.name);
    if (listener.name === 'http') {
      return encodedResource(name, encoder.encode(LISTENER, httpListener(listener, connectionManager, binding), name));
    }
    const serverNames = listener.serverNames.filter((target) => read(chains.tls, chainName(target)) !== undefined);
    const used = [...new Set([DEFAULT_CERTIFICATE, ...serverNames.map(chainName)])].sort();
    const rest = encoder.encode(LISTENER, httpsListener(listener, serverNames, httpsParts(read), binding), name);
    const bytes = Buffer.concat([rest, ...used.map((chain) => existing(read, chains.tls, chain))]);
    const leadsToClusters = serverNames.some((target) => 'passthrough' in target);
    return encodedResource(name, bytes, leadsToClusters ? { leadsToClusters } : {});
  });
  const isKnown = (certificate: string, read: Reader) => read(chains.quic, certificate) !== undefined;
  // Envoy takes no listener without a chain.
  const overQuic = engine.derive('quic-listener', [QUIC_LISTENER], (_, read) => {
    if (quicParts(read) === undefined) return undefined;
    const listener = existing(read, listeners, 'https');
    const serverNames = quicServerNames(listener).filter(({ certificate }) => isKnown(certificate, read));
    const hasDefault = isKnown(DEFAULT_CERTIFICATE, read);
    return hasDefault || serverNames.length > 0 ? { port: listener.port, serverNames, hasDefault } : undefined;
  });
  const quicResources = deriveResource(engine, 'quic-listener-resource', overQuic, (name, read) => {
    const parts = quicParts(read);
    if (parts === undefined) throw new Error('HTTP/3 is not served');
    const listener = existing(read, overQuic, name);
    const { serverNames, hasDefault } = listener;
    const certificates = serverNames.map(({ certificate }) => certificate);
    const used = [...new Set([...(hasDefault ? [DEFAULT_CERTIFICATE] : []), ...certificates])].sort();
    const rest = encoder.encode(LISTENER, quicListener(listener, parts, existing(read, bindings, SETTINGS)), name);
    const frames = used.map((certificate) => existing(read, chains.quic, certificate));
    return encodedResource(name, Buffer.concat([rest, ...frames]));
  });
  return { resources, quicResources, chainCertificates: chains.certificates, quicChains: chains.quic };
}

/** Only TCP is passed through, and what a policy says of TLS is about versions that QUIC has not. */
function quicServerNames({ serverNames }: Listener) {
  return serverNames.flatMap((target) =>
    'passthrough' in target ? [] : { name: target.name, certificate: target.certificate },
  );
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
