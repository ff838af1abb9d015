/** A client of the API server for tests and for the process kubelet. It shares nothing with the client of the product. */
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import { eventually } from './eventually.ts';

export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMetadata;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of many kinds
  readonly [field: string]: any;
}

export interface ObjectMetadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export interface ApiCredentials {
  /** Default: https://127.0.0.1:6443 */
  readonly server?: string;
  /** PEM */
  readonly ca: string;
  /** PEM, both: a client certificate. */
  readonly certificate?: string;
  readonly key?: string;
  readonly token?: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed when it is JSON, else text. */
  // biome-ignore lint/suspicious/noExplicitAny: what the API server answers
  readonly body: any;
}

/** An answer of 300 or above. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;

  constructor(method: string, path: string, { status, body }: ApiAnswer) {
    super(`${method} ${path}: ${status} ${typeof body === 'string' ? body.trim() : body?.message}`);
    this.status = status;
  }
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubernetesObject;
}

/** What `apply` and the like accept: builders of manifests leave metadata untyped. */
export type Manifest = { readonly kind: string; readonly [field: string]: unknown };

export interface ApiClient {
  /** Resolves for every status; rejects when no answer came. */
  send(method: string, path: string, body?: unknown, contentType?: string): Promise<ApiAnswer>;
  /** These reject with ApiError for a status of 300 or above. */
  get(path: string): Promise<KubernetesObject>;
  list(path: string): Promise<readonly KubernetesObject[]>;
  create(path: string, body: unknown): Promise<KubernetesObject>;
  /** JSON merge patch. */
  patch(path: string, body: unknown, contentType?: string): Promise<KubernetesObject>;
  delete(path: string, options?: unknown): Promise<void>;
  /** Creates the objects, or makes them what is given here (server-side apply). */
  apply(...manifests: readonly Manifest[]): Promise<readonly KubernetesObject[]>;
  /** Deletes the objects, and resolves when they are gone; those that are gone already do no harm. */
  remove(...manifests: readonly Manifest[]): Promise<void>;
  /** The object as it is now. */
  read(manifest: Manifest): Promise<KubernetesObject>;
  /** One watch on a connection of its own: ends when the server ends it. */
  watch(path: string, signal?: AbortSignal): AsyncGenerator<WatchEvent>;
  close(): void;
}

export const API_SERVER = 'https://127.0.0.1:6443';
const TIMEOUT_MS = 15_000;

/** Kinds that tests use: plural, and whether they live in a namespace. */
const kinds: Readonly<Record<string, { readonly plural: string; readonly cluster?: true }>> = {
  ClusterRole: { plural: 'clusterroles', cluster: true },
  ClusterRoleBinding: { plural: 'clusterrolebindings', cluster: true },
  ConfigMap: { plural: 'configmaps' },
  CustomResourceDefinition: { plural: 'customresourcedefinitions', cluster: true },
  DaemonSet: { plural: 'daemonsets' },
  Deployment: { plural: 'deployments' },
  EndpointSlice: { plural: 'endpointslices' },
  Event: { plural: 'events' },
  Ingress: { plural: 'ingresses' },
  IngressClass: { plural: 'ingressclasses', cluster: true },
  Lease: { plural: 'leases' },
  Namespace: { plural: 'namespaces', cluster: true },
  Node: { plural: 'nodes', cluster: true },
  Pod: { plural: 'pods' },
  Role: { plural: 'roles' },
  RoleBinding: { plural: 'rolebindings' },
  Secret: { plural: 'secrets' },
  Service: { plural: 'services' },
  ServiceAccount: { plural: 'serviceaccounts' },
  ValidatingWebhookConfiguration: { plural: 'validatingwebhookconfigurations', cluster: true },
};

/** `/apis/networking.k8s.io/v1/namespaces/shop/ingresses/web` @throws Error for a kind that is not in the table. */
export function pathOf(manifest: Manifest | KubernetesObject): string {
  const { apiVersion = 'v1', kind = '', metadata } = manifest as KubernetesObject;
  const { plural, cluster } = kinds[kind] ?? {};
  if (plural === undefined) throw new Error(`the tests' client does not know the kind ${kind}`);
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const namespace = cluster ? '' : `/namespaces/${metadata.namespace ?? 'default'}`;
  return `${group}${namespace}/${plural}/${metadata.name}`;
}

export function createApiClient(credentials: ApiCredentials): ApiClient {
  const server = new URL(credentials.server ?? API_SERVER);
  const tls = {
    ca: credentials.ca,
    ...(credentials.certificate !== undefined && { cert: credentials.certificate, key: credentials.key }),
  };
  const agent = new Agent({ keepAlive: true, ...tls });
  const open = async (
    method: string,
    path: string,
    options: { readonly body?: unknown; readonly contentType?: string } & Pick<RequestOptions, 'agent' | 'signal'>,
  ): Promise<IncomingMessage> => {
    const data = options.body === undefined ? undefined : JSON.stringify(options.body);
    const outgoing = httpsRequest({
      ...tls,
      ...(options.signal && { signal: options.signal }),
      agent: options.agent ?? false,
      host: server.hostname,
      port: server.port,
      method,
      path,
      headers: {
        accept: 'application/json',
        ...(credentials.token !== undefined && { authorization: `Bearer ${credentials.token}` }),
        ...(data !== undefined && {
          'content-type': options.contentType ?? 'application/json',
          'content-length': Buffer.byteLength(data),
        }),
      },
    });
    outgoing.setTimeout(TIMEOUT_MS, () => outgoing.destroy(new Error(`${method} ${path}: no answer`)));
    outgoing.end(data);
    // What breaks the connection later is an error of the response.
    outgoing.on('error', () => {});
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    return response.setEncoding('utf8');
  };
  const send: ApiClient['send'] = async (method, path, body, contentType) => {
    const response = await open(method, path, { body, agent, ...(contentType !== undefined && { contentType }) });
    let text = '';
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode ?? 0, headers: response.headers, body: parse(text) };
  };
  const must = async (
    method: string,
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<KubernetesObject> => {
    const answer = await send(method, path, body, contentType);
    if (answer.status >= 300) throw new ApiError(method, path, answer);
    return answer.body;
  };
  const apply = async (manifest: Manifest) => {
    const body = { apiVersion: 'v1', ...manifest };
    return await must('PATCH', `${pathOf(body)}?fieldManager=test&force=true`, body, 'application/apply-patch+yaml');
  };
  const remove = async (manifest: Manifest) => {
    const path = pathOf(manifest);
    await eventually(`${path} gone`, async () => {
      const { status } = await send('DELETE', path, { propagationPolicy: 'Background' });
      return status === 404;
    });
  };
  return {
    send,
    get: (path) => must('GET', path),
    list: async (path) => (await must('GET', path))['items'],
    create: (path, body) => must('POST', path, body),
    patch: (path, body, contentType = 'application/merge-patch+json') => must('PATCH', path, body, contentType),
    delete: async (path, options) => void (await must('DELETE', path, options)),
    apply: async (...manifests) => {
      const applied: KubernetesObject[] = [];
      for (const manifest of manifests) applied.push(await apply(manifest));
      return applied;
    },
    remove: async (...manifests) => void (await Promise.all(manifests.map(remove))),
    read: (manifest) => must('GET', pathOf(manifest)),
    watch: async function* (path, signal) {
      const response = await open('GET', path, { ...(signal && { signal }) });
      // The server says nothing while nothing happens.
      response.socket.setTimeout(0);
      let rest = '';
      try {
        for await (const chunk of response) {
          const lines = `${rest}${chunk}`.split('\n');
          rest = lines.pop() ?? '';
          if (response.statusCode === 200) yield* lines.map((line) => JSON.parse(line) as WatchEvent);
          else rest = `${lines.join('\n')}${rest}`;
        }
      } finally {
        response.destroy();
      }
      const { statusCode: status = 0, headers } = response;
      if (status !== 200) throw new ApiError('WATCH', path, { status, headers, body: parse(rest) });
    },
    close: () => agent.destroy(),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
