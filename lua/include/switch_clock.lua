--- include read_state
--- define LOOK_MS 500

-- Dead-man switches and their leases are due by the server's clock without its steps back. A switch that is set while
-- the clock is ahead would otherwise fire late by the whole step. The field `switch_clock` of the engine hash has the
-- last look at the server's clock, at most LOOK_MS old when switches are looked at, and the sum of all steps back. After
-- a step back a switch fires late by the time since the last look, at most. After a step ahead it fires early: the step
-- looks like a time without processes, after which due switches must fire at once.
-- Returns Unix milliseconds of the server's clock, and what a due time lies above it.
local function switch_time(engine)
  local now, found = server_time(), redis.call('HGET', engine, 'switch_clock') or '0 0'
  local seen, behind = string.match(found, '^(%d+) (%d+)$')
  seen, behind = tonumber(seen), tonumber(behind)
  if now >= seen and now < seen + LOOK_MS then return now, behind end
  if now < seen then behind = behind + seen - now end
  redis.call('HSET', engine, 'switch_clock', text(now) .. ' ' .. text(behind))
  return now, behind
end
