#!lua
--[[
Asks Redis which commands the user of the connection may not run. Nothing is run.

KEYS  keys...   any of the engine
ARGV  commands...   each with its arguments, one blank between
Replies  the commands that would be refused; none where Redis cannot tell
]]

local refused = {}
for _, command in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(command, '%S+') do
    words[#words + 1] = word
  end
  -- Forks lack the function, and it fails for a command that the server does not know.
  local isKnown, isAllowed = pcall(redis.acl_check_cmd, unpack(words))
  if isKnown and not isAllowed then refused[#refused + 1] = command end
end
return refused
