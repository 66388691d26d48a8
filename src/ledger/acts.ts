/** Reads what operators did. */

import type { AssetListing } from '../domain/asset-listing.ts';
import { firstActAt } from './first-after.ts';
import type { Pools } from './pools.ts';
import { askOnce, inSnapshot, prepared } from './queries.ts';
import { streamRows } from './stream-rows.ts';
import { beginningOf, type Direction, follows, inDirection } from './walk.ts';

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

const actsIn = (direction: Direction): string => `
  select sequence, time_ms, name, operator, reason, wallet, market, asset, subject, before, after from public.operator_acts
  where sequence >= $1 and sequence < $6 and ${follows(direction, 'sequence', '$5')} and ($2::text is null or operator = $2)
    and ($3::text is null or wallet = $3) and ($4::text is null or market = $4)
  ${inDirection(direction, 'sequence')}`;

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
      const { by = null, wallet = null, market = null, after = beginningOf(direction) } = filter;
      const [first, end] = await inSnapshot(auditing, async (ask) => [
        await firstActAt(ask, sinceMs),
        await firstActAt(ask, untilMs),
      ]);
      const parameters = [first, by, wallet, market, after, end];
      for await (const row of streamRows<ActRow>(auditing, actsIn(direction), parameters)) {
        const { sequence, time_ms: timeMs, operator, ...rest } = row;
        yield { ...rest, by: operator, sequence: Number(sequence), timeMs: Number(timeMs) };
      }
    },
  };
}
