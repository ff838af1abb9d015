/** What the tests of this folder are written with: builders of cluster objects, and a small world that builds from them. */
import { ClusterState, type ObjectChange } from '../cluster/cluster-state.ts';
import type {
  ConfigMap,
  EndpointSlice,
  Ingress,
  IngressBackend,
  IngressClass,
  IngressRule,
  KubernetesObject,
  ObjectMeta,
  Secret,
  Service,
  ServicePort,
} from '../cluster/objects.ts';
import { Engine, type Pass } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectRef } from '../model/object-ref.ts';
import { PrivateKey, type ProxyModel, type ServerNameTarget } from '../model/proxy-model.ts';
import { SETTINGS } from '../model/settings.ts';
import { type Build, type BuildOptions, createBuild } from './build.ts';

/** PEM texts. */
export interface PemPair {
  readonly chain: string;
  readonly key: string;
}

function meta(key: string): ObjectMeta {
  const { namespace, name } = objectRef('', key);
  return { namespace, name, creationTimestamp: 0 };
}

/** `web:80` or `web:http`. */
export function backend(text: string): IngressBackend {
  const [name = '', port = ''] = text.split(':');
  return { service: { name, port: /^\d+$/.test(port) ? { number: Number(port) } : { name: port } } };
}

/** A rule whose paths are `Prefix /foo`, `Exact /foo` or `/foo` (no type), each with its backend. */
export function rule(host: string | undefined, paths: Readonly<Record<string, string>>): IngressRule {
  return {
    ...(host === undefined ? {} : { host }),
    paths: Object.entries(paths).map(([text, target]) => {
      const [type, path] = text.includes(' ') ? text.split(' ') : [undefined, text];
      return { path: path ?? '', backend: backend(target), ...(type === undefined ? {} : { pathType: type }) };
    }),
  };
}

/** Of class `nginx` unless said otherwise. */
export function ingress(key: string, fields: Partial<Ingress> = {}): Ingress {
  return { kind: 'Ingress', ...meta(key), annotations: {}, ingressClassName: 'nginx', rules: [], tls: [], ...fields };
}

export function ingressClass(name: string, controller = 'k8s.io/ingress-nginx'): IngressClass {
  return { kind: 'IngressClass', ...meta(name), controller };
}

export function service(
  key: string,
  ports: readonly Partial<ServicePort>[] = [{ port: 80 }],
  fields: Partial<Service> = {},
): Service {
  return {
    kind: 'Service',
    ...meta(key),
    annotations: {},
    type: 'ClusterIP',
    ports: ports.map((port) => ({ port: 80, protocol: 'TCP', ...port })),
    ...fields,
  };
}

export function externalName(key: string, hostname: string, ports: readonly Partial<ServicePort>[] = []): Service {
  return service(key, ports, { type: 'ExternalName', externalName: hostname });
}

/** Ready addresses behind TCP ports: `''` is the name of the unnamed port. */
export function endpointSlice(
  key: string,
  serviceName: string,
  addresses: readonly string[],
  ports: Readonly<Record<string, number>> = { '': 8080 },
): EndpointSlice {
  return {
    kind: 'EndpointSlice',
    ...meta(key),
    service: serviceName,
    addressType: 'IPv4',
    ports: Object.entries(ports).map(([name, port]) => ({ name, port, protocol: 'TCP' })),
    endpoints: addresses.map((address) => ({ addresses: [address], ready: true })),
  };
}

export function secret(key: string, data: Readonly<Record<string, string>>): Secret {
  const bytes = Object.entries(data).map(([name, text]) => [name, Buffer.from(text)] as const);
  return { kind: 'Secret', ...meta(key), type: 'kubernetes.io/tls', data: Object.fromEntries(bytes) };
}

export function tlsSecret(key: string, pair: PemPair): Secret {
  return secret(key, { 'tls.crt': pair.chain, 'tls.key': pair.key });
}

export function configMap(key: string, data: Readonly<Record<string, string>>): ConfigMap {
  return { kind: 'ConfigMap', ...meta(key), data };
}

export function upsert(object: KubernetesObject): ObjectChange {
  return { upsert: object };
}

export function remove({ kind, namespace, name }: KubernetesObject): ObjectChange {
  return { remove: { kind, namespace, name } };
}

/** An object to be set, or a change. */
export type Change = KubernetesObject | ObjectChange;

/** What the command line gives without flags. */
export function defaultOptions(generated: PemPair): BuildOptions {
  return {
    ingressClass: 'nginx',
    controllerClass: 'k8s.io/ingress-nginx',
    ingressClassByName: false,
    watchIngressWithoutClass: false,
    classNameWithoutObjects: true,
    annotationsPrefix: 'nginx.ingress.kubernetes.io',
    proxy: 'envoy',
    httpPort: 80,
    httpsPort: 443,
    generatedCertificate: { chain: generated.chain, key: new PrivateKey(generated.key) },
  };
}

/** An engine with its state and build, and the part of the controller that writes memory. */
export class World {
  readonly engine = new Engine();
  readonly state = new ClusterState(this.engine);
  readonly build: Build;

  constructor(generated: PemPair, options: Partial<BuildOptions> = {}) {
    this.build = createBuild(this.engine, this.state, { ...defaultOptions(generated), ...options });
  }

  get model(): ProxyModel {
    return this.build.model;
  }

  /** Applies changes and settles them in one pass. */
  apply(...changes: readonly Change[]): Pass {
    this.state.apply(changes.map((change) => ('kind' in change ? upsert(change) : change)));
    const pass = this.engine.pass();
    if (pass.failures.length > 0) throw pass.failures[0]?.error;
    for (const { key, value } of this.build.memory(pass)) this.state.memory.set(key, value);
    return pass;
  }

  /** How often units ran during a change, by table; tables whose units stood still are left out. */
  runsOf(change: () => void): Record<string, number> {
    const before = this.engine.counters();
    change();
    const runs = Object.entries(this.engine.counters()).map(
      ([name, counters]) => [name, counters.runs - (before[name]?.runs ?? 0)] as const,
    );
    return Object.fromEntries(runs.filter(([, count]) => count > 0));
  }

  diagnostics(): Diagnostic[] {
    return this.build.diagnosticTables.flatMap((table) =>
      [...table.keys()].flatMap((key) => table.get(key)?.diagnostics ?? []),
    );
  }

  /** `Code Kind namespace/name field`, sorted. */
  complaints(): string[] {
    return this.diagnostics()
      .map(({ code, ref, field }) => `${code} ${ref?.kind} ${ref?.namespace}/${ref?.name} ${field ?? ''}`.trim())
      .toSorted();
  }

  /**
   * The routes of a host, or of one of its aliases, in match order, in short: `exact /foo → shop/web/80`, `prefix / → 404`, with
   * `(https)` if redirected.
   */
  routes(name: string): string[] {
    const { virtualHosts } = this.model;
    const host = [...virtualHosts.keys()].find((key) => key === name || virtualHosts.get(key)?.aliases?.includes(name));
    return (virtualHosts.get(host ?? name)?.routes ?? []).map(({ match, action, policy }) => {
      const target = action.kind === 'forward' ? action.cluster.name : String(action.status);
      return `${match.kind} ${match.path} → ${target}${policy.httpsRedirect ? ' (https)' : ''}`;
    });
  }

  addresses(name: string): string[] | undefined {
    return this.model.endpoints.get(name)?.addresses.map(({ ip, port }) => `${ip} ${port}`);
  }

  /** Who answers each name: a certificate, with the ciphers of a policy in brackets, or `→` a cluster. */
  serverNames(): Record<string, string> {
    const names = this.model.listeners.get('https')?.serverNames ?? [];
    return Object.fromEntries(names.map(({ name, ...target }) => [name, describeTarget(target)]));
  }

  /** The whole model as plain data, in a fixed order. */
  dump(): unknown {
    const { listeners, streamListeners, virtualHosts, clusters, endpoints, certificates } = this.model;
    const tables = { listeners, streamListeners, virtualHosts, clusters, endpoints, certificates };
    const plain = Object.entries(tables).map(([name, table]) => {
      const entries = [...table.keys()].toSorted().map((key) => [key, table.get(key)]);
      return [name, Object.fromEntries(entries)];
    });
    const settings = this.model.settings.get(SETTINGS);
    return { ...Object.fromEntries(plain), settings, complaints: this.complaints(), held: this.build.held() };
  }
}

export function describeTarget(target: ServerNameTarget): string {
  if ('passthrough' in target) return `→ ${target.passthrough}`;
  const { certificate, tls } = target;
  if (tls === undefined) return certificate;
  const order = tls.prefersClientCiphers ? ' as clients like' : '';
  return `${certificate} [${tls.ciphers?.join(' ') ?? '*'}${order}]`;
}
