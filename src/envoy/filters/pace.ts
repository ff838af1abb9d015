import {
  envoy_type_v3_FractionalPercent_DenominatorType as Denominator,
  type envoy_extensions_filters_http_fault_v3_HTTPFault as HttpFault,
  type envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter,
} from '../../gen/messages.ts';

const NAME = 'pace';
const TYPE = 'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault';

/** Sends each answer at a pace. Envoy has it among the faults that can be played. */
export const PACE: HttpFilter = { name: NAME, disabled: true, typed_config: { '@type': TYPE } };

/** For `typed_per_filter_config`. */
export function pacedAt(kilobytesPerSecond: number): {
  readonly [NAME]: HttpFault & { readonly '@type': typeof TYPE };
} {
  return {
    [NAME]: {
      '@type': TYPE,
      response_rate_limit: {
        fixed_limit: { limit_kbps: kilobytesPerSecond },
        percentage: { numerator: 100, denominator: Denominator.HUNDRED },
      },
    },
  };
}
