-- Writes the changes that the orders of this call share: amounts, live orders, claims, unsettled index and state.
local function write_call()
  if #unsettled == 0 then return end
  for index = BASE, QUOTE do
    if opened[KEYS[index]] then write_amounts(opened[KEYS[index]], false) end
  end
  for index = LEVELS, LEVELS + 1 do
    if opened[KEYS[index]] then write_amounts(opened[KEYS[index]], true) end
  end
  local members, ids, count = {}, {}, 0
  for _, member in pairs(live_added) do
    members[count + 1], members[count + 2] = '0', member
    count = count + 2
  end
  if count > 0 then redis.call('ZADD', KEYS.live, unpack(members)) end
  count = 0
  for digest, reference in pairs(claimed) do
    ids[count + 1], ids[count + 2] = digest, reference
    count = count + 2
  end
  if count > 0 then redis.call('HSET', KEYS[CLAIMS + state.claims], unpack(ids)) end
  write_unsettled(KEYS[UNSETTLED + state.unsettled], unsettled)
  if state.trade > trade_before then
    redis.call('HSET', KEYS.engine, 'state', encode_state(state), 'last:' .. market_number, last_price)
  else
    redis.call('HSET', KEYS.engine, 'state', encode_state(state))
  end
end
