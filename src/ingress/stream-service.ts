/** TCP and UDP services: the entries of the ConfigMaps of `--tcp-services-configmap` and `--udp-services-configmap`. */
import { memberPath } from '../cluster/decode-fields.ts';
import type { ConfigMap, Service } from '../cluster/objects.ts';
import type { Engine, Key, Reader, Table } from '../derive.ts';
import type { Diagnostic, DiagnosticCode, Severity } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import type { ClusterReference, StreamListener, StreamListenerName } from '../model/proxy-model.ts';
import { diagnose, quote } from './diagnose.ts';
import { externalPort, type ReadExternalName } from './external-name.ts';
import { clusterReference } from './names.ts';
import { findStreamPort } from './service-port.ts';
import { parseStreamEntry, type StreamEntry } from './stream-entry.ts';

export interface StreamOptions {
  /** `--tcp-services-configmap` */
  readonly tcpServices?: ObjectKey;
  /** `--udp-services-configmap` */
  readonly udpServices?: ObjectKey;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Ports of this machine that listen for something else, of the proxy and of the control plane. */
  readonly reservedPorts?: readonly number[];
}

export interface StreamSources {
  readonly configMaps: Table<ConfigMap>;
  readonly services: Table<Service>;
  readonly readExternalName: ReadExternalName;
}

/** What an entry wants, whether or not its Service has endpoints. */
export interface StreamService {
  readonly configMap: ObjectKey;
  /** `data.9000` */
  readonly field: string;
  /** Absent when the entry names nothing that could be forwarded to. */
  readonly wanted?: {
    readonly protocol: StreamListener['protocol'];
    readonly port: number;
    readonly cluster: ClusterReference;
    readonly proxyProtocol: boolean;
  };
  readonly diagnostics: readonly Diagnostic[];
}

interface RawEntry {
  readonly protocol: StreamListener['protocol'];
  readonly key: string;
  readonly value: string;
}

interface FoundConfigMap {
  readonly diagnostics: readonly Diagnostic[];
}

export interface StreamServices {
  /** Keyed by listener name: a unit per entry. */
  readonly entries: Table<StreamService>;
  /** Keyed by protocol: whether the ConfigMap exists. */
  readonly configMaps: Table<FoundConfigMap>;
}

export function deriveStreamServices(engine: Engine, sources: StreamSources, options: StreamOptions): StreamServices {
  const { configMaps } = sources;
  const named = Object.entries({ tcp: options.tcpServices, udp: options.udpServices }).flatMap(([protocol, key]) =>
    key === undefined ? [] : [{ protocol: protocol as StreamListener['protocol'], key }],
  );
  const reserved = new Set([options.httpPort, options.httpsPort, ...(options.reservedPorts ?? [])]);
  const raw = engine.reduce<ConfigMap, RawEntry, Map<Key, RawEntry>, RawEntry & { readonly configMap: ObjectKey }>(
    'stream-entry',
    configMaps,
    {
      spread: (configMap, { data }) =>
        named.filter(({ key }) => key === configMap).flatMap(({ protocol }) => entriesOf(protocol, data)),
      init: () => new Map(),
      add: (entries, configMap, entry) => void entries.set(configMap, entry),
      remove: (entries, configMap) => void entries.delete(configMap),
      empty: (entries) => entries.size === 0,
      view: (entries) => {
        // One ConfigMap for each protocol, which the name of the listener tells.
        const [configMap, entry] = entries.entries().next().value!;
        return { ...entry, configMap };
      },
      equal: (before, now) => before.value === now.value,
    },
  );
  const entries = engine.derive<StreamService>('stream-service', raw, (name, read) => {
    const entry = read(raw, name);
    return entry && resolve(read, sources, entry, reserved);
  });
  return { entries, configMaps: deriveFound(engine, configMaps, named) };
}

function entriesOf(
  protocol: StreamListener['protocol'],
  data: ConfigMap['data'],
): (readonly [StreamListenerName, RawEntry])[] {
  return Object.entries(data).map(([key, value]) => [`${protocol}-${key}`, { protocol, key, value }] as const);
}

function deriveFound(
  engine: Engine,
  configMaps: Table<ConfigMap>,
  named: readonly { readonly protocol: string; readonly key: ObjectKey }[],
): Table<FoundConfigMap> {
  const keys = new Map(named.map(({ protocol, key }) => [protocol, key]));
  return engine.derive<FoundConfigMap>('stream-config-map', [...keys.keys()], (protocol, read) => {
    const key = keys.get(protocol) ?? '';
    if (read(configMaps, key) !== undefined) return { diagnostics: [] };
    const message = `does not exist (--${protocol}-services-configmap); there are no ${protocol.toUpperCase()} services`;
    return { diagnostics: [diagnose(objectRef('ConfigMap', key), 'warning', 'ConfigMapNotFound', message)] };
  });
}

function resolve(
  read: Reader,
  sources: StreamSources,
  { protocol, key, value, configMap }: RawEntry & { readonly configMap: ObjectKey },
  reserved: ReadonlySet<number>,
): StreamService {
  const field = memberPath('data', key);
  const diagnostics: Diagnostic[] = [];
  const report = (severity: Severity, code: DiagnosticCode, message: string) =>
    void diagnostics.push(diagnose(objectRef('ConfigMap', configMap), severity, code, message, field));
  const entry = parseStreamEntry(protocol, key, value, reserved);
  if ('reason' in entry) {
    report('error', 'StreamEntryInvalid', `${entry.reason}; nothing is served by it`);
    return { configMap, field, diagnostics };
  }
  if (entry.ignored.length > 0) {
    const what = entry.ignored.map(quote).join(', ');
    const why = protocol === 'udp' ? 'UDP has no PROXY protocol' : 'the third and the fourth part are PROXY or empty';
    report('warning', 'StreamEntryInvalid', `${what} is ignored: ${why}`);
  }
  const found = findCluster(read, sources, protocol, entry);
  if ('code' in found) {
    report('error', found.code, `${found.message}; ${protocol.toUpperCase()} port ${entry.port} is closed`);
    return { configMap, field, diagnostics };
  }
  const { port, proxyProtocol } = entry;
  const wanted = { protocol, port, cluster: found, proxyProtocol: proxyProtocol.fromClient };
  return { configMap, field, wanted, diagnostics };
}

function findCluster(
  read: Reader,
  { services, readExternalName }: StreamSources,
  protocol: StreamListener['protocol'],
  { namespace, service: name, servicePort: text, proxyProtocol }: StreamEntry,
): ClusterReference | { readonly code: DiagnosticCode; readonly message: string } {
  const key = `${namespace}/${name}`;
  const service = read(services, key);
  if (service === undefined) return { code: 'ServiceNotFound', message: `Service ${key} does not exist` };
  const udp = protocol === 'udp' ? ({ protocol: 'UDP' } as const) : {};
  const servicePort = findStreamPort(service, text, udp.protocol ?? 'TCP');
  const port = String(servicePort?.port ?? text);
  if (service.type === 'ExternalName') {
    const external = readExternalName(service.externalName);
    if ('reason' in external) {
      const message = `Service ${key}: the external name ${quote(service.externalName ?? '')} ${external.reason}`;
      return { code: 'ExternalNameInvalid', message };
    }
  }
  const found = service.type === 'ExternalName' ? externalPort(service, port, udp.protocol) : servicePort;
  if (found === undefined) {
    const message = `Service ${key} has no ${protocol.toUpperCase()} port ${quote(text)}`;
    return { code: 'ServicePortNotFound', message };
  }
  const policy = proxyProtocol.toService ? ({ proxyProtocol: true } as const) : undefined;
  return clusterReference({ namespace, service: name, port, ...udp }, policy);
}
