-- Returns the field of the cut-offs that repeats when the switch of a wallet is due. A reconcile compares the two.
local function noted_switch(wallet) return wallet .. 's' end
