/** Sums of trades by day, month, market or taker: fees earned and volumes. */

import { bookedEvents } from './first-after.ts';
import type { Moments } from './moment.ts';
import type { Pools } from './pools.ts';
import { streamRows } from './stream-rows.ts';

/** Dimensions by which sums may be split, each as SQL of a text. */
const DIMENSIONS = {
  day: `to_char(to_timestamp(time_ms / 1000) at time zone 'UTC', 'YYYY-MM-DD')`,
  month: `to_char(to_timestamp(time_ms / 1000) at time zone 'UTC', 'YYYY-MM')`,
  market: 'market',
  wallet: 'taker_wallet',
} as const;

export type Dimension = keyof typeof DIMENSIONS;
export const TURNOVER_DIMENSIONS = Object.keys(DIMENSIONS) as readonly Dimension[];

export interface TurnoverSpan {
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number;
  /** Unix milliseconds, exclusive. */
  readonly toMs: number;
}

export interface Turnover {
  /** Values of the dimensions, in their order. */
  readonly by: readonly string[];
  readonly base: string;
  readonly quote: string;
  readonly trades: number;
  readonly baseAtoms: bigint;
  readonly notionalAtoms: bigint;
  /** Earned by the house, in the quote asset. */
  readonly feeAtoms: bigint;
}

interface TurnoverRow {
  by: string[];
  base: string | null;
  quote: string;
  trades: bigint;
  base_atoms: string;
  notional_atoms: string;
  fee_atoms: string;
}

/** @param assets columns of the assets that sums are kept apart by */
function sumsBy(dimensions: readonly Dimension[], assets: readonly string[]): string {
  const by = dimensions.map((name) => `${DIMENSIONS[name]} collate "C" as ${name}_value`);
  const values = dimensions.map((name) => `${name}_value`);
  return `
    select array[${values.join(', ')}]::text[] as by, ${assets.includes('base') ? 'base' : 'null as base'}, quote,
      count(*) as trades, sum(base_atoms)::text as base_atoms, sum(notional_atoms)::text as notional_atoms,
      sum(fee_atoms)::text as fee_atoms
    from (
      select ${[...by, ...assets, 'base_atoms', 'notional_atoms', 'fee_atoms'].join(', ')} from public.trades
      where sequence >= $1 and sequence < $2
    ) as counted
    group by ${[...values, ...assets].join(', ')} order by ${[...values, ...assets].join(', ')}`;
}

export type TurnoverQueries = ReturnType<typeof turnoverQueries>;

/** Sums over trades of a span, for the operator. */
export function turnoverQueries({ auditing }: Pick<Pools, 'auditing'>, moments: Moments) {
  async function* sums(
    { fromMs, toMs }: TurnoverSpan,
    dimensions: readonly Dimension[],
    assets: readonly string[],
  ): AsyncGenerator<Turnover> {
    const bounds = await bookedEvents(moments, auditing, [fromMs, toMs]);
    for await (const row of streamRows<TurnoverRow>(auditing, sumsBy(dimensions, assets), bounds)) {
      yield {
        by: row.by,
        base: row.base ?? '',
        quote: row.quote,
        trades: Number(row.trades),
        baseAtoms: BigInt(row.base_atoms),
        notionalAtoms: BigInt(row.notional_atoms),
        feeAtoms: BigInt(row.fee_atoms),
      };
    }
  }
  return {
    /** Yields the fees of each quote asset. */
    fees: (span: TurnoverSpan, dimensions: readonly Dimension[]) => sums(span, dimensions, ['quote']),
    /** Yields the volumes of each pair of assets. */
    volumes: (span: TurnoverSpan, dimensions: readonly Dimension[]) =>
      sums(span, dimensions, ['base', 'quote']),
  };
}
