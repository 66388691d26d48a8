/** Engine events into Postgres: one transaction a batch, each event exactly once. */

import pg from 'pg';
import type { Cursor, EngineEvent } from '../domain/event.ts';
import { baseAtoms, notionalAtoms, type OrderStatus } from '../domain/order.ts';
import { copyRows } from './copy.ts';
import { CURSOR_COLUMNS, type CursorRow, readCursor, type SettledCursor, settledCursor } from './cursor.ts';
import { LedgerDiverged } from './diverged.ts';
import { type Batch, fold, ordersOfEarlierBatches, type Progress } from './fold.ts';
import { storable } from './text.ts';

/**
 * Settles the events that follow the cursor and skips those at or before it. Returns the cursor as it
 * then stands: short of the last event only when another process is settling right now, in which case
 * nothing was done.
 *
 * @throws LedgerDiverged when the events do not follow from what is settled.
 */
export const settle = async (pool: pg.Pool, events: readonly EngineEvent[]): Promise<Cursor> => {
  const client = await pool.connect();
  let sound = false;
  try {
    await client.query('begin');
    const cursor = await settleIn(client, events);
    await client.query('commit');
    sound = true;
    return cursor;
  } catch (error) {
    throw isContradiction(error)
      ? new LedgerDiverged(`the events contradict the ledger: ${error.message}`, { cause: error })
      : error;
  } finally {
    // Closing the connection is the rollback that always works.
    client.release(!sound);
  }
};

/** Data that no table can hold (22) or that breaks a constraint (23): so it will at every attempt. */
const isContradiction = (error: unknown): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError && /^(22|23)/.test(error.code ?? '');

const settleIn = async (client: pg.PoolClient, events: readonly EngineEvent[]): Promise<Cursor> => {
  // Settlers take turns without queueing up: whoever finds the row locked leaves the work to its owner.
  const locked = await client.query<CursorRow>(
    `select ${CURSOR_COLUMNS} from engine_cursor for update skip locked`,
  );
  if (!locked.rows[0]) return readCursor(async (sql) => (await client.query(sql)).rows);
  const cursor = settledCursor(locked.rows[0]);

  const fresh = following(cursor, events);
  const last = fresh.at(-1);
  if (!last) return cursor;

  await write(client, fold(fresh, await loadOrders(client, ordersOfEarlierBatches(fresh))));
  await client.query(
    `update engine_cursor
     set epoch = $1, sequence = $2, digest = $3, event_time_ms = $4, settled_at = clock_timestamp()`,
    [last.epoch, last.sequence, last.digest, last.timeMs],
  );
  return { epoch: last.epoch, sequence: last.sequence };
};

/** The events after the cursor, after making sure that they follow it. */
const following = (cursor: SettledCursor, events: readonly EngineEvent[]): EngineEvent[] => {
  const settled = events.find((event) => event.sequence === cursor.sequence);
  if (settled && (settled.digest !== cursor.digest || settled.epoch !== cursor.epoch)) {
    throw new LedgerDiverged(`event ${settled.epoch}-${settled.sequence} is not the one that was settled`);
  }
  const fresh = events.filter((event) => event.sequence > cursor.sequence);
  let previous: Cursor = cursor;
  for (const event of fresh) {
    if (event.sequence !== previous.sequence + 1) {
      throw new LedgerDiverged(`event ${previous.sequence + 1} is missing: found ${event.sequence} after it`);
    }
    if (event.epoch < previous.epoch) {
      throw new LedgerDiverged(
        `event ${event.sequence} is of epoch ${event.epoch}, before ${previous.epoch}`,
      );
    }
    previous = event;
  }
  return fresh;
};

interface ProgressRow {
  id: string;
  size_steps: bigint;
  filled_steps: bigint;
  status: OrderStatus;
  updated_at_ms: bigint;
  updated_sequence: bigint;
}

const loadOrders = async (client: pg.PoolClient, ids: readonly string[]): Promise<Map<string, Progress>> => {
  if (ids.length === 0) return new Map();
  const { rows } = await client.query<ProgressRow & { closed_sequence: bigint | null }>(
    `select id, size_steps, filled_steps, status, updated_at_ms, updated_sequence, closed_sequence
     from orders where id = any($1)`,
    [ids],
  );
  return new Map(
    rows.map((row) => [
      row.id,
      {
        sizeSteps: row.size_steps,
        filledSteps: row.filled_steps,
        status: row.status,
        updatedAtMs: Number(row.updated_at_ms),
        updatedSequence: Number(row.updated_sequence),
        closedSequence: row.closed_sequence === null ? null : Number(row.closed_sequence),
      },
    ]),
  );
};

const write = async (client: pg.PoolClient, batch: Batch): Promise<void> => {
  await writeOrders(client, batch);
  await writeTrades(client, batch);
  await writeEntries(client, batch);
  await writeMovements(client, batch);
  await writeAssetsAndMarkets(client, batch);
  await writeAccounts(client, batch);
  await writeSwitches(client, batch);
};

const writeOrders = async (client: pg.PoolClient, { newOrders, changedOrders }: Batch): Promise<void> => {
  if (newOrders.length > 0) {
    await copyRows(
      client,
      'orders',
      `id, wallet, market, side, type, time_in_force, post_only, leverage, price_ticks, size_steps,
       filled_steps, status, reject_reason, client_order_id, created_at_ms, updated_at_ms, sequence,
       updated_sequence, closed_sequence, base, quote, base_atoms_per_step, quote_atoms_per_lot`,
      newOrders.map(({ terms, rejectReason, progress }) => [
        terms.id,
        terms.wallet,
        terms.market,
        terms.side,
        terms.type,
        terms.timeInForce,
        terms.postOnly,
        terms.leverage,
        terms.priceTicks,
        terms.sizeSteps,
        progress.filledSteps,
        progress.status,
        rejectReason,
        terms.clientOrderId === null ? null : storable(terms.clientOrderId),
        terms.createdAtMs,
        progress.updatedAtMs,
        terms.sequence,
        progress.updatedSequence,
        progress.closedSequence,
        terms.lot.base,
        terms.lot.quote,
        terms.lot.baseAtomsPerStep,
        terms.lot.quoteAtomsPerLot,
      ]),
    );
  }
  if (changedOrders.size > 0) {
    const changes = [...changedOrders.values()];
    await client.query(
      `update orders
       set filled_steps = change.filled_steps, status = change.status, updated_at_ms = change.updated_at_ms,
           updated_sequence = change.updated_sequence, closed_sequence = change.closed_sequence
       from unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
         as change (id, filled_steps, status, updated_at_ms, updated_sequence, closed_sequence)
       where orders.id = change.id`,
      [
        [...changedOrders.keys()],
        changes.map((change) => change.filledSteps),
        changes.map((change) => change.status),
        changes.map((change) => change.updatedAtMs),
        changes.map((change) => change.updatedSequence),
        changes.map((change) => change.closedSequence),
      ],
    );
  }
};

const writeTrades = async (client: pg.PoolClient, { trades }: Batch): Promise<void> => {
  if (trades.length === 0) return;
  await copyRows(
    client,
    'trades',
    `trade_id, sequence, market, taker_side, price_ticks, size_steps, base_atoms, notional_atoms, fee_atoms,
     taker_order_id, maker_order_id, taker_wallet, maker_wallet, time_ms, base, quote, base_atoms_per_step,
     quote_atoms_per_lot`,
    trades.map((trade) => [
      trade.tradeId,
      trade.sequence,
      trade.market,
      trade.takerSide,
      trade.priceTicks,
      trade.sizeSteps,
      baseAtoms(trade),
      notionalAtoms(trade),
      trade.feeAtoms,
      trade.takerOrderId,
      trade.makerOrderId,
      trade.takerWallet,
      trade.makerWallet,
      trade.timeMs,
      trade.lot.base,
      trade.lot.quote,
      trade.lot.baseAtomsPerStep,
      trade.lot.quoteAtomsPerLot,
    ]),
  );
};

const writeEntries = async (client: pg.PoolClient, { entries }: Batch): Promise<void> => {
  if (entries.length === 0) return;
  await copyRows(
    client,
    'ledger_entries',
    'sequence, line, transaction_id, kind, account, asset, amount_atoms, reference, time_ms',
    entries.map((entry) => [
      entry.sequence,
      entry.line,
      entry.transactionId,
      entry.kind,
      entry.account,
      entry.asset,
      entry.amountAtoms,
      storable(entry.reference),
      entry.timeMs,
    ]),
  );
};

const writeMovements = async (client: pg.PoolClient, { movements }: Batch): Promise<void> => {
  if (movements.length === 0) return;
  await copyRows(
    client,
    'movements',
    'sequence, kind, wallet, asset, amount_atoms, reference, time_ms',
    movements.map((moved) => [
      moved.sequence,
      moved.kind,
      moved.wallet,
      moved.asset,
      moved.amountAtoms,
      storable(moved.reference),
      moved.timeMs,
    ]),
  );
};

/** JSON has no integers beyond 2^53 that every reader keeps: they become strings. */
const jsonRecord = (record: object): string =>
  JSON.stringify(record, (_key, value) => (typeof value === 'bigint' ? value.toString() : value));

const writeAssetsAndMarkets = async (client: pg.PoolClient, batch: Batch): Promise<void> => {
  if (batch.assets.size > 0) {
    await client.query(
      `insert into assets (symbol, scale) select * from unnest($1::text[], $2::smallint[])
       on conflict (symbol) do update set scale = excluded.scale`,
      [[...batch.assets.keys()], [...batch.assets.values()].map((asset) => asset.scale)],
    );
  }
  if (batch.markets.size > 0) {
    const markets = [...batch.markets.values()];
    await client.query(
      `insert into markets (symbol, number, version, record)
       select * from unnest($1::text[], $2::integer[], $3::bigint[], $4::jsonb[])
       on conflict (symbol) do update
       set number = excluded.number, version = excluded.version, record = excluded.record`,
      [
        markets.map((market) => market.symbol),
        markets.map((market) => market.number),
        markets.map((market) => market.version),
        markets.map(jsonRecord),
      ],
    );
  }
};

const writeAccounts = async (client: pg.PoolClient, batch: Batch): Promise<void> => {
  if (batch.terms.size > 0) {
    const accepted = [...batch.terms.values()];
    await client.query(
      `insert into wallet_terms (wallet, version, accepted_at_ms)
       select * from unnest($1::text[], $2::text[], $3::bigint[])
       on conflict (wallet) do update
       set version = excluded.version, accepted_at_ms = excluded.accepted_at_ms`,
      [
        [...batch.terms.keys()],
        accepted.map((terms) => storable(terms.version)),
        accepted.map((terms) => terms.timeMs),
      ],
    );
  }
  const held = [...batch.holds].filter(([, timeMs]) => timeMs !== null);
  const released = [...batch.holds].filter(([, timeMs]) => timeMs === null);
  if (held.length > 0) {
    await client.query(
      `insert into holds (wallet, held_at_ms) select * from unnest($1::text[], $2::bigint[])
       on conflict (wallet) do update set held_at_ms = excluded.held_at_ms`,
      [held.map(([wallet]) => wallet), held.map(([, timeMs]) => timeMs)],
    );
  }
  if (released.length > 0) {
    await client.query('delete from holds where wallet = any($1)', [released.map(([wallet]) => wallet)]);
  }
};

const writeSwitches = async (client: pg.PoolClient, { paused, termsVersion }: Batch): Promise<void> => {
  if (paused !== undefined) await client.query('update trading_switches set paused = $1', [paused]);
  if (termsVersion !== undefined) {
    await client.query('update trading_switches set terms_version = $1', [
      termsVersion === null ? null : storable(termsVersion),
    ]);
  }
};
