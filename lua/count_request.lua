#!lua
--[[
Counts a request in one or more logs, if each of them has room for it; if one has none, in none: a request that is
refused leaves no trace. A log holds the time of every request it counted in the last window, so that the limit
holds over any stretch of that length.

KEYS  1.. logs
ARGV  1 window (ms)  2 two windows (ms)  3.. most requests in a window, below 1000, one for each log
Replies  one number, because a table of three would be a tenth of the cost:
         counted   resets * 1000 + how many more would be counted now
         refused   -(resets * 1000 + seconds until one would be counted), at least 1
         where resets is the Unix second, rounded up, in which the oldest request leaves the log with the least room

A log is a string of the times in ms modulo 2^24, three bytes each, oldest first: at most 2 KB for 300 requests. It is
written anew, with two windows to live, when it begins or something has left it, otherwise only appended to: its
newest entry at that moment leaves within a window, and then it is written anew.

A clock that steps back makes times of the future, which are as good as expired: a log then forgets, rather than
shut a client out until the clock has caught up.
]]
-- Not to the append-only file, nor to replicas: reading market data must not cost a disk write. A restart forgets
-- at most one window.
redis.set_repl(redis.REPL_NONE)

local call, window = redis.call, tonumber(ARGV[1])
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local least, wait, kept = math.huge, 0, {}
for i = 1, #KEYS do
  local log, first, left = call('GET', KEYS[i]) or '', 1, nil
  while first < #log do
    left = window - (now - struct.unpack('>I3', log, first)) % 16777216
    if left > 0 then
      break
    end
    first, left = first + 3, nil
  end
  if first > 1 or not left then
    kept[i] = log:sub(first)
  end
  left = left or window
  local room = ARGV[i + 2] - (#log - first + 1) / 3
  if room < least or room == least and left > wait then
    least, wait = room, left
  end
end

local resets = math.ceil((now + wait) / 1000)
if least < 1 then
  return -(resets * 1000 + math.ceil(wait / 1000))
end
local stamp = struct.pack('>I3', now % 16777216)
for i = 1, #KEYS do
  if kept[i] then
    call('SET', KEYS[i], kept[i] .. stamp, 'PX', ARGV[2])
  else
    call('APPEND', KEYS[i], stamp)
  end
end
return resets * 1000 + least - 1
