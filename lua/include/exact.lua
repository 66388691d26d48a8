-- Numbers here are doubles: integers are exact below 2^53, and `tostring` keeps 14 digits only.
--- define EXACT_LIMIT 9007199254740992 (2^53)

-- An integer below 2^53 as decimal text. '%d' goes through a 64-bit integer: exact, and twice as fast as '%.0f'.
local function text(integer) return string.format('%d', integer) end

-- Returns true when decimal text `a` <= decimal text `b`, for non-negative integers of any length.
local function text_at_most(a, b) return #a < #b or (#a == #b and a <= b) end
