/** The part of a trade that statements show: market, price, size and fee rate. */

import { formatCount, gridOf } from '../domain/units.ts';

export interface PricedTrade {
  readonly tradeId: bigint;
  readonly market: string;
  /** Exact decimals. */
  readonly price: string;
  readonly size: string;
  /** Taker fee of the market then, in basis points; null for trades from before its history was kept. */
  readonly feeBps: number | null;
}

export interface PricedTradeRow {
  trade_id: bigint | null;
  market: string;
  price_ticks: bigint;
  size_steps: bigint;
  tick: string;
  step: string;
  fee_bps: number | null;
}

/** Columns of trades joined with markets. The grid of a market never changes. */
export const PRICED_TRADE_COLUMNS = `trade_id, trades.market, price_ticks, size_steps, record ->> 'tick' as tick,
  record ->> 'step' as step,
  (select fee_bps from public.market_versions as versions where versions.market = trades.market
     and versions.sequence <= trades.sequence order by versions.sequence desc limit 1) as fee_bps`;

/** True if the row was joined with a trade. */
export const isPriced = <Row extends Partial<PricedTradeRow>>(row: Row): row is Row & PricedTradeRow =>
  row.trade_id !== null && row.trade_id !== undefined;

export const pricedTradeOf = (row: PricedTradeRow): PricedTrade => ({
  tradeId: row.trade_id!,
  market: row.market,
  price: formatCount(row.price_ticks, gridOf(row.tick)!),
  size: formatCount(row.size_steps, gridOf(row.step)!),
  feeBps: row.fee_bps,
});
