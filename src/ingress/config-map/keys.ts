/** Every key of the ConfigMap (`--configmap`). A key stands in the file of what it is about. */
import type { ConfigMapKey, KeyValues } from '../declaration/config-map-key.ts';
import { acceptanceKeys } from './acceptance.ts';
import { accessKeys } from './access.ts';
import { redirectKeys } from './redirects.ts';
import { upstreamKeys } from './upstream.ts';

const allKeys = {
  ...acceptanceKeys,
  ...accessKeys,
  ...redirectKeys,
  ...upstreamKeys,
};

export type ConfigMapKeyName = keyof typeof allKeys;

/** What the ConfigMap says: of every key its value, or its default. */
export type ConfigMapValues = KeyValues<typeof allKeys>;

/** By name. */
export const configMapKeys = allKeys as unknown as Readonly<Record<ConfigMapKeyName, ConfigMapKey>>;
