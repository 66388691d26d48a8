/** Keeps all executions in a plain table of NUMERICs, and recomputes figures from them. */

import pg from 'pg';
import { notionalAtoms, type Trade } from '../../src/domain/order.ts';
import type { Figures } from '../../src/market-data/index.ts';

export interface Executions {
  add(trades: readonly Trade[]): Promise<void>;
  /** Queries the table `executions`: market, trade_id, at_ms, price_ticks, size_steps, quote_atoms. */
  query<Row extends pg.QueryResultRow>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export async function openExecutions(connectionString: string): Promise<Executions> {
  const pool = new pg.Pool({ connectionString, max: 1 });
  pool.on('error', () => {});
  await pool.query(
    `create table executions (market text, trade_id numeric, at_ms numeric, price_ticks numeric,
       size_steps numeric, quote_atoms numeric)`,
  );
  return {
    async add(trades) {
      await pool.query(
        `insert into executions select * from
           unnest($1::text[], $2::numeric[], $3::numeric[], $4::numeric[], $5::numeric[], $6::numeric[])`,
        [
          trades.map(({ market }) => market),
          trades.map(({ tradeId }) => tradeId),
          trades.map(({ timeMs }) => timeMs),
          trades.map(({ priceTicks }) => priceTicks),
          trades.map(({ sizeSteps }) => sizeSteps),
          trades.map(notionalAtoms),
        ],
      );
    },
    query: async (sql, parameters = []) => (await pool.query(sql, parameters as unknown[])).rows,
    close: () => pool.end(),
  };
}

/** Figures as text, one row per market. */
export type FigureRows = Record<string, Record<string, string | null>>;

/** Recomputes the 24 hours before a time from all executions. */
export async function recomputedFigures(executions: Executions, asOfMs: number): Promise<FigureRows> {
  const rows = await executions.query<{ market: string } & Record<string, string | null>>(
    `select market,
       (array_agg(price_ticks order by trade_id desc))[1] as last,
       (array_agg(price_ticks order by trade_id) filter (where at_ms >= $2))[1] as first,
       max(price_ticks) filter (where at_ms >= $2) as high, min(price_ticks) filter (where at_ms >= $2) as low,
       coalesce(sum(size_steps) filter (where at_ms >= $2), 0) as base,
       coalesce(sum(quote_atoms) filter (where at_ms >= $2), 0) as quote,
       (count(*) filter (where at_ms >= $2))::text as trades
     from executions where at_ms < $1 group by market`,
    [asOfMs, asOfMs - 86_400_000],
  );
  return Object.fromEntries(rows.map(({ market, ...row }) => [market, row]));
}

const textOf = (ticks: bigint | null): string | null => (ticks === null ? null : String(ticks));

export const figureRows = ({ bySymbol }: Figures): FigureRows =>
  Object.fromEntries(
    [...bySymbol].map(([symbol, day]) => [
      symbol,
      {
        last: String(day.lastPriceTicks),
        first: textOf(day.firstPriceTicks),
        high: textOf(day.highTicks),
        low: textOf(day.lowTicks),
        base: String(day.baseSteps),
        quote: String(day.quoteAtoms),
        trades: String(day.trades),
      },
    ]),
  );
