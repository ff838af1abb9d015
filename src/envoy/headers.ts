import {
  envoy_config_core_v3_HeaderValueOption_HeaderAppendAction as AppendAction,
  type envoy_config_common_mutation_rules_v3_HeaderMutation as HeaderMutation,
  type envoy_config_core_v3_HeaderValueOption as HeaderValueOption,
} from '../gen/messages.ts';
import type { HeaderSettings } from '../model/settings.ts';
import { literal } from './format.ts';

/** Sets a header whether or not it is there. `value` is a format string of Envoy: a literal `%` is written `%%`. */
export function overwrite(key: string, value: string): HeaderValueOption {
  return { header: { key, value }, append_action: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD };
}

/**
 * What is done to a request before anything else looks at it: clients cannot steer Envoy by `x-envoy-` headers, cannot reach
 * `HTTP_PROXY` of CGI backends (httpoxy), and the `X-Forwarded-For` they sent is kept under another name, as ingress-nginx does.
 */
export const EARLY_REQUEST_MUTATIONS: readonly HeaderMutation[] = [
  { remove_on_match: { key_matcher: { prefix: 'x-envoy-' } } },
  { remove: 'proxy' },
  { remove: 'x-original-forwarded-for' },
  { append: overwrite('x-original-forwarded-for', '%REQ(X-FORWARDED-FOR)%') },
];

/**
 * A request that may have reached a backend is sent again only if its method is idempotent (`proxy_next_upstream` of nginx).
 * The router reads this header as an addition to the retry policy and removes it. An empty value sets nothing.
 */
const RETRY_AFTER_SENDING = overwrite(
  'x-envoy-retry-on',
  "%CEL(request.method in ['POST', 'LOCK', 'PATCH'] ? '' : 'reset')%",
);

/** What a backend learns of the client and of the request as it came, by the header names of ingress-nginx. */
export const REQUEST_HEADERS: readonly HeaderValueOption[] = [
  overwrite('x-real-ip', '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%'),
  overwrite('x-forwarded-for', '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%'),
  overwrite('x-forwarded-host', '%REQ(:AUTHORITY)%'),
  overwrite('x-forwarded-port', '%DOWNSTREAM_LOCAL_PORT%'),
  // Envoy itself sets X-Forwarded-Proto, from the connection.
  overwrite('x-forwarded-scheme', '%REQ(X-FORWARDED-PROTO)%'),
  overwrite('x-scheme', '%REQ(X-FORWARDED-PROTO)%'),
  RETRY_AFTER_SENDING,
];

/** Envoy adds it after the early mutations; backends behind ingress-nginx never saw it. */
export const REQUEST_HEADERS_TO_REMOVE: readonly string[] = ['x-envoy-external-address'];

/** On every answer over TLS, also of hosts without a certificate of their own. */
export function strictTransportSecurity({ strictTransportSecurity: value }: HeaderSettings): HeaderValueOption[] {
  return value === undefined ? [] : [overwrite('strict-transport-security', literal(value))];
}
