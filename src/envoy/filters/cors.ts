import type {
  envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter,
  envoy_config_route_v3_Route as RouteMessage,
} from '../../gen/messages.ts';
import type { AllowedOrigin, CorsPolicy } from '../../model/cors.ts';
import { corsHeaders } from '../../model/cors.ts';

/**
 * What routes say: the headers by their names, and, unless every origin is allowed, `origins` and `wildcards`, lists of which each item
 * stands between line breaks; a wildcard without its `*`. The origin of a request is noted, since an answer does not tell it.
 */
const SCRIPT = `
local NOTES = "cors"
local ORIGIN = "access-control-allow-origin"
local HEADERS = {
  "access-control-allow-credentials",
  "access-control-allow-methods",
  "access-control-allow-headers",
  "access-control-expose-headers",
  "access-control-max-age",
}

local function holds(list, item)
  return list ~= nil and list:find("\\n" .. item .. "\\n", 1, true) ~= nil
end

local function allowed(context, origin)
  local origins = context:get("origins")
  if origins == nil then return "*" end
  if origin == nil then return nil end
  local lower = origin:lower()
  if holds(origins, lower) then return origin end
  local scheme, rest = lower:match("^(.-://)[a-z0-9-]+(%..+)$")
  if scheme ~= nil and holds(context:get("wildcards"), scheme .. rest) then return origin end
  return nil
end

function envoy_on_request(handle)
  local headers = handle:headers()
  local origin = allowed(handle:filterContext(), headers:get("origin"))
  if origin == nil then return end
  handle:streamInfo():dynamicMetadata():set(NOTES, "origin", origin)
  if headers:get(":method") == "OPTIONS" then handle:respond({[":status"] = "204"}, "") end
end

function envoy_on_response(handle)
  local notes = handle:streamInfo():dynamicMetadata():get(NOTES)
  if notes == nil then return end
  local context = handle:filterContext()
  local headers = handle:headers()
  if context:get(ORIGIN) ~= nil then headers:replace(ORIGIN, notes["origin"]) end
  for _, name in ipairs(HEADERS) do
    local value = context:get(name)
    if value ~= nil then headers:replace(name, value) end
  end
end
`;

const SCRIPT_NAME = 'cors';
const TYPE = 'type.googleapis.com/envoy.extensions.filters.http.lua.v3';

/**
 * Tells browsers about pages of other origins, and answers `OPTIONS`. A script, since Envoy's own filter answers 200 and preflight requests
 * alone. It stands before what protects a backend.
 */
export const CORS = {
  name: 'cors',
  typed_config: { '@type': `${TYPE}.Lua`, source_codes: { [SCRIPT_NAME]: { inline_string: SCRIPT } } },
  disabled: true,
} as const satisfies HttpFilter;

type FilterConfigs = NonNullable<RouteMessage['typed_per_filter_config']>;

/** For `typed_per_filter_config`. */
export function cors(policy: CorsPolicy): FilterConfigs {
  const fields = { 'access-control-allow-origin': '', ...Object.fromEntries(corsHeaders(policy)), ...lists(policy) };
  return configured(Object.entries(fields).map(([name, text]) => [name, { string_value: text }]));
}

/** The same without these headers, which something else says. */
export function withoutHeaders(filters: FilterConfigs, names: ReadonlySet<string>): FilterConfigs {
  const config = filters[CORS.name] as ReturnType<typeof perRoute> | undefined;
  const fields = Object.entries(config?.filter_context.fields ?? {});
  const kept = fields.filter(([name]) => !names.has(name));
  return kept.length === fields.length ? filters : { ...filters, ...configured(kept) };
}

type Fields = readonly (readonly [name: string, value: { readonly string_value: string }])[];

function configured(fields: Fields): FilterConfigs {
  return { [CORS.name]: perRoute(fields) };
}

function perRoute(fields: Fields) {
  const filter_context = { fields: Object.fromEntries(fields) };
  return { '@type': `${TYPE}.LuaPerRoute`, name: SCRIPT_NAME, filter_context } as const;
}

function lists({ origins }: CorsPolicy): { readonly origins?: string; readonly wildcards?: string } {
  if (origins === 'any') return {};
  const list = (some: readonly AllowedOrigin[]) => `\n${some.map(textOf).join('\n')}\n`;
  const isWildcard = (origin: AllowedOrigin) => origin.scheme !== undefined && origin.oneLabelBefore;
  const wildcards = origins.filter(isWildcard);
  return {
    origins: list(origins.filter((origin) => !isWildcard(origin))),
    ...(wildcards.length > 0 && { wildcards: list(wildcards) }),
  };
}

function textOf(origin: AllowedOrigin): string {
  if (origin.scheme === undefined) return 'null';
  const { scheme, host, oneLabelBefore, port } = origin;
  return `${scheme}://${oneLabelBefore ? '.' : ''}${host}${port === undefined ? '' : `:${port}`}`.toLowerCase();
}
