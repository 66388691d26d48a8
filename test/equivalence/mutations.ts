/** Scripts broken on purpose. Each mutation changes one place, and the equivalence must detect every one. */

import { loadScript, type Script, scriptOf } from '../../src/redis/lua.ts';

export interface Mutation {
  /** Describes the fault of the broken engine. */
  readonly name: string;
  readonly script: string;
  /** Text that occurs exactly once in the script, and its replacement. */
  readonly from: string;
  readonly to: string;
  /** A second replacement, for mutations that need two. */
  readonly also?: { readonly from: string; readonly to: string };
}

const inPlacing = (name: string, from: string, to: string): Mutation => ({
  name,
  script: 'place_orders',
  from,
  to,
});
const inCancelling = (name: string, from: string, to: string): Mutation => ({
  name,
  script: 'cancel_orders',
  from,
  to,
});

export const MUTATIONS: readonly Mutation[] = [
  inPlacing('rounds the fee down', 'bps + math.ceil((notional - whole', 'bps + math.floor((notional - whole'),
  inPlacing(
    'computes the fee in one multiplication of doubles',
    'return whole * bps + math.ceil((notional - whole * 10000) * bps / 10000)',
    'return math.ceil(notional * bps / 10000)',
  ),
  inPlacing('loses the fee', "'house', walk.fee_sum)", "'house', 0)"),
  inPlacing(
    'charges a seller no fee',
    'walk.fee_sum, walk.notional_sum - walk.fee_sum',
    'walk.fee_sum, walk.notional_sum',
  ),
  inPlacing(
    'meets the worst price first',
    'for index = 1, found do\n      walk.crosses',
    'for index = found, 1, -1 do\n      walk.crosses',
  ),
  inPlacing(
    'meets the newest order of a price first',
    "'BYLEX', 'LIMIT', '0', text(page_size))",
    `'BYLEX', 'LIMIT', '0', text(page_size))
    table.sort(page, function(a, b)
      local one, other = string.sub(a, 1, 7), string.sub(b, 1, 7)
      if one == other then return a > b end
      return one < other
    end)`,
  ),
  inPlacing(
    "trades at the taker's price",
    'local price = price_key(1 - order.side, key)',
    'local price = order.price or price_key(1 - order.side, key)',
  ),
  inPlacing(
    'holds an order against its limit price although it fills below',
    'return walk.notional_sum + walk.fee_sum + rest',
    'return math.max(walk.notional_sum, walk.filled * (order.price or 0) * quote_per_lot) + walk.fee_sum + rest',
  ),
  inPlacing(
    'does not put back a maker that was cut',
    "redis.call('ZADD', book, '0', string.sub(member, 1, 35) .. struct.pack('>I1I7', 1, left))",
    '',
  ),
  inPlacing(
    'forgets that a maker had fills',
    "string.sub(member, 1, 35) .. struct.pack('>I1I7', 1, left)",
    "string.sub(member, 1, 35) .. struct.pack('>I1I7', 0, left)",
  ),
  inPlacing(
    'fills orders of one wallet against each other',
    'if wallet ~= order.wallet then',
    'if true then',
  ),
  inPlacing(
    'does not give back what an expired own order held',
    "add_to(receives, wallet .. 'a', one.held)",
    '',
  ),
  inPlacing(
    'fills a FOK in part',
    'elseif order.time_in_force == 2 and order.remaining > 0 then',
    'elseif false then',
  ),
  inPlacing('lets an IOC remainder rest', 'and order.time_in_force == 0 and', 'and'),
  inPlacing(
    'lets post-only cross an own order',
    'walk.crosses = true',
    'walk.crosses = walk.crosses or string.sub(page[index], 16, 35) ~= order.wallet',
  ),
  inPlacing(
    'takes reserved funds for available ones',
    "if not holds(pays, order.wallet .. 'a', need) then",
    `if tonumber(redis.call('HGET', pays.key, order.wallet .. 'a') or 0)
      + tonumber(redis.call('HGET', pays.key, order.wallet .. 'r') or 0) < need then`,
  ),
  inPlacing('tells another reason for the rest at the limit of makers', 'makers = 6', 'makers = 5'),
  inPlacing('meets one maker too many', 'makers_met == max_makers', 'makers_met > max_makers'),
  inPlacing('lets one live order too many rest', '(order.wallet) >= max_live', '(order.wallet) > max_live'),
  inPlacing(
    'pays the fee out of a quote amount',
    'quote_per_lot, order.budget - walk.notional_sum',
    'quote_per_lot, order.budget - walk.notional_sum - walk.fee_sum',
  ),
  {
    ...inPlacing(
      'does not remember a client order id',
      'if claim_field then claimed[claim_field] = reference end',
      '',
    ),
    also: {
      from: "if block then redis.call('SETRANGE', filter, first, block) end\n  add_to(pays, available, -need)",
      to: 'add_to(pays, available, -need)',
    },
  },
  inPlacing('skips a sequence', 'local sequence = state.sequence + 1', 'local sequence = state.sequence + 2'),
  inPlacing(
    'gives a trade id twice',
    "state.trade = state.trade + count\n    last_price = string.format('%d', walk.price[count])",
    "last_price = string.format('%d', walk.price[count])",
  ),
  inPlacing('does not look at a custody hold', 'if held then', 'if false then'),
  inPlacing(
    'hides a fill from its maker until it is settled',
    'if not seen or not seen[maker] then',
    'if false then',
  ),
  inPlacing(
    'leaves filled sizes in the levels of the book',
    'add_to(sizes, string.sub(member, 1, 7), -steps)',
    '',
  ),
  inCancelling(
    'releases one step less than a cancelled order held',
    'held_atoms(side, price_key(side, key), left)',
    'held_atoms(side, price_key(side, key), left - 1)',
  ),
  inCancelling(
    'does not tell that a cancelled order had fills',
    "struct.pack('>I1I2', had_fills,",
    "struct.pack('>I1I2', 0,",
  ),
  inCancelling("cancels another wallet's order", "if owner ~= '' and wallet ~= owner then", 'if false then'),
];

/** Mutations of the state that the orders of one call share. A call with one order does not reveal them. */
export const MUTATIONS_OF_CALLS: readonly Mutation[] = [
  inPlacing(
    'keeps the reservation of an order that it refuses',
    "if count_live(order.wallet) >= max_live then return 'BAD_REQUEST' end",
    `if count_live(order.wallet) >= max_live then
      add_to(pays, order.wallet .. 'a', -need)
      return 'BAD_REQUEST'
    end`,
  ),
  {
    ...inPlacing(
      'hides the rest of an order from the next one of its call',
      "redis.call('ZADD', keys.book[order.side], '0',",
      'live_counts.late = live_counts.late or {}\n  table.insert(live_counts.late, keys.book[order.side])\n  table.insert(live_counts.late,',
    ),
    also: {
      from: 'local function write_call()',
      to: `local function write_call()
  local late = live_counts.late or {}
  for index = 1, #late, 2 do redis.call('ZADD', late[index], '0', late[index + 1]) end`,
    },
  },
  inPlacing('does not see an id that the same call claimed', 'if known then return 2, known end', ''),
  inPlacing(
    'reads a balance again that the same call has changed',
    'if not amounts.at[field] then',
    'if true then',
  ),
  inPlacing(
    'numbers the trades of every order from the first of the call',
    'if count > 0 then first_trade, fills = state.trade + 1,',
    'if count > 0 then first_trade, fills = trade_before + 1,',
  ),
  inPlacing(
    'keeps the last price of the first order that traded',
    'last_price = text(walk.price[count])',
    'if state.trade - count == trade_before then last_price = text(walk.price[count]) end',
  ),
  inPlacing('leaves a level of size zero', 'if amount == 0 and drops_zeros then', 'if false then'),
  inPlacing(
    'does not count an order of the same call as live',
    'live_counts[wallet] = live_counts[wallet] + 1\n  return outcome',
    'return outcome',
  ),
  inPlacing(
    'counts an order as live that the same call has ended',
    'live_counts[wallet] = live_counts[wallet] - gone',
    '',
  ),
  inPlacing(
    'lists an order as live that came and went in one call',
    'live_added[prefix] = nil',
    'live_added[prefix] = live_added[prefix]',
  ),
  inPlacing(
    'hides all but the first event of a call from its wallets until it is settled',
    'index_wallets(wallet, stamp, count)',
    'if #unsettled == 0 then index_wallets(wallet, stamp, count) end',
  ),
  inPlacing(
    'gives the later orders of a call a later time',
    "I7I2', 1, time, status",
    "I7I2', 1, #unsettled > 4 and time + 1 or time, status",
  ),
  inCancelling(
    'reads a reservation again that the same call has released',
    'if not amounts.at[field] then',
    'if true then',
  ),
];

/** Mutations of what a failed order may change for itself and for the other orders of its call. */
export const MUTATIONS_OF_ERRORS: readonly Mutation[] = [
  inPlacing(
    'fails all orders of a call with one',
    'done, reply = pcall(place_any, bytes)',
    'done, reply = true, place_any(bytes)',
  ),
  inPlacing(
    'finds out that a level is no number when the order is on the book',
    'check_amount(levels[order.side], order.key)',
    '',
  ),
  inPlacing(
    'finds out that a balance is no number when it has moved others',
    'check_amounts(changes)\n    check_settlement',
    'check_settlement',
  ),
  inPlacing(
    'trades on in a market that the same call halted',
    'rules_in_force = halt_market(',
    'halt_market(',
  ),
  inCancelling(
    'finds out that a level is no number when the order is off the book',
    'check_amount(levels_of(order.side), order.level)',
    '',
  ),
];

/** Mutations of the amount of work of one call. */
export const MUTATIONS_OF_BOUNDS: readonly Mutation[] = [
  inPlacing('meets makers without end', 'if met >= max_makers_of_call then', 'if false then'),
  inPlacing(
    'does not count the makers of an order that was rejected',
    'met = met + makers_met',
    // The eighth byte of an outcome is the order's status: 6 is rejected.
    'met = met + (string.byte(tostring(reply), 8) == 6 and 0 or makers_met)',
  ),
  inPlacing(
    'goes on behind an order that it left out',
    'if met >= max_makers_of_call then',
    'if met >= max_makers_of_call then met = 0',
  ),
  inCancelling('closes orders without end', 'if met >= max_orders then', 'if false then'),
];

/** Returns a loader of the scripts with one mutation applied. */
export function loadBroken({ name, script, from, to, also }: Mutation): (name: string) => Script {
  return (loaded) => {
    let { source } = loadScript(loaded);
    if (loaded !== script) return scriptOf(loaded, source);
    for (const change of [{ from, to }, ...(also === undefined ? [] : [also])]) {
      const [before, after, ...more] = source.split(change.from);
      if (before === undefined || after === undefined || more.length > 0) {
        throw new Error(`"${name}": ${script} must hold exactly once: ${change.from}`);
      }
      source = before + change.to + after;
    }
    return scriptOf(loaded, source);
  };
}
