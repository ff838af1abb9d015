import {
  envoy_config_core_v3_HeaderValueOption_HeaderAppendAction as AppendAction,
  type envoy_config_core_v3_HeaderValueOption as HeaderValueOption,
} from '../gen/messages.ts';
import { alternativeService, type ForwardedSettings, type ProxySettings } from '../model/settings.ts';
import { literal } from './format.ts';

/** Sets a header whether or not it is there. `value` is a format string of Envoy: a literal `%` is written `%%`. */
export function overwrite(key: string, value: string): HeaderValueOption {
  return { header: { key, value }, append_action: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD };
}

/** Sets a header that is not there. */
export function addIfAbsent(key: string, value: string): HeaderValueOption {
  return { header: { key, value }, append_action: AppendAction.ADD_IF_ABSENT };
}

/**
 * A request that may have reached a backend is sent again only if its method is idempotent (`proxy_next_upstream` of nginx).
 * The router reads this header as an addition to the retry policy and removes it. An empty value sets nothing.
 */
const RETRY_AFTER_SENDING = overwrite(
  'x-envoy-retry-on',
  "%CEL(request.method in ['POST', 'LOCK', 'PATCH'] ? '' : 'reset')%",
);

/** What a backend learns of the client and of the request as it came, by the header names of ingress-nginx. */
export function requestHeaders({ trustsHeaders, appendsPeer }: ForwardedSettings): readonly HeaderValueOption[] {
  const setPort = trustsHeaders ? addIfAbsent : overwrite;
  return [
    overwrite('x-real-ip', CLIENT),
    overwrite('x-forwarded-for', appendsPeer ? CLIENT_AND_PEERS : CLIENT),
    overwrite('x-forwarded-host', '%REQ(:AUTHORITY)%'),
    setPort('x-forwarded-port', '%DOWNSTREAM_LOCAL_PORT%'),
    // Envoy itself sets X-Forwarded-Proto, from the connection, unless a request is believed to say it.
    overwrite('x-forwarded-scheme', '%REQ(X-FORWARDED-PROTO)%'),
    overwrite('x-scheme', '%REQ(X-FORWARDED-PROTO)%'),
    RETRY_AFTER_SENDING,
  ];
}

const CLIENT = '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%';

/** The list that the request came with stands, by then, in X-Original-Forwarded-For. */
const CLIENT_AND_PEERS =
  "%REQ(X-ORIGINAL-FORWARDED-FOR)%%CEL('x-original-forwarded-for' in request.headers ? ', ' : '')%" +
  '%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%';

/** Envoy adds it after the early mutations; backends behind ingress-nginx never saw it. */
export const REQUEST_HEADERS_TO_REMOVE: readonly string[] = ['x-envoy-external-address'];

/** On every answer over TLS, also of hosts without a certificate of their own, in place of what a backend says. */
export function headersOverTls({
  headers,
  listener,
}: Pick<ProxySettings, 'headers' | 'listener'>): HeaderValueOption[] {
  const { strictTransportSecurity } = headers;
  return [
    ...(strictTransportSecurity === undefined
      ? []
      : [overwrite('strict-transport-security', literal(strictTransportSecurity))]),
    ...(listener.http3 === undefined ? [] : [overwrite('alt-svc', alternativeService(listener.http3))]),
  ];
}
