import {
  type Field,
  isLabel,
  isSubdomain,
  member,
  readMap,
  readText,
  readTextMap,
  refuse,
  show,
  warnUnknown,
} from './decode-fields.ts';
import type { ObjectMeta } from './objects.ts';

export interface MetaOptions {
  /** Absent: an object without namespace is refused. */
  readonly defaultNamespace?: string;
  /** Also the uid: what only an API server gives. */
  readonly keepResourceVersion: boolean;
}

/** Members that every object has. */
export const TOP_LEVEL = ['apiVersion', 'kind', 'metadata'];

/** Members of the metadata of any object. */
const METADATA = [
  ...['name', 'namespace', 'labels', 'annotations', 'finalizers', 'ownerReferences', 'generateName'],
  ...['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation', 'resourceVersion', 'uid'],
  ...['managedFields', 'selfLink'],
];

/** A copy of the whole object, which would double what is kept for each. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

export function readAnnotations(root: Field): Readonly<Record<string, string>> {
  const { [LAST_APPLIED]: _, ...annotations } = readTextMap(member(member(root, 'metadata'), 'annotations'));
  return annotations;
}

/** The metadata of a namespaced object. `nameRule` says what names its kind allows. */
export function readMeta(root: Field, nameRule: 'label' | 'subdomain', options: MetaOptions): ObjectMeta {
  return { ...readCommonMeta(root, nameRule, options), namespace: readNamespace(root, options.defaultNamespace) };
}

/** The metadata of a cluster-scoped object: a namespace has no meaning there. */
export function readClusterMeta(root: Field, options: MetaOptions): ObjectMeta {
  return { ...readCommonMeta(root, 'subdomain', options), namespace: '' };
}

function readCommonMeta(root: Field, nameRule: 'label' | 'subdomain', options: MetaOptions): ObjectMeta {
  const metadata = member(root, 'metadata');
  readMap(metadata);
  // A misspelt `annotations` would leave a backend without what protects it.
  warnUnknown(metadata, METADATA);
  const generation = member(metadata, 'generation').value;
  const { keepResourceVersion } = options;
  const resourceVersion = keepResourceVersion ? readText(member(metadata, 'resourceVersion')) : undefined;
  const uid = keepResourceVersion ? readText(member(metadata, 'uid')) : undefined;
  return {
    namespace: '',
    name: readName(member(metadata, 'name'), nameRule),
    creationTimestamp: readTimestamp(member(metadata, 'creationTimestamp')),
    ...(typeof generation === 'number' && { generation }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(uid !== undefined && { uid }),
  };
}

function readName(field: Field, rule: 'label' | 'subdomain'): string {
  const name = readText(field) ?? '';
  if (field.value === undefined) refuse(field, 'A name is required');
  else if (typeof field.value === 'string' && !(rule === 'label' ? isLabel(name) : isSubdomain(name))) {
    refuse(
      field,
      `${show(field)} is no DNS ${rule === 'label' ? 'label' : 'name'}: lower-case letters, digits and "-"`,
    );
  }
  return name;
}

function readNamespace(root: Field, fallback: string | undefined): string {
  const field = member(member(root, 'metadata'), 'namespace');
  const namespace = readText(field) || fallback;
  if (namespace === undefined) refuse(field, 'A namespace is required');
  else if (!isLabel(namespace)) refuse(field, `${show(field)} is no DNS label: lower-case letters, digits and "-"`);
  return namespace ?? '';
}

/** Whole seconds since 1970; 0 when absent. */
function readTimestamp(field: Field): number {
  const text = readText(field);
  if (text === undefined) return 0;
  const milliseconds = Date.parse(text);
  if (Number.isNaN(milliseconds)) refuse(field, `${show(field)} is no time such as "2026-03-01T12:00:00Z"`);
  return Number.isNaN(milliseconds) ? 0 : Math.floor(milliseconds / 1000);
}
