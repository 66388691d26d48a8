/** SQL of the last trade of each market and of the assets that were booked. Their cost does not grow with the trades. */

const lastOf = (side: 'buy' | 'sell'): string => `
  (select trade_id, price_ticks, base, quote from public.trades
   where market = markets.symbol collate "C" and taker_side = '${side}' order by time_ms desc, trade_id desc limit 1)`;

/** Each side has its last trade at the end of an index. */
const SETTLED = `
  select markets.symbol collate "C" as market, trade_id, price_ticks, base, quote from public.markets
  cross join lateral (select * from (${lastOf('buy')} union all ${lastOf('sell')}) as sides order by trade_id desc limit 1) as last`;

/** SQL of the last trade id and price of each market. A lost trade has the last id before its seam. */
export const LAST_TRADES = `
  select market, last[1] as trade_id, last[2] as price_ticks from (
    select market, max(array[trade_id, price_ticks]) as last
    from (
      select market, trade_id, price_ticks from (${SETTLED}) as settled
      union all
      select market, last_trade_id, price_ticks from public.adopted_prices join public.adoptions using (sequence)) as priced
    group by market) as newest`;

/** SQL of every asset that was ever booked. Assets of a market never change, so its last trade has those of all. */
export const BOOKED_ASSETS = `
  select base collate "C" as asset from (${SETTLED}) as settled
  union select quote from (${SETTLED}) as settled
  union select asset from public.movements
  union select asset from public.adopted_balances`;
