-- Chooses the certificate of each TLS handshake by the server name: the exact name, a wildcard of one label, the default.
local ocsp = require("ngx.ocsp")
local ssl = require("ngx.ssl")
local store = require("ingress.store")

local certificate = {}

local DEFAULT = "default-certificate"

local function parse(pem)
  local chain, err = ssl.parse_pem_cert(pem)
  if chain == nil then
    return nil, err
  end
  local key
  key, err = ssl.parse_pem_priv_key(pem)
  if key == nil then
    return nil, err
  end
  local staple = pem:match("%-%-%-%-%-BEGIN OCSP RESPONSE%-%-%-%-%-%s(.-)%s%-%-%-%-%-END")
  return { chain = chain, key = key, staple = staple and ngx.decode_base64(staple) }
end

local function certificate_name(server_name)
  if server_name == nil then
    return DEFAULT
  end
  local name = server_name:lower():gsub("%.$", "")
  local found = store.certificate_of(name)
  if found == nil then
    local wildcard = name:gsub("^[^.]+", "*", 1)
    found = store.certificate_of(wildcard)
  end
  return found or DEFAULT
end

function certificate.choose()
  local pair = store.certificate(certificate_name(ssl.server_name()), parse) or store.certificate(DEFAULT, parse)
  -- Nothing is known in the first moment of a new master; what the configuration names answers then.
  if pair == nil then
    return
  end
  local ok, err = ssl.clear_certs()
  if ok then
    ok, err = ssl.set_cert(pair.chain)
  end
  if ok then
    ok, err = ssl.set_priv_key(pair.key)
  end
  if not ok then
    ngx.log(ngx.ERR, "cannot use the certificate: ", err)
    return ngx.exit(ngx.ERROR)
  end
  if pair.staple ~= nil then
    -- Does nothing where the client does not ask for it.
    ok, err = ocsp.set_ocsp_status_resp(pair.staple)
    if not ok then
      ngx.log(ngx.WARN, "cannot use the OCSP response: ", err)
    end
  end
end

return certificate
