#!lua flags=allow-oom
--[[
Takes switches that are due, and switches whose process did not end them within its lease. A switch is recorded with its
cut-off, the last event of this moment: orders of later events stay, however often the switch is taken again. A wallet
whose switch is due while an earlier one is still taken gets the later cut-off, which covers the earlier. A due switch of
a wallet without live orders ends here.

KEYS  engine, switches, leases, cut_offs, live
ARGV  epoch
      max        maximum switches that are taken
      lease_ms
Replies  { taken, time, when the next switch is due ('' for none), when the next lease ends ('' for none),
           { wallet (20), cut-off, … }, number of switches that ended } | { stale, epoch }
A cut-off is  epoch (2) | sequence (6) | time at which the switch was due (7).
]]
--- include switch_clock
--- include noted_switch
--- include prefix_range
--- define MAX_LOOKED 1000 (due switches of one call, which takes some 5 ms)

local switches, leases, cut_offs = KEYS.switches, KEYS.leases, KEYS.cut_offs
local state = read_state(KEYS.engine)
if state.epoch ~= tonumber(ARGV.epoch) then return { 'stale', 'epoch' } end
if redis.call('EXISTS', switches, leases) == 0 then return { 'taken', text(server_time()), '', '', {}, 0 } end
local time, behind = switch_time(KEYS.engine)
local max, lease_end = tonumber(ARGV.max), text(time + behind + tonumber(ARGV.lease_ms))

local function due_in(key, count, ...)
  return redis.call('ZRANGE', key, '-inf', text(time + behind), 'BYSCORE', 'LIMIT', 0, count, ...)
end

local taken, index_of = {}, {}
local function take(wallet, cut_off)
  local index = index_of[wallet] or #taken + 1
  index_of[wallet] = index
  taken[index], taken[index + 1] = wallet, cut_off
  redis.call('ZADD', leases, lease_end, wallet)
end

for _, wallet in ipairs(due_in(leases, max)) do
  local cut_off = redis.call('HGET', cut_offs, wallet)
  if cut_off then
    take(wallet, cut_off)
  else
    redis.call('ZREM', leases, wallet)
  end
end

local function has_live(wallet)
  return redis.call('ZRANGE', KEYS.live, '[' .. wallet, '(' .. wallet .. PREFIX_END, 'BYLEX', 'LIMIT', 0, 1)[1]
end

local due, ended, looked, notes = due_in(switches, MAX_LOOKED, 'WITHSCORES'), 0, {}, {}
for at = 1, #due, 2 do
  local wallet = due[at]
  if has_live(wallet) then
    if #taken >= max * 2 then break end
    local cut_off = stamp_of(state.epoch, state.sequence) .. struct.pack('>I7', tonumber(due[at + 1]) - behind)
    redis.call('HSET', cut_offs, wallet, cut_off)
    take(wallet, cut_off)
  else
    ended = ended + 1
  end
  looked[#looked + 1], notes[#notes + 1] = wallet, noted_switch(wallet)
end
if #looked > 0 then
  redis.call('ZREM', switches, unpack(looked))
  redis.call('HDEL', cut_offs, unpack(notes))
end

local function next_of(key)
  local due_at = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  return due_at and text(due_at - behind) or ''
end
return { 'taken', text(time), next_of(switches), next_of(leases), taken, ended }
