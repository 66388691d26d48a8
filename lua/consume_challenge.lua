#!lua flags=allow-oom
--[[
Ends a login. Checks that the answered challenge is the current one of its wallet, and deletes it in the same step, so
that only one of several concurrent replays succeeds. The caller has verified the signature before: a bad signature
never reaches this script and consumes nothing.

KEYS  challenge   record of one wallet in one flow, which Redis deletes after its lifetime
ARGV  record      the record that was answered
      consume     1 to delete a current record, 0 to look only
Replies  1 when it is current; 0 when it was never issued, replaced, used or has expired
]]
if redis.call('GET', KEYS.challenge) ~= ARGV.record then return 0 end
if ARGV.consume == '1' then redis.call('DEL', KEYS.challenge) end
return 1
