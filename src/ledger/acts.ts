/** Reads what operators did. */

import type { AssetListing } from '../domain/asset-listing.ts';
import { firstActAt } from './first-after.ts';
import type { Pools } from './pools.ts';
import { askOnce, BY_INDEX, inSnapshot, prepared } from './queries.ts';
import { streamRows } from './stream-rows.ts';
import { beginningOf, type Direction, walkOf } from './walk.ts';

export interface OperatorAct {
  readonly sequence: number;
  readonly timeMs: number;
  /** The command, like `account hold`. */
  readonly name: string;
  readonly by: string;
  readonly reason: string;
  readonly wallet: string | null;
  readonly market: string | null;
  readonly asset: string | null;
  /** Reference, order id, month or key that the act was about. */
  readonly subject: string | null;
  /** Atoms, terms, a scale, a record of a market, or `on`. */
  readonly before: string | null;
  readonly after: string | null;
}

export interface ActsFilter {
  /** Unix milliseconds, inclusive. */
  readonly sinceMs?: number | undefined;
  /** Unix milliseconds, exclusive. */
  readonly untilMs?: number | undefined;
  readonly by?: string | undefined;
  readonly wallet?: string | undefined;
  readonly market?: string | undefined;
  readonly direction?: Direction | undefined;
  /** Event after which the list begins. */
  readonly after?: number | undefined;
}

/** Acts after the event `$1` and before `$2`. The first of the columns decides which index is walked. */
function actsIn(direction: Direction, columns: readonly string[]): string {
  const same = columns.map((column, at) => `${column} = $${at + 3}`);
  const walked = columns.slice(0, 1);
  return `
  select sequence, time_ms, name, operator, reason, wallet, market, asset, subject, before, after from public.operator_acts
  where ${['true', ...same].join(' and ')}
  ${walkOf(
    direction,
    walked,
    'sequence',
    walked.map(() => '$3'),
    { after: '$1', before: '$2' },
  )}`;
}

type ActRow = Omit<OperatorAct, 'sequence' | 'timeMs' | 'by'> & {
  sequence: bigint;
  time_ms: bigint;
  operator: string;
};

/** The command of an act that describes an asset for aggregators; its `after` has what was set. */
export const LISTING_ACT = 'asset list';

const LISTINGS = prepared(
  `select subject as asset, after from public.operator_acts where name = '${LISTING_ACT}' order by sequence`,
);

/** Later than every act. */
const LAST_TIME_MS = Number.MAX_SAFE_INTEGER;

export type ActQueries = ReturnType<typeof actQueries>;

export function actQueries({ auditing, public: pool }: Pick<Pools, 'auditing' | 'public'>) {
  return {
    /** Returns what operators have set for aggregators, by symbol of the asset. */
    async listings(): Promise<ReadonlyMap<string, AssetListing>> {
      const listings = new Map<string, AssetListing>();
      for (const { asset, after } of await askOnce<{ asset: string; after: string }>(pool, LISTINGS))
        listings.set(asset, { ...listings.get(asset), ...(JSON.parse(after) as AssetListing) });
      return listings;
    },

    /** Yields acts in the order of their events, or in the reverse one. */
    async *list({
      sinceMs = 0,
      untilMs = LAST_TIME_MS,
      direction = 'asc',
      ...filter
    }: ActsFilter): AsyncGenerator<OperatorAct> {
      const { by: operator, wallet, market, after = beginningOf(direction) } = filter;
      const asked = Object.entries({ wallet, market, operator }).filter(([, value]) => value !== undefined);
      const [first, end] = await inSnapshot(auditing, async (ask) => [
        Number(await firstActAt(ask, sinceMs)),
        Number(await firstActAt(ask, untilMs)),
      ]);
      const range =
        direction === 'asc' ? [Math.max(first - 1, after), end] : [first - 1, Math.min(end, after)];
      const sql = actsIn(
        direction,
        asked.map(([column]) => column),
      );
      const values = asked.map(([, value]) => value);
      const rows = streamRows<ActRow>(auditing, sql, [...range, ...values], BY_INDEX);
      for await (const row of rows) {
        const { sequence, time_ms: timeMs, operator, ...rest } = row;
        yield { ...rest, by: operator, sequence: Number(sequence), timeMs: Number(timeMs) };
      }
    },
  };
}
