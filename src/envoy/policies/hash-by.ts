import type { HashBy } from '../../model/load-balancing.ts';
import { HASH_KEY } from '../filters/hash-key.ts';
import { formatString } from '../format.ts';
import { type ApplyPolicy, changeForwards } from './policy.ts';

/** Where the key stands while a request is served. */
const OBJECT = 'ingress.hash-key';

/**
 * The key is put together from the request as it came, before its path is rewritten. A key of which nothing is there is a key like any
 * other. What sessions say counts more.
 */
export const applyHashBy: ApplyPolicy<HashBy> = ({ key }, routes) =>
  changeForwards(routes, (action, route) => {
    if (action.hash_policy !== undefined) return {};
    const config = {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.set_filter_state.v3.Config',
      on_request_headers: [
        {
          object_key: OBJECT,
          factory_key: 'envoy.hashable_string',
          format_string: { text_format_source: { inline_string: formatString(key) }, omit_empty_values: true },
        },
      ],
    } as const;
    return {
      typed_per_filter_config: { ...route.typed_per_filter_config, [HASH_KEY.name]: config },
      route: { ...action, hash_policy: [{ filter_state: { key: OBJECT } }] },
    };
  });
