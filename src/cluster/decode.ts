/** From a manifest as parsed from YAML or JSON, or as the API server sent it, to the objects that are read. */
import type { ObjectRef } from '../model/object-ref.ts';
import { decodeConfigMap, decodeSecret, decodeService } from './decode-core.ts';
import { decodeEndpointSlice, decodeEndpoints } from './decode-endpoints.ts';
import { type Field, isPlainMap, member, note, type Problem, refuse, rootField, show } from './decode-fields.ts';
import { decodeIngress, decodeIngressClass } from './decode-ingress.ts';
import { type MetaOptions, readClusterMeta, readMeta } from './decode-meta.ts';
import type { KubernetesObject, ObjectMeta } from './objects.ts';

export interface Decoded {
  /** Empty when the object is invalid, of a kind that is not read, or means nothing (an Endpoints without subsets). */
  readonly objects: readonly KubernetesObject[];
  readonly problems: readonly Problem[];
  /** Which object the manifest is about, as far as it says so; absent for kinds that are not read. */
  readonly ref?: ObjectRef;
  /** The shape is not that of the kind: nothing of the object may be used. */
  readonly invalid: boolean;
}

/**
 * Objects from an API server keep their resourceVersion and uid, and always have a namespace. Manifests in files do neither:
 * an exported resourceVersion is stale, and `defaultNamespace` stands in.
 */
export type DecodeOptions = MetaOptions;

type Decoder = (root: Field, options: DecodeOptions) => { ref: ObjectRef; objects: readonly KubernetesObject[] };

const decoders: Readonly<Record<string, Decoder>> = {
  'networking.k8s.io/v1 Ingress': namespaced('Ingress', 'subdomain', (root, meta) => [decodeIngress(root, meta)]),
  'networking.k8s.io/v1 IngressClass': (root, options) => {
    const meta = readClusterMeta(root, options);
    return { ref: refOf('IngressClass', meta), objects: [decodeIngressClass(root, meta)] };
  },
  'v1 Service': namespaced('Service', 'label', (root, meta) => [decodeService(root, meta)]),
  'v1 Secret': namespaced('Secret', 'subdomain', (root, meta) => [decodeSecret(root, meta)]),
  'v1 ConfigMap': namespaced('ConfigMap', 'subdomain', (root, meta) => [decodeConfigMap(root, meta)]),
  'v1 Endpoints': namespaced('Endpoints', 'subdomain', decodeEndpoints),
  'discovery.k8s.io/v1 EndpointSlice': namespaced('EndpointSlice', 'subdomain', decodeEndpointSlice),
  'discovery.k8s.io/v1beta1 EndpointSlice': namespaced('EndpointSlice', 'subdomain', decodeEndpointSlice),
  'networking.k8s.io/v1beta1 Ingress': namespaced('Ingress', 'subdomain', refuseOldIngress),
  'extensions/v1beta1 Ingress': namespaced('Ingress', 'subdomain', refuseOldIngress),
  'networking.k8s.io/v1beta1 IngressClass': (root, options) => {
    const message = 'Kubernetes 1.22 removed this version; write networking.k8s.io/v1, the rest stays as it is';
    refuse(member(root, 'apiVersion'), message);
    return { ref: refOf('IngressClass', readClusterMeta(root, options)), objects: [] };
  },
};

const kindsRead = new Set(Object.keys(decoders).map((name) => name.slice(name.indexOf(' ') + 1)));

/** Lists are for `expandLists`. */
export function decodeObject(raw: unknown, options: DecodeOptions): Decoded {
  const problems: Problem[] = [];
  const root = rootField(raw, problems);
  const kind = member(root, 'kind').value;
  const apiVersion = member(root, 'apiVersion');
  if (typeof kind !== 'string' || !kindsRead.has(kind)) return nothing([]);
  if (typeof apiVersion.value !== 'string') {
    refuse(apiVersion, `${show(apiVersion)} is no apiVersion; a ${kind} needs one`);
    return nothing(problems);
  }
  const decoder = decoders[`${apiVersion.value} ${kind}`];
  if (decoder === undefined) return nothing([]);
  const { ref, objects } = decoder(root, options);
  const invalid = problems.some(({ severity }) => severity === 'error');
  const named = ref.name !== '' && ref.name === member(member(root, 'metadata'), 'name').value;
  return { objects: invalid ? [] : objects, problems, invalid, ...(named && { ref }) };
}

export interface Manifest {
  readonly value: unknown;
  /** Empty for the value itself, `items[3]` for what stands in a list. */
  readonly path: string;
}

/** The objects of a `List`, `IngressList`, … (also nested); any other value is itself. */
export function expandLists(value: unknown, path = ''): Manifest[] {
  if (!isPlainMap(value) || !isList(value)) return [{ value, path }];
  return value['items'].flatMap((item: unknown, index: number) => {
    const itemPath = `${path === '' ? '' : `${path}.`}items[${index}]`;
    return expandLists(withKindOfList(item, value), itemPath);
  });
}

function isList(value: Readonly<Record<string, unknown>>): value is { kind: string; items: unknown[] } {
  return typeof value['kind'] === 'string' && value['kind'].endsWith('List') && Array.isArray(value['items']);
}

/** The items of an `IngressList` do not repeat their kind. */
function withKindOfList(item: unknown, list: Readonly<Record<string, unknown>>): unknown {
  if (list['kind'] === 'List' || !isPlainMap(item)) return item;
  return { apiVersion: list['apiVersion'], kind: String(list['kind']).slice(0, -'List'.length), ...item };
}

function namespaced(
  kind: string,
  nameRule: 'label' | 'subdomain',
  decode: (root: Field, meta: ObjectMeta) => readonly KubernetesObject[],
): Decoder {
  return (root, options) => {
    const meta = readMeta(root, nameRule, options);
    return { ref: refOf(kind, meta), objects: decode(root, meta) };
  };
}

function refuseOldIngress(root: Field): readonly KubernetesObject[] {
  const version = member(root, 'apiVersion');
  const message = `Kubernetes 1.22 removed ${show(version)}; the Ingress is not served until it is written as networking.k8s.io/v1`;
  note(version, { severity: 'error', code: 'IngressApiVersionOld', message });
  return [];
}

function refOf(kind: string, meta: ObjectMeta): ObjectRef {
  return { kind, namespace: meta.namespace, name: meta.name };
}

function nothing(problems: readonly Problem[]): Decoded {
  return { objects: [], problems, invalid: problems.length > 0 };
}

/** The manifest that a decoded object came from: an Endpoints for the slices that were made of it, else the object itself. */
export function decodedOwner(ref: ObjectRef): ObjectRef {
  const [name, index] = ref.name.split('~');
  return index === undefined || ref.kind !== 'EndpointSlice' ? ref : { ...ref, kind: 'Endpoints', name: name ?? '' };
}
