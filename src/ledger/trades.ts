/** Executions as settled. */

import type pg from 'pg';
import type { Cursor } from '../domain/event.ts';
import type { Side, Trade } from '../domain/order.ts';
import { readCursor } from './cursor.ts';
import { type Ask, inSnapshot } from './pool.ts';

export interface TradeRow {
  trade_id: bigint;
  sequence: bigint;
  market: string;
  taker_side: Side;
  price_ticks: bigint;
  size_steps: bigint;
  fee_atoms: bigint;
  taker_order_id: string;
  maker_order_id: string;
  taker_wallet: string;
  maker_wallet: string;
  time_ms: bigint;
  base: string;
  quote: string;
  base_atoms_per_step: bigint;
  quote_atoms_per_lot: bigint;
}

const TRADE_COLUMNS = `trade_id, sequence, market, taker_side, price_ticks, size_steps, fee_atoms, taker_order_id,
  maker_order_id, taker_wallet, maker_wallet, time_ms, base, quote, base_atoms_per_step, quote_atoms_per_lot`;

const tradeOf = (row: TradeRow): Trade => ({
  tradeId: Number(row.trade_id),
  market: row.market,
  takerSide: row.taker_side,
  priceTicks: row.price_ticks,
  sizeSteps: row.size_steps,
  feeAtoms: row.fee_atoms,
  takerOrderId: row.taker_order_id,
  makerOrderId: row.maker_order_id,
  takerWallet: row.taker_wallet,
  makerWallet: row.maker_wallet,
  timeMs: Number(row.time_ms),
  sequence: Number(row.sequence),
  lot: {
    base: row.base,
    quote: row.quote,
    baseAtomsPerStep: row.base_atoms_per_step,
    quoteAtomsPerLot: row.quote_atoms_per_lot,
  },
});

/** Every trade of the orders, by order id, in the order of execution. */
export const tradesOfOrders = async (
  ask: Ask,
  orderIds: readonly string[],
): Promise<Map<string, Trade[]>> => {
  const byOrder = new Map<string, Trade[]>(orderIds.map((id) => [id, []]));
  if (orderIds.length === 0) return byOrder;
  const rows = await ask<TradeRow>(
    `select ${TRADE_COLUMNS} from trades
     where taker_order_id = any($1) or maker_order_id = any($1)
     order by trade_id`,
    [orderIds],
  );
  for (const trade of rows.map(tradeOf)) {
    byOrder.get(trade.takerOrderId)?.push(trade);
    byOrder.get(trade.makerOrderId)?.push(trade);
  }
  return byOrder;
};

/**
 * The wallet's latest trades, as maker or taker, newest first.
 *
 * Each market and role is one short walk of an index from its end: a wallet with millions of trades in
 * one market costs no more than one with ten.
 */
export const tradesOf = (
  pool: pg.Pool,
  wallet: string,
  filter: { market?: string; limit: number },
): Promise<{ cursor: Cursor; trades: Trade[] }> =>
  inSnapshot(pool, async (ask) => {
    const cursor = await readCursor(ask);
    const rows = await ask<TradeRow>(
      `select own.* from (select symbol from markets where $2::text is null or symbol = $2) as listed
       cross join lateral (
         (select ${TRADE_COLUMNS} from trades
          where taker_wallet = $1 and market = listed.symbol order by trade_id desc limit $3)
         union all
         (select ${TRADE_COLUMNS} from trades
          where maker_wallet = $1 and market = listed.symbol order by trade_id desc limit $3)
       ) as own
       order by own.trade_id desc limit $3`,
      [wallet, filter.market ?? null, filter.limit],
    );
    return { cursor, trades: rows.map(tradeOf) };
  });
