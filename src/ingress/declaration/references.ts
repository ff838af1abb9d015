import type { ObjectKey } from '../../model/object-ref.ts';
import type { Codec } from './codec.ts';
import { codec } from './codec.ts';

/** A name as Kubernetes takes it. */
const NAME = '[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?';
const QUALIFIED = new RegExp(`^(?:(${NAME})/)?(${NAME})$`);

/** The name of an object, which may be in another namespace where that is allowed. */
export interface NamedObject {
  /** Absent: the namespace of whatever names it. */
  readonly namespace?: string;
  readonly name: string;
}

/** `name` or `namespace/name`. */
export const objectName: Codec<NamedObject> = codec('a name, or namespace/name', (text) => {
  const [, namespace, name] = QUALIFIED.exec(text) ?? [];
  return name === undefined ? undefined : { name, ...(namespace !== undefined && { namespace }) };
});

/** `namespace/name` */
export const qualifiedName: Codec<ObjectKey> = codec('namespace/name', (text) => {
  const [, namespace, name] = QUALIFIED.exec(text) ?? [];
  return namespace === undefined ? undefined : `${namespace}/${name}`;
});

/** The key of the object that somebody in `namespace` names. */
export function keyOf({ namespace, name }: NamedObject, own: string): ObjectKey {
  return `${namespace ?? own}/${name}`;
}
