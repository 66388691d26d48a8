--- include exact
-- A market's rules are named by its version and symbol; a replica's command runs only when it names the rules in force.
-- Each change gives the market a version that no other change was ever given, by this engine or by one that was lost:
-- epoch * 2^37 + Redis' time in ms modulo 2^37. An epoch that was lost with its first events may be given again, but
-- not at the same time.
--- define VERSIONS_PER_EPOCH 137438953472 (2^37)

-- Returns the version of the next change. `rules`: the field `rules:<number>` of the engine hash, or false.
local function next_version(state, rules, time)
  local version = state.epoch * VERSIONS_PER_EPOCH + time % VERSIONS_PER_EPOCH
  return math.max(version, (tonumber(string.match(rules or '', '^%d+')) or 0) + 1)
end

-- Returns the record with another version. Redbook wrote the record as JSON, so `version` stands in it exactly once.
local function with_version(record, version)
  return (string.gsub(record, '"version":%d+', '"version":' .. text(version), 1))
end

-- Returns the text that names rules, in the field `rules:<number>` and in commands.
local function rules_of(version, symbol) return version .. ' ' .. symbol end
