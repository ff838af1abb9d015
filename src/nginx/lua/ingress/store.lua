-- What is changed at run time: the addresses of backends, the certificates, and the names that they answer.
-- It lives in memory that all workers share and that survives a reload; each worker keeps what it has parsed.
local cjson = require("cjson.safe")

local backends = ngx.shared.ingress_backends
local certificates = ngx.shared.ingress_certificates

local store = {}

-- Parsed values by key, each with the version that it was parsed from. Only of this worker.
local parsed = {}

local function read(dict, kind, name, parse)
  local key = kind .. " " .. name
  -- The flags of an entry are its version, so that a look-up copies no more than is needed.
  local value, version = dict:get(key)
  if value == nil then
    parsed[key] = nil
    return nil
  end
  local known = parsed[key]
  if known ~= nil and known.version == version then
    return known.value
  end
  local result, err = parse(value)
  if result == nil then
    ngx.log(ngx.ERR, "cannot read ", key, ": ", err)
    return known and known.value
  end
  parsed[key] = { version = version, value = result }
  return result
end

-- Versions only have to differ from the one before.
local function next_version(dict)
  return dict:incr("last version", 1, 0) % 4294967295 + 1
end

local function write(dict, kind, name, value)
  local key = kind .. " " .. name
  if value == nil or value == cjson.null then
    dict:delete(key)
    return true
  end
  -- A new version would be parsed anew by every worker.
  if dict:get(key) == value then
    return true
  end
  -- Without the force to evict others: what no longer fits must be told, not lost.
  local ok, err = dict:safe_set(key, value, 0, next_version(dict))
  if not ok then
    return nil, key .. ": " .. tostring(err)
  end
  return true
end

-- Peers of an upstream: a list of { address, port }; nil for an upstream that is not known.
function store.peers(upstream)
  return read(backends, "backend", upstream, cjson.decode)
end

function store.set_peers(upstream, peers)
  if peers == nil or peers == cjson.null then
    return write(backends, "backend", upstream, nil)
  end
  return write(backends, "backend", upstream, cjson.encode(peers))
end

-- The PEM of a certificate with its key, turned by `parse` into what the TLS library takes.
function store.certificate(name, parse)
  return read(certificates, "certificate", name, parse)
end

function store.set_certificate(name, pem)
  return write(certificates, "certificate", name, pem)
end

-- The name of the certificate that answers a server name.
function store.certificate_of(server_name)
  return (certificates:get("name " .. server_name))
end

function store.set_certificate_of(server_name, certificate)
  return write(certificates, "name", server_name, certificate)
end

function store.checksum()
  return (backends:get("checksum")) or ""
end

function store.set_checksum(checksum)
  return backends:safe_set("checksum", checksum)
end

local function remove_others(dict, kept)
  for _, key in ipairs(dict:get_keys(0)) do
    if not kept[key] then
      dict:delete(key)
      parsed[key] = nil
    end
  end
end

-- Removes what is not in these tables, before others take its place.
function store.keep_only(tables)
  local kept = { ["last version"] = true, checksum = true }
  for kind, name in pairs({ backend = "backends", certificate = "certificates", name = "names" }) do
    for key in pairs(tables[name] or {}) do
      kept[kind .. " " .. key] = true
    end
  end
  remove_others(backends, kept)
  remove_others(certificates, kept)
end

return store
