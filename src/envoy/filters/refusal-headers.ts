import type {
  envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter,
  envoy_config_route_v3_RouteConfiguration as RouteConfiguration,
} from '../../gen/messages.ts';
import type { HeaderSettings } from '../../model/settings.ts';
import { answerFormatString } from '../format.ts';
import { addIfAbsent } from '../headers.ts';

const TYPE = 'type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3';

/**
 * Headers of answers that a filter gives where no backend would have: a host that nobody claims, a redirect. Envoy does not ask the route
 * table about their headers. All other answers have them already.
 */
export const REFUSAL_HEADERS = {
  name: 'refusal-headers',
  typed_config: { '@type': `${TYPE}.HeaderMutation` },
  disabled: true,
} as const satisfies HttpFilter;

/** What a route table says for all of its routes, so that a change reaches no connection; absent where there is nothing to add. */
export function refusalHeaders({ response, server }: HeaderSettings): RouteConfiguration['typed_per_filter_config'] {
  const mutations = [
    ...(server === 'none' ? [] : [addIfAbsent('server', 'nginx')]),
    ...response.set.map(({ name, value }) => addIfAbsent(name, answerFormatString(value))),
  ];
  if (mutations.length === 0) return undefined;
  return {
    [REFUSAL_HEADERS.name]: {
      '@type': `${TYPE}.HeaderMutationPerRoute`,
      mutations: { response_mutations: mutations.map((append) => ({ append })) },
    },
  };
}
