/** Builders of Kubernetes manifests, as plain objects of the real API: what `kubectl` would send. */
import type { Pair } from './pki.ts';

export type Manifest = { readonly kind: string; readonly [field: string]: unknown };

export interface PathSpec {
  readonly path?: string;
  readonly pathType?: string;
  /** `web:80` or `web:http`; defaults to the Service of the Ingress. */
  readonly service?: string;
}

export interface IngressSpec {
  readonly name: string;
  readonly namespace?: string;
  readonly className?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** ISO time. */
  readonly created?: string;
  readonly rules?: readonly { readonly host?: string; readonly paths: readonly PathSpec[] }[];
  readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName?: string }[];
  readonly defaultBackend?: string;
}

export function ingress(spec: IngressSpec): Manifest {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: metadata(spec.name, spec.namespace, {
      ...(spec.annotations && { annotations: spec.annotations }),
      ...(spec.created && { creationTimestamp: spec.created }),
    }),
    spec: {
      ingressClassName: spec.className ?? 'nginx',
      ...(spec.defaultBackend && { defaultBackend: backend(spec.defaultBackend) }),
      ...(spec.tls && { tls: spec.tls }),
      rules: (spec.rules ?? []).map(({ host, paths }) => ({
        ...(host !== undefined && { host }),
        http: {
          paths: paths.map((path) => ({
            path: path.path ?? '/',
            pathType: path.pathType ?? 'Prefix',
            backend: backend(path.service ?? 'web:80'),
          })),
        },
      })),
    },
  };
}

/** `web:80` → a Service with one port; `ports` for more. */
export function service(
  name: string,
  ports: readonly {
    readonly name?: string;
    readonly port: number;
    readonly targetPort?: number | string;
    readonly protocol?: 'TCP' | 'UDP';
  }[] = [{ port: 80 }],
  namespace?: string,
): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(name, namespace),
    spec: { selector: { app: name }, ports: ports.map((port) => ({ protocol: 'TCP', ...port })) },
  };
}

export function externalName(
  name: string,
  hostname: string,
  port = 80,
  namespace?: string,
  targetPort?: number,
): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(name, namespace),
    spec: {
      type: 'ExternalName',
      externalName: hostname,
      ports: [{ port, protocol: 'TCP', ...(targetPort && { targetPort }) }],
    },
  };
}

export function endpointSlice(
  serviceName: string,
  addresses: readonly string[],
  options: {
    readonly suffix?: string;
    readonly port?: number;
    readonly portName?: string;
    readonly namespace?: string;
    readonly ready?: boolean;
    readonly addressType?: 'IPv4' | 'IPv6';
    readonly protocol?: 'TCP' | 'UDP';
  } = {},
): Manifest {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: metadata(`${serviceName}-${options.suffix ?? 'a'}`, options.namespace, {
      labels: { 'kubernetes.io/service-name': serviceName },
    }),
    addressType: options.addressType ?? 'IPv4',
    ports: [{ name: options.portName ?? '', port: options.port ?? 8080, protocol: options.protocol ?? 'TCP' }],
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: options.ready ?? true } })),
  };
}

export function tlsSecret(name: string, pair: Pair, namespace?: string): Manifest {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: metadata(name, namespace),
    data: { 'tls.crt': base64(pair.chain), 'tls.key': base64(pair.key) },
  };
}

/** Any Secret, from texts. */
export function secret(name: string, data: Readonly<Record<string, string>>, namespace?: string): Manifest {
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: metadata(name, namespace),
    data: Object.fromEntries(encoded),
  };
}

export function configMap(name: string, data: Readonly<Record<string, string>>, namespace?: string): Manifest {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata(name, namespace), data };
}

export function ingressClass(name: string, controller: string): Manifest {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name },
    spec: { controller },
  };
}

function metadata(name: string, namespace = 'default', more: Readonly<Record<string, unknown>> = {}): unknown {
  return { name, namespace, ...more };
}

function backend(text: string): unknown {
  const [name, port = '80'] = text.split(':');
  return { service: { name, port: /^\d+$/.test(port) ? { number: Number(port) } : { name: port } } };
}
