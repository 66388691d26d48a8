#!lua
--[[
Writes a part of an engine that is being rebuilt. A rebuild that another one has replaced, or that has ended, writes
nothing.

KEYS  1 rebuilding  2 key of the part
ARGV  1 token of the rebuild  2 command (HSET|ZADD|SETRANGE)  3.. its arguments after the key
Replies  { filled } | { replaced }
]]
if redis.call('HGET', KEYS[1], 'rebuild') ~= ARGV[1] then return { 'replaced' } end
if ARGV[2] == 'HSET' then
  redis.call('HSET', KEYS[2], unpack(ARGV, 3))
elseif ARGV[2] == 'ZADD' then
  redis.call('ZADD', KEYS[2], unpack(ARGV, 3))
else
  redis.call('SETRANGE', KEYS[2], ARGV[3], ARGV[4])
end
return { 'filled' }
