import type { ConfigMap, Ingress } from '../cluster/objects.ts';
import { type ObjectRef, objectRef } from '../model/object-ref.ts';
import { annotationFeatures } from './annotations/index.ts';
import { configMapKeys } from './config-map/keys.ts';
import type { AnnotationKey } from './declaration/annotation.ts';
import type { ConfigMapKey } from './declaration/config-map-key.ts';
import { contentOf } from './declaration/content.ts';
import { keyOf, type NamedObject } from './declaration/references.ts';

/** The annotations that name an object, without prefix; older names included. */
const referring: readonly (readonly [name: string, declaration: AnnotationKey])[] = annotationFeatures.flatMap(
  ({ keys }) =>
    Object.entries(keys)
      .filter(([, { refersTo }]) => refersTo !== undefined)
      .flatMap(([name, declaration]) =>
        [name, ...(declaration.alias === undefined ? [] : [declaration.alias])].map(
          (one) => [one, declaration] as const,
        ),
      ),
);

/**
 * The Secrets and ConfigMaps that an Ingress refers to, each once: sources that do not hold everything read these.
 * @param prefix of annotations, without its slash
 */
export function referencesOf({ namespace, tls, annotations }: Ingress, prefix: string): readonly ObjectRef[] {
  const refs = new Map<string, ObjectRef>();
  const add = (kind: string, key: string) => refs.set(`${kind} ${key}`, objectRef(kind, key));
  for (const { secretName } of tls) if (secretName) add('Secret', `${namespace}/${secretName}`);
  for (const [name, { codec, refersTo }] of referring) {
    const text = contentOf(annotations, `${prefix}/${name}`);
    const decoded = text === undefined ? undefined : codec.decode(text);
    if (refersTo !== undefined && decoded !== undefined && 'value' in decoded)
      add(refersTo, keyOf(decoded.value as NamedObject, namespace));
  }
  return [...refs.values()];
}

const referringKeys: readonly (readonly [name: string, declaration: ConfigMapKey])[] = Object.entries(
  configMapKeys as Readonly<Record<string, ConfigMapKey>>,
).filter(([, { refersTo }]) => refersTo !== undefined);

/** The ConfigMaps that the ConfigMap (`--configmap`) refers to. */
export function referencesOfConfigMap({ data }: ConfigMap): readonly ObjectRef[] {
  return referringKeys.flatMap(([name, { codec, refersTo }]) => {
    const text = contentOf(data, name);
    const decoded = text === undefined ? undefined : codec.decode(text);
    if (refersTo === undefined || decoded === undefined || !('value' in decoded)) return [];
    return [objectRef(refersTo, String(decoded.value))];
  });
}
