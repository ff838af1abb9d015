import type { Engine, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectRef } from '../model/object-ref.ts';
import type { Cluster, Endpoints, StreamListener } from '../model/proxy-model.ts';
import { diagnose } from './diagnose.ts';
import type { StreamService } from './stream-service.ts';

export interface StreamListenerSources {
  readonly streamServices: Table<StreamService>;
  readonly clusters: Table<Cluster>;
  readonly endpoints: Table<Endpoints>;
}

interface StreamPort {
  readonly listener?: StreamListener;
  readonly diagnostics: readonly Diagnostic[];
}

export interface StreamListeners {
  readonly listeners: Table<StreamListener>;
  /** Keyed by listener name: those that are closed say why. */
  readonly ports: Table<StreamPort>;
}

/** Unit per entry. Without endpoints the port is closed, as in ingress-nginx: nothing could answer there. */
export function deriveStreamListeners(engine: Engine, sources: StreamListenerSources): StreamListeners {
  const { streamServices, clusters, endpoints } = sources;
  const ports = engine.derive<StreamPort>('stream-port', streamServices, (name, read) => {
    const { wanted, configMap, field } = read(streamServices, name) ?? {};
    if (wanted === undefined || configMap === undefined) return { diagnostics: [] };
    const { protocol, port, proxyProtocol } = wanted;
    const cluster = read(clusters, wanted.cluster.name);
    if (cluster === undefined) return { diagnostics: [] };
    // Whether an external name has addresses, the proxy alone knows.
    const isOpen = cluster.kind !== 'endpoints' || (read(endpoints, cluster.endpoints)?.addresses.length ?? 0) > 0;
    if (!isOpen) {
      const { namespace, service, port: servicePort } = wanted.cluster;
      const message = `no endpoint of Service ${namespace}/${service}, port ${servicePort}, is ready; ${protocol.toUpperCase()} port ${port} is closed`;
      return {
        diagnostics: [
          diagnose(objectRef('ConfigMap', configMap), 'warning', 'ServiceWithoutEndpoints', message, field),
        ],
      };
    }
    const listener = { name, protocol, port, cluster: cluster.name, ...(proxyProtocol && { proxyProtocol }) };
    return { listener, diagnostics: [] };
  });
  const listeners = engine.derive<StreamListener>(
    'stream-listener',
    ports,
    (name, read) => read(ports, name)?.listener,
  );
  return { listeners, ports };
}
