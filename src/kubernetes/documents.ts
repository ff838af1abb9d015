/** What every document of the Kubernetes API has in common, read without trust in its shape. */
import { KubernetesUnreachable } from './errors.ts';
import { asMap } from './json.ts';

export interface ListPage {
  /** Each with `kind` and `apiVersion`, which lists leave out. */
  readonly items: readonly unknown[];
  /** resourceVersion of the whole list. */
  readonly version: string;
  /** The token that asks for the next page; absent on the last one. */
  readonly next: string | undefined;
}

/**
 * @throws KubernetesUnreachable when this is not a list of that kind. What a proxy in between answers must not be taken for a
 *   list of nothing, which would remove every object.
 */
export function readPage(body: unknown, kind: string, apiVersion: string): ListPage {
  const list = asMap(body);
  const version = readVersion(body);
  const items = list['items'] ?? [];
  if (list['kind'] !== `${kind}List` || version === undefined || !Array.isArray(items)) {
    throw new KubernetesUnreachable(`The API server answered something else than a list of the kind ${kind}`);
  }
  const next = asMap(list['metadata'])['continue'];
  return {
    items: items.map((item: unknown) => ({ apiVersion, kind, ...asMap(item) })),
    version,
    next: typeof next === 'string' && next !== '' ? next : undefined,
  };
}

/** `undefined` when there is none. */
export function readVersion(object: unknown): string | undefined {
  const version = asMap(asMap(object)['metadata'])['resourceVersion'];
  return typeof version === 'string' && version !== '' ? version : undefined;
}

/** Empty strings where they are missing. */
export function readName(object: unknown): { readonly namespace: string; readonly name: string } {
  const { namespace, name } = asMap(asMap(object)['metadata']);
  return { namespace: typeof namespace === 'string' ? namespace : '', name: typeof name === 'string' ? name : '' };
}
