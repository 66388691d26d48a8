/** The statements that write a batch: COPY for new rows, one set-based statement for changed ones. */

import type { Cursor, EngineEvent } from '../domain/event.ts';
import { writeMarketRecord } from '../domain/market-record.ts';
import type { SwitchChanges } from '../domain/switches.ts';
import { writeTake } from '../domain/withdrawal-states.ts';
import type { CandleRows } from './candle-rows.ts';
import type { ChainPart } from './chain.ts';
import { CopyRows } from './copy.ts';
import type { FoldedBatch } from './fold.ts';
import { changeOrders, type NewOrderRow, orderRow } from './order-rows.ts';
import { numberArray, type Statement, textArray } from './round-trip.ts';
import type { SegmentEnds } from './segments.ts';
import {
  type Columns,
  MARKET_VERSIONS,
  MOVEMENTS,
  namesOf,
  OPERATOR_ACTS,
  ORDERS,
  SETTING_CHANGES,
  TRADES,
} from './tables.ts';
import { storable } from './text.ts';

/** The statements of a batch, which continue any chain that ends right before it. */
export interface BatchStatements {
  /**
   * @param settled the event before the first one
   * @param head of the chain after that event
   * @param ends of the segments that hold the events after that event
   */
  after(settled: Cursor, head: string, ends: SegmentEnds): readonly Statement[];
}

/**
 * @param first sequence of the first event
 * @param last the last event of the batch, to which the cursor moves
 */
export function writeBatch(batch: FoldedBatch, first: number, last: EngineEvent): BatchStatements {
  const rows = rowsOf(batch);
  const partAfter = batch.texts.part(batch.traded.trades.buffers(), first);
  return {
    after: ({ epoch }, head, ends) => {
      const part = partAfter(head);
      return [
        ...rows(ends),
        ...noteStarts(batch, epoch),
        ...keepHead(part, last),
        moveCursor(batch, last, part),
      ];
    },
  };
}

/** Returns the statements of some rows, from the ends of the segments that hold the events after the cursor. */
type WriteRows = (ends: SegmentEnds) => readonly Statement[];

/**
 * Returns the statements that write the rows of a batch, without its part of the chain. Their texts are made at once:
 * later batches change the orders that this one leaves live.
 */
export function rowsOf(batch: FoldedBatch): WriteRows {
  const newOrders = writeNewOrders(batch);
  const others = [
    ...changeOrders(batch.changedOrders),
    ...copy('trades', TRADES, batch.traded.trades),
    ...writeCandles(batch.traded.candles),
    ...copy('movements', MOVEMENTS, batch.movements),
    ...writePending(batch),
    ...writeAssets(batch),
    ...writeMarkets(batch),
    ...writeTerms(batch.switches),
    ...writeHolds(batch.switches),
    ...writeTakes(batch.switches),
    ...writeSwitches(batch.switches),
    ...copy('market_versions', MARKET_VERSIONS, batch.marketVersions),
    ...copy('setting_changes', SETTING_CHANGES, batch.settingChanges),
    ...copy('operator_acts', OPERATOR_ACTS, batch.acts),
  ];
  return (ends) => [...newOrders(ends), ...others];
}

/** @param epoch of the event before the batch */
function noteStarts({ epochStarts }: FoldedBatch, epoch: number): Statement[] {
  const begun = [...epochStarts].filter(([one]) => one > epoch);
  if (begun.length === 0) return [];
  return [
    {
      name: 'note starts',
      text: 'insert into public.epoch_starts (epoch, sequence) select * from unnest($1::integer[], $2::bigint[])',
      values: [numberArray(begun.map(([one]) => one)), numberArray(begun.map(([, first]) => first))],
    },
  ];
}

const keepHead = ({ isKept, head }: ChainPart, { sequence }: EngineEvent): Statement[] =>
  isKept
    ? [
        {
          name: 'keep head',
          text: 'insert into public.chain_heads (sequence, head) values ($1::bigint, $2)',
          values: [`${sequence}`, head],
        },
      ]
    : [];

function writeCandles(candles: CandleRows): Statement[] {
  const statement = candles.statement();
  return statement === null ? [] : [statement];
}

export const copy = (table: string, columns: Columns, rows: CopyRows): Statement[] =>
  rows.count === 0
    ? []
    : [
        {
          name: `copy ${table}`,
          text: `copy public.${table} (${namesOf(columns)}) from stdin`,
          copied: rows.buffers(),
        },
      ];

const isLive = ({ progress }: NewOrderRow): boolean => progress.closedSequence === null;
const hasEnded = (order: NewOrderRow): boolean => !isLive(order);

/** Writes each new order to the table in which the batch leaves it. */
function writeNewOrders({ newOrders }: FoldedBatch): WriteRows {
  const live = copy('live_orders', ORDERS, orderRows(newOrders.filter(isLive)));
  const ended = writeEnded(newOrders.filter(hasEnded));
  const used = refuseUsedIds(newOrders.filter(({ terms }) => terms.clientOrderId !== null));
  return (ends) => [...live, ...ended(ends), ...used];
}

/** Hardly any batch has events of two segments, so the rows are made for one. */
function writeEnded(orders: readonly NewOrderRow[]): WriteRows {
  const together = copy('ended_orders', ORDERS, orderRows(orders));
  return (ends) => {
    const isLate = ({ terms, progress }: NewOrderRow): boolean =>
      ends.some((end) => terms.sequence < end && end <= progress.closedSequence!);
    const late = orders.filter(isLate);
    if (late.length === 0) return together;
    const inSegment = orders.filter((order) => !isLate(order));
    return [
      ...copy('ended_orders', ORDERS, orderRows(inSegment)),
      ...copy('late_orders', ORDERS, orderRows(late)),
    ];
  };
}

function orderRows(orders: readonly NewOrderRow[]): CopyRows {
  const rows = new CopyRows();
  for (const order of orders) rows.add(orderRow(order));
  return rows;
}

/**
 * Returns the statement that fails if an order has the client order id of another one.
 * @param named new orders with ids, in the order of their events
 */
function refuseUsedIds(named: readonly NewOrderRow[]): Statement[] {
  const last = named.at(-1);
  if (last === undefined) return [];
  const ended = named.filter(hasEnded);
  const idsOf = (orders: readonly NewOrderRow[]): string[] => [
    textArray(orders.map(({ terms }) => terms.wallet)),
    textArray(orders.map(({ terms }) => storable(terms.clientOrderId!))),
  ];
  const sequences = numberArray(ended.map(({ terms }) => terms.sequence));
  return [
    {
      name: 'refuse used ids',
      text: 'select public.refuse_used_ids($1, $2, $3, $4, $5, $6)',
      values: [...idsOf(named.filter(isLive)), ...idsOf(ended), sequences, `${last.terms.sequence}`],
    },
  ];
}

const writePending = ({ requested, ended, announced, arrived }: FoldedBatch): Statement[] => [
  ...writeBegun('pending_withdrawals', requested, ended),
  ...writeBegun('announced_deposits', announced, arrived),
];

/** Lists what has begun, by reference and event, and ends what earlier batches began. */
function writeBegun(
  table: string,
  begun: ReadonlyMap<string, number>,
  ended: readonly string[],
): Statement[] {
  const add = {
    name: `add ${table}`,
    text: `insert into public.${table} (reference, sequence) select * from unnest($1::text[], $2::bigint[])`,
    values: [textArray([...begun.keys()]), numberArray([...begun.values()])],
  };
  const end = {
    name: `end ${table}`,
    text: `delete from public.${table} where reference = any($1::text[])`,
    values: [textArray(ended)],
  };
  return [...(begun.size > 0 ? [add] : []), ...(ended.length > 0 ? [end] : [])];
}

function writeAssets({ assets }: FoldedBatch): Statement[] {
  if (assets.size === 0) return [];
  return [
    {
      name: 'write assets',
      text: `
        insert into public.assets (symbol, scale) select * from unnest($1::text[], $2::smallint[])
        on conflict (symbol) do update set scale = excluded.scale`,
      values: [textArray([...assets.keys()]), numberArray([...assets.values()].map((asset) => asset.scale))],
    },
  ];
}

/** Writes markets. Integers beyond 2^53 become strings, because not every reader of JSON keeps them. */
function writeMarkets({ markets }: FoldedBatch): Statement[] {
  if (markets.size === 0) return [];
  const changed = [...markets.values()];
  return [
    {
      name: 'write markets',
      text: `
        insert into public.markets (symbol, number, version, record)
        select * from unnest($1::text[], $2::integer[], $3::bigint[], $4::jsonb[])
        on conflict (symbol) do update
        set number = excluded.number, version = excluded.version, record = excluded.record`,
      values: [
        textArray(changed.map((market) => market.symbol)),
        numberArray(changed.map((market) => market.number)),
        numberArray(changed.map((market) => market.version)),
        textArray(changed.map(writeMarketRecord)),
      ],
    },
  ];
}

function writeTerms({ acceptedTerms }: SwitchChanges): Statement[] {
  if (acceptedTerms.size === 0) return [];
  const accepted = [...acceptedTerms.values()];
  return [
    {
      name: 'write terms',
      text: `
        insert into public.wallet_terms (wallet, version, accepted_at_ms)
        select * from unnest($1::text[], $2::text[], $3::bigint[])
        on conflict (wallet) do update
        set version = excluded.version, accepted_at_ms = excluded.accepted_at_ms`,
      values: [
        textArray([...acceptedTerms.keys()]),
        textArray(accepted.map(({ version }) => storable(version))),
        numberArray(accepted.map(({ timeMs }) => timeMs)),
      ],
    },
  ];
}

function writeHolds({ holds }: SwitchChanges): Statement[] {
  const held = [...holds].filter(([, timeMs]) => timeMs !== null);
  const released = [...holds].filter(([, timeMs]) => timeMs === null);
  const hold = {
    name: 'write holds',
    text: `
      insert into public.holds (wallet, held_at_ms) select * from unnest($1::text[], $2::bigint[])
      on conflict (wallet) do update set held_at_ms = excluded.held_at_ms`,
    values: [textArray(held.map(([wallet]) => wallet)), numberArray(held.map(([, timeMs]) => timeMs))],
  };
  const release = {
    name: 'end holds',
    text: 'delete from public.holds where wallet = any($1::text[])',
    values: [textArray(released.map(([wallet]) => wallet))],
  };
  return [...(held.length > 0 ? [hold] : []), ...(released.length > 0 ? [release] : [])];
}

function writeTakes({ takes }: SwitchChanges): Statement[] {
  const taken = [...takes].flatMap(([reference, one]) => (one === null ? [] : [{ reference, ...one }]));
  const ended = [...takes].filter(([, one]) => one === null);
  const take = {
    name: 'write takes',
    text: `
      insert into public.taken_withdrawals (reference, take, until_ms, taken_at_ms)
      select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
      on conflict (reference) do update
      set take = excluded.take, until_ms = excluded.until_ms, taken_at_ms = excluded.taken_at_ms`,
    values: [
      textArray(taken.map(({ reference }) => storable(reference))),
      textArray(taken.map(({ take }) => writeTake(take))),
      numberArray(taken.map(({ take }) => take.untilMs)),
      numberArray(taken.map(({ timeMs }) => timeMs)),
    ],
  };
  const end = {
    name: 'end takes',
    text: 'delete from public.taken_withdrawals where reference = any($1::text[])',
    values: [textArray(ended.map(([reference]) => storable(reference)))],
  };
  return [...(taken.length > 0 ? [take] : []), ...(ended.length > 0 ? [end] : [])];
}

function writeSwitches({ paused, termsVersion }: SwitchChanges): Statement[] {
  const statements: Statement[] = [];
  if (paused !== undefined)
    statements.push({
      name: 'write pause',
      text: 'update public.trading_switches set paused = $1::boolean',
      values: [String(paused)],
    });
  if (termsVersion !== undefined)
    statements.push({
      name: 'write required terms',
      text: 'update public.trading_switches set terms_version = $1::text',
      values: [termsVersion === null ? null : storable(termsVersion)],
    });
  return statements;
}

const moveCursor = (
  { newOrders, traded, movements }: FoldedBatch,
  last: EngineEvent,
  { head, links }: ChainPart,
): Statement => ({
  name: 'move cursor',
  text: `
    with linked as (insert into public.chain_links (sequence, links) values ($2::bigint, $8))
    update public.engine_cursor
    set epoch = $1, sequence = $2::bigint, digest = $3, event_time_ms = $4, settled_at = clock_timestamp(),
        orders = orders + $5, trades = trades + $6, movements = movements + $7, head = $9`,
  values: [
    `${last.epoch}`,
    `${last.sequence}`,
    last.digest.hex,
    `${last.timeMs}`,
    `${newOrders.length}`,
    `${traded.trades.count}`,
    `${movements.count}`,
    links,
    head,
  ],
});
