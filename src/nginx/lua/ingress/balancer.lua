-- Chooses the backend of each request among the addresses that are known now, one after another; backend.lua says more of sessions.
local backend = require("ingress.backend")
local choice = require("ingress.choice")
local ngx_balancer = require("ngx.balancer")
local store = require("ingress.store")

local balancer = {}

local function next_peer(upstream, peers)
  local context = ngx.ctx
  local kind = ngx.var.choice
  if kind == "hash" then
    local try = context.tries or 0
    context.tries = try + 1
    return choice.hash(ngx.var.choice_key, peers, tonumber(ngx.var.choice_subset), try)
  elseif kind == "ewma" then
    local peer = choice.ewma(peers)
    choice.begin(context, peer)
    return peer
  end
  return choice.round_robin(upstream, peers)
end

-- The request has ended.
function balancer.done()
  choice.finish(ngx.ctx)
end

-- Before a request goes to its backend: without an address there is nothing to try.
function balancer.require_peers()
  local peers = store.peers(ngx.var.upstream)
  if peers == nil or #peers == 0 then
    return ngx.exit(tonumber(ngx.var.status_without_endpoints))
  end
  ngx.ctx.peers = peers
end

-- The same where the location has rules for the choice: canaries, sessions.
function balancer.choose()
  local upstream, alternative, session = backend.choose(ngx.var.upstream)
  ngx.var.upstream = upstream
  ngx.var.proxy_alternative_upstream_name = alternative
  balancer.require_peers()
  if session then
    ngx.ctx.session = session
    ngx.ctx.peer = backend.session_peer(session, ngx.ctx.peers)
  end
end

-- The peer of this try.
local function peer_of_try(upstream, peers)
  local context = ngx.ctx
  if context.session == nil then
    return next_peer(upstream, peers)
  elseif context.tried then
    context.peer = backend.next_session_peer(context.session, peers, context.peer)
  end
  context.tried = true
  return context.peer
end

function balancer.balance()
  local peers = ngx.ctx.peers
  local upstream = ngx.var.upstream
  if peers == nil then
    return ngx.exit(ngx.HTTP_SERVICE_UNAVAILABLE)
  end
  -- One more for each try, up to `proxy_next_upstream_tries`. A Service with a single address is tried there again, as by
  -- ingress-nginx: connections that were kept may have ended meanwhile.
  ngx_balancer.set_more_tries(1)
  local peer = peer_of_try(upstream, peers)
  local ok, err = ngx_balancer.set_current_peer(peer[1], peer[2])
  if not ok then
    ngx.log(ngx.ERR, "cannot use ", peer[1], ":", peer[2], ": ", err)
  end
end

return balancer
