import type {
  envoy_type_http_v3_CookieAttribute,
  envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter,
  envoy_config_route_v3_Route as RouteMessage,
} from '../../gen/messages.ts';

/** Sends requests to the endpoint that their cookie names. Routes with such sessions say which cookie. */
export const STATEFUL_SESSION: HttpFilter = {
  name: 'stateful-session',
  disabled: true,
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSession' },
};

/** For the routes whose sessions are kept in this cookie, which ends with the browser unless an attribute says when. */
export function statefulSession(cookie: {
  readonly name: string;
  readonly path: string;
  readonly attributes: readonly envoy_type_http_v3_CookieAttribute[];
}): NonNullable<RouteMessage['typed_per_filter_config']> {
  return {
    [STATEFUL_SESSION.name ?? '']: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute',
      stateful_session: {
        session_state: {
          name: 'envoy.http.stateful_session.cookie',
          typed_config: {
            '@type': 'type.googleapis.com/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState',
            cookie: { ...cookie, ttl: {} },
          },
        },
      },
    },
  };
}
