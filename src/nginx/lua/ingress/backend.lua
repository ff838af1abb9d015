-- Which upstream a request goes to where there are canaries, and which peer of it where clients have sessions. The rules come as JSON
-- with the location:
--   canaries  list of { upstream, log, header, value, pattern, cookie, millionths, sticky }; `millionths` add up along the list
--   session   { mode, change, name, attributes, samesite, old, secure }
local cjson = require("cjson.safe")

local backend = {}

-- Parsed rules by their text, of which there are as many as the configuration has.
local parsed = {}

function backend.rules()
  local text = ngx.var.backend_rules
  local rules = parsed[text]
  if rules == nil then
    rules = cjson.decode(text) or {}
    parsed[text] = rules
  end
  return rules
end

local function cookie(name)
  local value = ngx.var["cookie_" .. name]
  if value == "" then
    return nil
  end
  return value
end

-- `always` and `never` decide, everything else does not.
local function by_word(word, canary, primary)
  if word == "always" then
    return canary
  elseif word == "never" then
    return primary
  end
end

local function by_header(canary, primary)
  local value = canary.header and ngx.var["http_" .. canary.header]
  if not value then
    return nil
  elseif canary.value then
    return value == canary.value and canary or nil
  elseif canary.pattern then
    return ngx.re.find(value, canary.pattern, "jo") and canary or nil
  end
  return by_word(value, canary, primary)
end

-- The cookie of a side: each has its own, so that none leads to the endpoints of another. None for a canary that does not keep clients.
local function session_name(session, canaries, side)
  for index, canary in ipairs(canaries) do
    if canary == side then
      return canary.sticky and session.name .. "-canary" .. (index > 1 and "-" .. index or "") or nil
    end
  end
  return session.name
end

-- Where the client has been before; only canaries that keep clients ask.
local function by_session(session, canaries, primary)
  local asked = false
  local found
  for _, canary in ipairs(canaries) do
    local name = session_name(session, canaries, canary)
    asked = asked or name ~= nil
    found = found or name and cookie(name) and canary
  end
  if asked and cookie(session.name) then
    return primary
  end
  return found
end

-- The side that a request goes to: one of the canaries, or `primary`.
local function choose_side(rules, primary)
  local canaries = rules.canaries or {}
  local known = rules.session and by_session(rules.session, canaries, primary)
  if known then
    return known
  end
  for _, canary in ipairs(canaries) do
    local side = by_header(canary, primary) or canary.cookie and by_word(cookie(canary.cookie), canary, primary)
    if side then
      return side
    end
  end
  local number = math.random(0, 999999)
  for _, canary in ipairs(canaries) do
    if canary.millionths and number < canary.millionths then
      return canary
    end
  end
  return primary
end

-- The upstream of a request, the name of its backend for the log, and the session that holds there.
function backend.choose(upstream)
  local rules = backend.rules()
  local primary = { upstream = upstream, log = "" }
  local side = choose_side(rules, primary)
  local session = rules.session
  local name = session and session_name(session, rules.canaries or {}, side)
  return side.upstream, side.log, name and { rules = session, name = name } or nil
end

local function address(peer)
  return peer[1] .. ":" .. peer[2]
end

-- The peer that a key leads to: each peer is ranked by key and address together, so that others coming or going move few keys.
local function peer_of_key(key, peers)
  local best, best_rank
  for _, peer in ipairs(peers) do
    local rank = ngx.md5(key .. " " .. address(peer))
    if best_rank == nil or rank > best_rank then
      best, best_rank = peer, rank
    end
  end
  return best
end

local function new_key()
  return ngx.md5(ngx.now() .. "." .. ngx.worker.pid() .. "." .. math.random(0, 2147483647))
end

local function set_cookie(session, value)
  local rules = session.rules
  local text = session.name .. "=" .. value .. "; " .. rules.attributes
  if rules.samesite and not (rules.old and ngx.re.find(ngx.var.http_user_agent or "", rules.old, "jo")) then
    text = text .. "; SameSite=" .. rules.samesite
  end
  if rules.secure == true or rules.secure and ngx.var.scheme == "https" then
    text = text .. "; Secure"
  end
  -- In place of what an earlier try has said; what the backend sets comes beside it.
  ngx.header["Set-Cookie"] = text
end

-- A peer for a client without a session; `failed` is not chosen again if there are others.
local function begin_session(session, peers, failed)
  local peer, key
  for _ = 1, 20 do
    key = new_key()
    peer = peer_of_key(key, peers)
    if failed == nil or address(peer) ~= address(failed) then
      break
    end
  end
  set_cookie(session, session.rules.mode == "persistent" and ngx.md5(address(peer)) or key)
  return peer
end

-- The peer of the client's session, which begins if there is none.
function backend.session_peer(session, peers)
  local value = cookie(session.name)
  if value and session.rules.mode == "persistent" then
    for _, peer in ipairs(peers) do
      if ngx.md5(address(peer)) == value then
        return peer
      end
    end
  elseif value then
    return peer_of_key(value, peers)
  end
  return begin_session(session, peers)
end

-- After a failure of its peer.
function backend.next_session_peer(session, peers, failed)
  if not session.rules.change then
    return failed
  end
  return begin_session(session, peers, failed)
end

return backend
