-- Closes any request: all orders that find_all finds, or none.

-- Returns the orders of a request that are on the book, each once; nil when one of them has no live record.
local function find_all(references, owner)
  local orders, seen = {}, {}
  for at = 1, #references, 17 do
    local reference = string.sub(references, at, at + 16)
    local side, member, wallet, left, held = find(reference, owner)
    if side and not seen[reference] then
      seen[reference] = true
      local live = live_record(KEYS.live, wallet .. reference)
      if not live then return nil end
      orders[#orders + 1] = {
        side = side,
        member = member,
        wallet = wallet,
        left = left,
        held = held,
        live = live,
        level = string.sub(member, 1, 7),
      }
      ask(balances_of(side), wallet .. RESERVED)
      ask(balances_of(side), wallet .. AVAILABLE)
      ask(levels_of(side), string.sub(member, 1, 7))
    end
  end
  for side = BUY, SELL do
    read_asked(balances_of(side))
    read_asked(levels_of(side))
  end
  return orders
end

-- Returns true when every wallet has reserved what its orders hold. Fails for an amount that is no integer.
local function is_reserved(orders)
  local sums = { [BUY] = {}, [SELL] = {} }
  for _, order in ipairs(orders) do
    local of_side, field = sums[order.side], order.wallet .. RESERVED
    check_amount(balances_of(order.side), order.wallet .. AVAILABLE)
    check_amount(levels_of(order.side), order.level)
    of_side[field] = of_side[field] or { 0, 0 }
    add_exactly(of_side[field], order.held)
  end
  for side = BUY, SELL do
    for field, sum in pairs(sums[side]) do
      if not holds_sum(balances_of(side), field, sum) then return false end
    end
  end
  return true
end

local function close_all(owner, cause, references)
  if rules ~= rules_in_force then return struct.pack(CODE_FORMAT, STALE) .. 'market' end
  local orders = find_all(references, owner)
  if not orders or not is_reserved(orders) then return struct.pack(CODE_FORMAT, CORRUPT) end
  if #orders == 0 then return struct.pack(CODE_AND_SEQUENCE_FORMAT, CLOSED, state.sequence) end
  local records, wallets, seen = {}, {}, {}
  for index, one in ipairs(orders) do
    records[index] = closed_record(one.live, filled_of(one.live, one.left))
    if not seen[one.wallet] then
      seen[one.wallet] = true
      wallets[#wallets + 1] = one.wallet
    end
  end
  local outcome = record_closed(cause, table.concat(records), wallets)
  for _, one in ipairs(orders) do
    write_closed(one.side, one.member, one.wallet, one.left, one.held, one.live)
  end
  return outcome
end
