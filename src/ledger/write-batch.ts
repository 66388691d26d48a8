/** The rows of a batch into their tables: COPY for what is new, one set-based statement for what changes. */

import type pg from 'pg';
import { writeMarketRecord } from '../domain/market-record.ts';
import { baseAtoms, notionalAtoms } from '../domain/order.ts';
import { writeCandles } from './candles.ts';
import { copyRows } from './copy.ts';
import type { Batch } from './fold.ts';
import { storable } from './text.ts';

export const writeBatch = async (client: pg.PoolClient, batch: Batch): Promise<void> => {
  await writeOrders(client, batch);
  await writeTrades(client, batch);
  await writeCandles(client, batch.trades);
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
       filled_steps, fill_count, status, reject_reason, client_order_id, created_at_ms, updated_at_ms, sequence,
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
        progress.fillCount,
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
       set filled_steps = change.filled_steps, fill_count = change.fill_count, status = change.status,
           updated_at_ms = change.updated_at_ms, updated_sequence = change.updated_sequence,
           closed_sequence = change.closed_sequence
       from unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])
         as change (id, filled_steps, fill_count, status, updated_at_ms, updated_sequence, closed_sequence)
       where orders.id = change.id`,
      [
        [...changedOrders.keys()],
        changes.map((change) => change.filledSteps),
        changes.map((change) => change.fillCount),
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
        markets.map(writeMarketRecord),
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
