-- Returns what an order holds: the atoms that its remaining steps at its price reserve, quote atoms of a bid and base
-- atoms of an ask. `heldAtoms` in `src/domain/order.ts` is the same rule.
local function held_atoms(side, price, steps) return steps * (side == BUY and price * quote_per_lot or base_per_step) end
