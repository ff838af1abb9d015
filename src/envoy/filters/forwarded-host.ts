import type { envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter } from '../../gen/messages.ts';

/**
 * What `X-Forwarded-Host` says, the first name of a list, is the Host that backends see, and where redirects lead to. The route is
 * chosen before and stays. A script, since Envoy's filters for headers do not touch this one.
 */
export const FORWARDED_HOST: HttpFilter = {
  name: 'forwarded-host',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua',
    default_source_code: {
      inline_string: `function envoy_on_request(handle)
  local headers = handle:headers()
  local forwarded = headers:get('x-forwarded-host')
  local host = forwarded and forwarded:match('^[ ,]*([^ ,]+)')
  if host then headers:replace(':authority', host) end
end
`,
    },
    clear_route_cache: { value: false },
  },
};
