-- The size that rests at each price: one hash a side, price key (7) -> steps, so that a book is read by its levels,
-- however many orders stand at them. Sums may pass 2^53 and stay in Redis' 64-bit arithmetic.
local function write_levels(levels, changes)
  for key, steps in pairs(changes) do
    if redis.call('HINCRBY', levels, key, text(steps)) == 0 then redis.call('HDEL', levels, key) end
  end
end
