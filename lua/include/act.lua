-- Returns the body of an event with the act of an operator behind it. `act`: JSON in one line; '' for none. `before`: what
-- the engine had; false or '' for nothing.
local function with_act(body, act, before) return act == '' and body or body .. '\n' .. act .. '\n' .. (before or '') end
