-- Answers the control plane, over a socket that only its user can open.
--   GET  /checksum   what is in force
--   POST /update     { base, checksum, backends, certificates, names }: changes what stands in it; null removes
-- A body without `base` replaces everything; what stands in both is there all the time. One with a `base` that is not in force is answered 409, and changes nothing.
local cjson = require("cjson.safe")
local store = require("ingress.store")

local configuration = {}

local function answer(status, text)
  ngx.status = status
  ngx.header["Content-Type"] = "text/plain"
  ngx.print(text)
  return ngx.exit(ngx.HTTP_OK)
end

local function read_body()
  ngx.req.read_body()
  local body = ngx.req.get_body_data()
  if body ~= nil then
    return body
  end
  local file = ngx.req.get_body_file()
  if file == nil then
    return nil
  end
  local handle = io.open(file, "rb")
  if handle == nil then
    return nil
  end
  local content = handle:read("*a")
  handle:close()
  return content
end

local function is_text(value)
  return type(value) == "string"
end

local function is_text_or_null(value)
  return value == cjson.null or is_text(value)
end

local function are_peers(value)
  if value == cjson.null then
    return true
  end
  if type(value) ~= "table" then
    return false
  end
  for key, peer in pairs(value) do
    if type(key) ~= "number" or type(peer) ~= "table" or not is_text(peer[1]) or type(peer[2]) ~= "number" then
      return false
    end
  end
  return true
end

local function check(part, name, is_valid)
  if part == nil then
    return true
  end
  if type(part) ~= "table" then
    return nil, name .. " is no object"
  end
  for key, value in pairs(part) do
    if not is_text(key) or not is_valid(value) then
      return nil, name .. "." .. tostring(key) .. " is not as expected"
    end
  end
  return true
end

local parts = {
  { name = "backends", is_valid = are_peers, set = store.set_peers },
  { name = "certificates", is_valid = is_text_or_null, set = store.set_certificate },
  { name = "names", is_valid = is_text_or_null, set = store.set_certificate_of },
}

local function update(body)
  local change = body and cjson.decode(body)
  if type(change) ~= "table" or not is_text(change.checksum) then
    return answer(400, "not an update")
  end
  for _, part in ipairs(parts) do
    local ok, err = check(change[part.name], part.name, part.is_valid)
    if not ok then
      return answer(400, err)
    end
  end
  if change.base ~= nil and change.base ~= store.checksum() then
    return answer(409, store.checksum())
  end
  -- Until everything is written nobody may take it for complete.
  store.set_checksum("")
  if change.base == nil then
    store.keep_only(change)
  end
  for _, part in ipairs(parts) do
    for key, value in pairs(change[part.name] or {}) do
      local ok, err = part.set(key, value)
      if not ok then
        return answer(507, err)
      end
    end
  end
  store.set_checksum(change.checksum)
  return answer(200, change.checksum)
end

function configuration.serve()
  local method, uri = ngx.req.get_method(), ngx.var.uri
  if method == "GET" and uri == "/checksum" then
    return answer(200, store.checksum())
  elseif method == "POST" and uri == "/update" then
    return update(read_body())
  end
  return answer(404, "not found")
end

return configuration
