/**
 * Writes a seam: the state of the engine after events that Postgres has lost. The rows stand at places of lost events,
 * and the cursor moves behind them, so that settlement continues with the first event that is left.
 */

import type pg from 'pg';
import type { Cursor, EngineEvent } from '../domain/event.ts';
import { headOfSpan } from './checks/chain.ts';
import { CopyRows, textField } from './copy.ts';
import { LedgerDiverged } from './diverged.ts';
import { fold, ordersOfEarlierBatches } from './fold.ts';
import { loadOrders, progressOf } from './order-rows.ts';
import { asking } from './queries.ts';
import { roundTrip, type Statement } from './round-trip.ts';
import { ADD_SEGMENTS, endsAfter, readEnds } from './segments.ts';
import { ADOPTED_BALANCES, ADOPTED_FILLS, ADOPTED_PRICES, ADOPTIONS } from './tables.ts';
import { copy, rowsOf } from './write-batch.ts';

/** SQL of the name of an adoption, from its `sequence`: the transaction and the reference of its entries. */
export const ADOPTION_NAME = `'adopt-' || sequence`;

/** The lost events of a seam, by what they changed. */
export interface Adoption {
  /** The last lost event. */
  readonly sequence: number;
  /** Unix milliseconds of all rows. */
  readonly timeMs: number;
  readonly lastTradeId: number;
  /** Events that change settings and orders as the lost ones did; each at the place of a lost event. */
  readonly events: readonly EngineEvent[];
  /** Changes of accounts in sum, beside those of `events`. */
  readonly balances: readonly { readonly account: string; readonly asset: string; readonly atoms: bigint }[];
  /** Steps of live orders of the ledger that lost trades filled. */
  readonly filled: ReadonlyMap<string, bigint>;
  /** Steps of orders of `events` that lost trades filled; `events` have them already. */
  readonly filledPlaced: ReadonlyMap<string, bigint>;
  /** Prices in ticks of the last trade of markets where it is lost. */
  readonly prices: ReadonlyMap<string, bigint>;
}

/** Entries of an adopted balance come after the two of a movement, which may stand at the same event. */
const FIRST_LINE = 2;

/** The rows of the seam's own tables. */
function seamRows(settled: Cursor, adoption: Adoption, placedAt: ReadonlyMap<string, number>): Statement[] {
  const { sequence, timeMs, lastTradeId, balances, filled, filledPlaced, prices } = adoption;
  const rows = {
    balances: new CopyRows(),
    fills: new CopyRows(),
    prices: new CopyRows(),
    seam: new CopyRows(),
  };
  rows.seam.add(`${sequence}\t${settled.sequence}\t${lastTradeId}\t${timeMs}`);
  balances.forEach(({ account, asset, atoms }, index) => {
    rows.balances.add(`${account}\t${sequence}\t${asset}\t${FIRST_LINE + index}\t${atoms}\t${timeMs}`);
  });
  for (const [id, steps] of filled) rows.fills.add(`${id}\t${sequence}\t${steps}\t${timeMs}`);
  for (const [id, steps] of filledPlaced) rows.fills.add(`${id}\t${placedAt.get(id)}\t${steps}\t${timeMs}`);
  for (const [market, ticks] of prices)
    rows.prices.add(`${textField(market)}\t${sequence}\t${ticks}\t${timeMs}`);
  return [
    ...copy('adopted_balances', ADOPTED_BALANCES, rows.balances),
    ...copy('adopted_fills', ADOPTED_FILLS, rows.fills),
    ...copy('adopted_prices', ADOPTED_PRICES, rows.prices),
    ...copy('adoptions', ADOPTIONS, rows.seam),
  ];
}

const MOVE_CURSOR = `
  with linked as (insert into public.chain_links (sequence, links) values ($1, '')),
    kept as (insert into public.chain_heads (sequence, head) values ($1, $2) on conflict do nothing)
  update public.engine_cursor
  set sequence = $1, digest = null, event_time_ms = $3, settled_at = clock_timestamp(), head = $2,
      orders = orders + $4, movements = movements + $5`;

/**
 * Writes the seam and commits. The client must hold the lock of the cursor.
 * @param settled the last settled event
 * @throws LedgerDiverged when an order is not as the adoption takes it
 */
export async function writeAdoption(
  client: pg.PoolClient,
  settled: Cursor,
  adoption: Adoption,
): Promise<void> {
  const { sequence, timeMs, events, filled } = adoption;
  const ask = asking(client);
  const ids = [...new Set([...ordersOfEarlierBatches(events), ...filled.keys()])];
  const [found] = await roundTrip(client, loadOrders(ids));
  const earlier = progressOf(found ?? []);
  for (const [id, steps] of filled) {
    const order = earlier.get(id);
    if (order === undefined) throw new LedgerDiverged(`order ${id} is not in the ledger`);
    order.filledSteps += steps;
    order.status = 'partially_filled';
    order.updatedAtMs = timeMs;
    order.updatedSequence = sequence;
  }
  const batch = fold(events, earlier);
  for (const id of filled.keys()) batch.changedOrders.set(id, earlier.get(id)!);
  await ask(ADD_SEGMENTS, [sequence]);
  const [segments] = await ask<{ ends: string }>(`select ${endsAfter('$1')}::text as ends`, [
    settled.sequence,
  ]);
  const placedAt = new Map(batch.newOrders.map(({ terms }) => [terms.id, terms.sequence]));
  await roundTrip(client, [
    ...rowsOf(batch)(readEnds(segments?.ends)),
    ...seamRows(settled, adoption, placedAt),
  ]);
  const [cursor] = await ask<{ head: string }>('select head from public.engine_cursor');
  const head = await headOfSpan(ask, cursor!.head, settled.sequence, sequence);
  await ask(MOVE_CURSOR, [sequence, head, timeMs, batch.newOrders.length, batch.movements.count]);
  await ask('commit');
}
