import type {
  envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter,
  envoy_config_route_v3_Route as RouteMessage,
} from '../../gen/messages.ts';

/**
 * What is replaced comes from the route, as texts: `NAME_match` (`equal`, `prefix` or `pattern`), `NAME_from` and `NAME_to` for `location`,
 * `domain` and `path`; `session` is the name of a cookie of the proxy itself, which stays as it is. Envoy itself can neither change one of several cookies nor a part of a header.
 */
const SCRIPT = `
local function replaced(context, name, value)
  local match = context[name .. "_match"]
  if match == nil then return nil end
  local from = context[name .. "_from"]
  local to = context[name .. "_to"]
  if match == "prefix" then
    if value:sub(1, #from) == from then return to .. value:sub(#from + 1) end
    return nil
  end
  if match == "equal" then
    local dot, rest = value:match("^(%.?)(.*)$")
    if rest:lower() == from:lower() then return dot .. to end
    return nil
  end
  -- An expression looks at every place of the value: a backend must not keep the proxy busy by a long one.
  if #value > 4096 then return nil end
  if name == "domain" then
    value = value:lower()
    from = from:lower()
  end
  if value:find(from) then return to end
  return nil
end

local function cookie(context, text)
  local session = context["session"]
  if session ~= nil and text:sub(1, #session + 1) == session .. "=" then return text end
  return (text:gsub("(;%s*)([^=;%s]*)(%s*=%s*)([^;]*)", function(before, name, between, value)
    local known = name:lower()
    if known ~= "domain" and known ~= "path" then return nil end
    local after = replaced(context, known, (value:gsub("%s+$", "")))
    return after and before .. name .. between .. after
  end))
end

function envoy_on_response(handle)
  local given = handle:filterContext()
  local context = {}
  for key, value in pairs(given) do context[key] = value end
  local headers = handle:headers()
  local location = headers:get("location")
  local after = location and replaced(context, "location", location)
  if after then headers:replace("location", after) end
  local refresh = headers:get("refresh")
  local before, url
  if refresh then before, url = refresh:match("^(.-[uU][rR][lL]=)(.*)$") end
  after = url and replaced(context, "location", url)
  if after then headers:replace("refresh", before .. after) end
  local cookies = {}
  for index = 0, headers:getNumValues("set-cookie") - 1 do
    cookies[index + 1] = cookie(context, headers:getAtIndex("set-cookie", index))
  end
  if #cookies == 0 then return end
  headers:remove("set-cookie")
  for _, text in ipairs(cookies) do headers:add("set-cookie", text) end
end
`;

export const ANSWER_REWRITE_SCRIPT = 'answer-rewrite';

/** Changes addresses in the answers of backends. It stands last, so that what other filters add is not changed. */
export const ANSWER_REWRITE = {
  name: 'answer-rewrite',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua',
    source_codes: { [ANSWER_REWRITE_SCRIPT]: { inline_string: SCRIPT } },
  },
  disabled: true,
} as const satisfies HttpFilter;

/** Settings of a route by which the script leaves the cookie of this name alone: the router adds it before filters see the answer. */
export function exceptCookie(filters: FilterConfigs, name: string): FilterConfigs {
  const config = filters[ANSWER_REWRITE.name] as LuaPerRoute | undefined;
  if (config === undefined) return filters;
  const fields = { ...config.filter_context?.fields, session: { string_value: name } };
  const changed: unknown = { ...config, filter_context: { fields } };
  return { ...filters, [ANSWER_REWRITE.name]: changed as FilterConfigs[string] };
}

type FilterConfigs = NonNullable<RouteMessage['typed_per_filter_config']>;

type LuaPerRoute = { readonly filter_context?: { readonly fields?: Readonly<Record<string, unknown>> } };
