-- Sums that may pass 2^53, such as what many orders hold together: { billions, rest } of each field.
local BILLION = 1000000000

local function add_exactly(sums, field, amount)
  local sum = sums[field] or { 0, 0 }
  local low = sum[2] + amount % BILLION
  sums[field] = { sum[1] + math.floor(amount / BILLION) + math.floor(low / BILLION), low % BILLION }
end

-- Whether each field of the hash holds at least its sum.
local function covers_exactly(key, sums)
  for field, sum in pairs(sums) do
    local held = redis.call('HGET', key, field) or '0'
    local high, low = tonumber(string.sub(held, 1, -10)) or 0, tonumber(string.sub(held, -9))
    if string.sub(held, 1, 1) == '-' or high < sum[1] or (high == sum[1] and low < sum[2]) then return false end
  end
  return true
end
