--- include exact
--- define DIGITS 9
--- define UNIT 1000000000 (10^9)
-- Returns a - b as decimal text, for non-negative integers below 10^24 as text, of which b is not larger.
local function subtracted(a, b)
  local billions = (tonumber(string.sub(a, 1, -DIGITS - 1)) or 0) - (tonumber(string.sub(b, 1, -DIGITS - 1)) or 0)
  local rest = tonumber(string.sub(a, -DIGITS)) - tonumber(string.sub(b, -DIGITS))
  if rest < 0 then
    billions, rest = billions - 1, rest + UNIT
  end
  return billions == 0 and text(rest) or string.format('%d%09d', billions, rest)
end
