--- include exact
-- A market's rules, and whether those that a replica read are in force.
-- Each change gives the market a version that no other change was ever given, by this engine or by one that was lost:
-- epoch * 2^37 + Redis' time in ms modulo 2^37. An epoch that was lost with its first events may be given again, but
-- not at the same time. Versions of earlier releases are small counts.
local VERSIONS_PER_EPOCH = 137438953472 -- 2^37

local function next_version(state, time)
  local version = tonumber(state.epoch) * VERSIONS_PER_EPOCH + time % VERSIONS_PER_EPOCH
  return math.max(version, tonumber(state.version or 0) + 1)
end

-- The record is JSON of our own making, so `version` stands in it exactly once.
local function with_version(record, version)
  return (string.gsub(record, '"version":%d+', '"version":' .. text(version), 1))
end

-- Fields of the engine hash, written with a market's record.
local function fields_of_rules(number, symbol, version)
  return { 'version:' .. number, text(version), 'symbol:' .. number, symbol }
end

-- True when the number is the symbol's. `found`: the field `symbol:<number>`, which a market that an earlier release
-- published lacks; its record tells the number.
local function is_number_of(markets, symbol, number, found)
  if found then return found == symbol end
  local record = redis.call('HGET', markets, symbol)
  return record and string.match(record, '"number":(%d+)') == number
end

-- `market`: number, symbol and version, as text, of the rules that the replica used.
-- `version`, `symbol`: what the engine hash holds for that number.
local function are_in_force(markets, market, version, symbol)
  return version == market.version and is_number_of(markets, market.symbol, market.number, symbol)
end
