#!lua flags=allow-oom
--[[
Ends a login. Checks that the answered challenge is the current one of its wallet, and deletes it in the same step, so
that only one of several concurrent replays succeeds. The caller has verified the signature before: a bad signature
never reaches this script and consumes nothing.

KEYS  challenge   record of one wallet in one flow
ARGV  record      the record that was answered
      kept_ms     how long a record is kept after its lifetime
      consume     1 to delete a current record, 0 to look only
Replies  current | expired: the latest record, whose lifetime is over | invalid: never issued, replaced or used

The age comes from the record's own time to live. Redis' clock measures it at both ends, whatever the clocks of the
replicas say.
]]
if redis.call('GET', KEYS.challenge) ~= ARGV.record then
  return 'invalid'
end
if redis.call('PTTL', KEYS.challenge) <= tonumber(ARGV.kept_ms) then
  return 'expired'
end
if ARGV.consume == '1' then
  redis.call('DEL', KEYS.challenge)
end
return 'current'
