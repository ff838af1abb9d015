-- Which of several peers a request goes to. What is known of them is known to this worker.
local choice = {}

-- Where each upstream stands in its list. Workers begin at different places, so that the first address is not everybody's first.
local positions = {}

-- How many tries are under way at each peer, by its address and port.
local under_way = {}

local function name_of(peer)
  return peer[1] .. ":" .. peer[2]
end

function choice.round_robin(upstream, peers)
  local position = positions[upstream] or math.random(0, #peers)
  position = position % #peers + 1
  positions[upstream] = position
  return peers[position]
end

-- Of two at random the one with fewer tries under way.
function choice.ewma(peers)
  local first = math.random(#peers)
  -- Another one than the first.
  local second = (first + math.random(math.max(1, #peers - 1)) - 1) % #peers + 1
  local a, b = peers[first], peers[second]
  if (under_way[name_of(b)] or 0) < (under_way[name_of(a)] or 0) then
    return b
  end
  return a
end

-- The peers in the order in which a key prefers them. Each peer is weighed by itself, so that only the keys move for which one has
-- come that they prefer, or their own has gone.
local function preferred(key, peers)
  local weights, order = {}, {}
  for index, peer in ipairs(peers) do
    local name = name_of(peer)
    -- Twice: one checksum alone differs between two peers by the same bits, whatever the key.
    weights[peer] = ngx.crc32_long(ngx.crc32_long(key .. name) .. name)
    order[index] = peer
  end
  table.sort(order, function(a, b)
    return weights[a] > weights[b] or (weights[a] == weights[b] and name_of(a) < name_of(b))
  end)
  return order
end

-- The try that counts from 0: another peer each time, as far as there are others. With a subset any of the first so many.
function choice.hash(key, peers, subset, try)
  local order = preferred(key, peers)
  local size = math.min(subset, #order)
  if try == 0 and size > 1 then
    return order[math.random(size)]
  end
  return order[try % #order + 1]
end

-- A try begins at a peer; the one before, if any, has ended.
function choice.begin(context, peer)
  choice.finish(context)
  local name = name_of(peer)
  under_way[name] = (under_way[name] or 0) + 1
  context.peer_under_way = name
end

function choice.finish(context)
  local name = context.peer_under_way
  if name == nil then
    return
  end
  context.peer_under_way = nil
  local left = under_way[name] - 1
  under_way[name] = left > 0 and left or nil
end

return choice
