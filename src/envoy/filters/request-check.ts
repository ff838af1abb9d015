import {
  type envoy_config_accesslog_v3_AccessLogFilter as AccessLogFilter,
  type envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter,
  type envoy_config_rbac_v3_Permission as Permission,
  envoy_config_rbac_v3_RBAC_Action as RbacAction,
} from '../../gen/messages.ts';
import type { ProxySettings, TextPattern } from '../../model/settings.ts';
import { stringMatcher } from '../match.ts';

/** Names of the policies, which Envoy writes into the details of the response: the local replies map them to a status. */
export const METHOD_NOT_ALLOWED = 'method-not-allowed';
export const BAD_REQUEST = 'bad-request';

/** A `%` that two hexadecimal digits do not follow, in the path without its query. */
const BROKEN_ESCAPE = '.*%(?:[^0-9A-Fa-f].*|[0-9A-Fa-f](?:[^0-9A-Fa-f].*)?)?';

/** Envoy looks at no more of them than this; behind a longer list it would take the last proxy for the client. */
const MAX_FORWARDED = 20;

function refused({ namesClient }: ProxySettings['forwarded']): Readonly<Record<string, readonly Permission[]>> {
  const tooMany = { string_match: { safe_regex: { regex: `(?:[^,]*,){${MAX_FORWARDED},}.*` } } };
  return {
    [METHOD_NOT_ALLOWED]: [methodIs('TRACE')],
    [BAD_REQUEST]: [
      methodIs('CONNECT'),
      { url_path: { path: { safe_regex: { regex: BROKEN_ESCAPE } } } },
      ...(namesClient ? [{ header: { name: 'x-forwarded-for', ...tooMany } }] : []),
    ],
  };
}

/**
 * Refuses what nginx refuses of any request, whatever its host, and Envoy would pass on; and a client that hides its address in a
 * list that is too long for Envoy. It stands in the connection manager once, so that no host pays for it.
 */
export function requestCheck({ forwarded, logs }: ProxySettings): HttpFilter {
  return {
    name: 'request-check',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC',
      ...unloggedRequests(logs.requests?.skip ?? []),
      rules: {
        action: RbacAction.DENY,
        policies: Object.fromEntries(
          Object.entries(refused(forwarded)).map(([name, permissions]) => [
            name,
            { permissions, principals: [{ any: true }] },
          ]),
        ),
      },
    },
  };
}

/**
 * Marks the requests that the access log leaves out, by their paths as they came. The log itself sees the path that a backend got, and
 * its expressions may not be large.
 */
function unloggedRequests(skip: readonly TextPattern[]) {
  if (skip.length === 0) return {};
  const permissions = skip.map((pattern) => ({ header: { name: ':path', string_match: stringMatcher(pattern) } }));
  return {
    shadow_rules: {
      action: RbacAction.DENY,
      policies: { unlogged: { permissions, principals: [{ any: true }] } },
    },
  } as const;
}

/** Holds for requests that are not marked; what is answered before the check of requests is not. */
export const IS_NOT_MARKED: AccessLogFilter = {
  metadata_filter: {
    matcher: {
      filter: 'envoy.filters.http.rbac',
      path: [{ key: 'shadow_engine_result' }],
      value: { string_match: { exact: 'allowed' } },
    },
  },
};

function methodIs(method: string): Permission {
  return { header: { name: ':method', string_match: { exact: method } } };
}
