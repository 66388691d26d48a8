#!lua
--[[
Writes a part of an engine that is being rebuilt. Writes nothing for a rebuild that another one has replaced, or that
has ended.

KEYS  rebuilding
      part           key of the part
ARGV  token          names the rebuild
      command        HSET|ZADD|SETRANGE
      arguments...   arguments of the command after the key
Replies  { filled } | { replaced }
]]
if redis.call('HGET', KEYS.rebuilding, 'rebuild') ~= ARGV.token then return { 'replaced' } end
if ARGV.command == 'HSET' then
  redis.call('HSET', KEYS.part, unpack(ARGV, POSITION(ARGV.arguments)))
elseif ARGV.command == 'ZADD' then
  redis.call('ZADD', KEYS.part, unpack(ARGV, POSITION(ARGV.arguments)))
else
  redis.call('SETRANGE', KEYS.part, unpack(ARGV, POSITION(ARGV.arguments)))
end
return { 'filled' }
