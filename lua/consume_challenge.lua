#!lua flags=allow-oom
--[[
Ends a login: tells whether the challenge that a client has answered is the current one of its wallet, and
deletes it, in one step, so that of any number of concurrent replays one succeeds. The caller has verified the
signature before: a bad one never gets here and burns nothing.

KEYS  1 challenge record of one wallet in one flow
ARGV  1 the record that was answered  2 how long a record is kept after its lifetime is over (ms)
      3 whether to consume it (1) or only to look (0)
Replies  current, and it is deleted now if that was asked | expired, the latest but its lifetime is over
         | invalid, never issued, replaced or used

The age is read off the record's own time to live: that is Redis' clock on both ends, whatever the clocks of the
replicas that issued and verify it say.
]]
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 'invalid'
end
if redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[2]) then
  return 'expired'
end
if ARGV[3] == '1' then
  redis.call('DEL', KEYS[1])
end
return 'current'
