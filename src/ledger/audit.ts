/** Reads the ledger for a reconcile: everything as of one event, however long the reads take. */

import type pg from 'pg';
import type { MovementKind } from '../domain/event.ts';
import type { Asset } from '../domain/market.ts';
import type { LiveOrder, Side } from '../domain/order.ts';
import type { Switches } from '../domain/switches.ts';
import { readCursor, type SettledCursor } from './cursor.ts';
import { BOOKED_ASSETS, LAST_TRADES } from './last-trades.ts';
import { type MarketUnitsRow, marketUnits, UNIT_COLUMNS } from './market-units.ts';
import { type Ask, asking, SNAPSHOT, takeClient } from './queries.ts';
import { lastSealed } from './seals.ts';
import { WHOLE_HISTORY } from './span.ts';
import { cursorChunks, LISTS_ARE_READ_WHOLE } from './stream-rows.ts';
import { readSwitchesIn } from './switches.ts';

/** An order as settled. Its `remainingSteps` are zero when it is not live. */
export type AuditedOrder = Omit<LiveOrder, 'sequence'>;

/** An id that may be used only once. */
export interface AuditedName {
  readonly kind: 'order' | MovementKind;
  readonly wallet: string;
  /** The client order id of an order, or the reference of a movement. */
  readonly id: string;
  /** Id of the order, or sequence of the movement. */
  readonly usedBy: string;
}

/** An id that may be used only once, and what it stands for. */
export type AuditedId = AuditedName & { readonly sequence: number } & (
    | { readonly kind: 'order' }
    | {
        readonly kind: MovementKind;
        readonly asset: string;
        readonly atoms: bigint;
        readonly reverses: string | null;
        readonly txid: string | null;
        readonly owed: bigint | null;
      }
  );

/** The ledger as of its cursor. Lists come in chunks of some thousand rows. */
export interface Audit {
  readonly cursor: SettledCursor;
  readonly switches: Switches;
  readonly assets: readonly Asset[];
  summary(): Promise<AuditSummary>;
  /** @param by `id`: book by book, best order first; `wallet`: by wallet and id */
  liveOrders(by: 'id' | 'wallet'): AsyncIterable<readonly AuditedOrder[]>;
  /**
   * Yields every account of every asset, asset by asset, with the atoms that its live orders hold and the sum of its
   * entries, which begins with the balances that were kept with the last seal.
   */
  accounts(): AsyncIterable<readonly AuditedAccount[]>;
  ordersById(ids: readonly string[]): Promise<AuditedOrder[]>;
  /** Yields all ids, in no order. */
  usedNames(): AsyncIterable<readonly AuditedName[]>;
  /** Yields the ids that were used after an event, in no order. */
  usedIdsAfter(sequence: number): AsyncIterable<readonly AuditedId[]>;
}

export interface AuditSummary {
  /** Every asset that was ever booked. */
  readonly bookedAssets: ReadonlySet<string>;
  readonly lastTrades: readonly {
    readonly market: string;
    readonly tradeId: number;
    readonly priceTicks: bigint;
  }[];
  /** Spans of lost events, up to and including the last one. */
  readonly seams: readonly Seam[];
}

interface Seam {
  readonly afterSequence: number;
  readonly sequence: number;
  readonly lastTradeId: number;
}

/** Tells whether a seam stands for an event. */
export const isLost = ({ seams }: Pick<AuditSummary, 'seams'>, event: number): boolean =>
  seams.some(({ afterSequence, sequence }) => event > afterSequence && event <= sequence);

interface AuditedAccount {
  readonly asset: string;
  /** A wallet, `house`, `withdrawals`, `custody`, or `receivable:` and a wallet. */
  readonly account: string;
  readonly atoms: bigint;
  readonly reservedAtoms: bigint;
}

interface OrderRow extends MarketUnitsRow {
  id: string;
  wallet: string;
  market: string;
  side: Side;
  price_ticks: bigint | null;
  size_steps: bigint;
  filled_steps: bigint;
  closed_sequence: bigint | null;
  client_order_id: string | null;
}

const ordersOf = (
  table: 'live_orders' | 'orders',
): string => `select id, wallet, market, side, price_ticks, size_steps, filled_steps, closed_sequence,
  client_order_id, ${UNIT_COLUMNS} from public.${table}`;

const orderOf = (row: OrderRow): AuditedOrder => ({
  id: row.id,
  wallet: row.wallet,
  market: row.market,
  side: row.side,
  priceTicks: row.price_ticks,
  sizeSteps: row.size_steps,
  remainingSteps: row.closed_sequence === null ? row.size_steps - row.filled_steps : 0n,
  clientOrderId: row.client_order_id,
  units: marketUnits(row),
});

/** One pass over the entries after the event $1 and the balances that were kept after it, whatever the number of assets. */
const ACCOUNTS = `
  select asset, account, sum(atoms)::text as atoms, sum(reserved)::text as reserved
  from (
    select asset, account, total_atoms as atoms, 0::numeric as reserved from public.kept_balances where sequence = $1
    union all
    select asset, account, sum(amount_atoms), 0 from public.ledger_entries where sequence > $1 group by asset, account
    union all
    select case side when 'sell' then base else quote end collate "C", wallet, 0, (size_steps - filled_steps)::numeric
      * case side when 'sell' then base_atoms_per_step else price_ticks::numeric * quote_atoms_per_lot end
    from public.live_orders) as booked
  group by asset, account order by asset`;

interface AccountRow {
  asset: string;
  account: string;
  atoms: string;
  reserved: string;
}

const accountOf = ({ asset, account, atoms, reserved }: AccountRow): AuditedAccount => ({
  asset,
  account,
  atoms: BigInt(atoms),
  reservedAtoms: BigInt(reserved),
});

const USED_NAMES = `
  select 'order' as kind, wallet, client_order_id as id, id as "usedBy" from public.orders where client_order_id is not null
  union all select kind, wallet, reference, sequence::text from public.movements`;

interface IdRow extends AuditedName {
  asset: string | null;
  atoms: bigint | null;
  sequence: bigint;
  reverses: string | null;
  txid: string | null;
  owed: bigint | null;
}

const USED_IDS_AFTER = `
  select 'order' as kind, wallet, client_order_id as id, id as "usedBy", null as asset, null::bigint as atoms, sequence,
    null as reverses, null as txid, null::bigint as owed
  from public.orders where client_order_id is not null and sequence > $1
  union all
  select kind, wallet, reference, sequence::text, asset, amount_atoms, sequence, reverses, txid, nullif(owed_atoms, 0)
  from public.movements where sequence > $1`;

const usedIdOf = ({ kind, asset, atoms, sequence, reverses, txid, owed, ...name }: IdRow): AuditedId =>
  kind === 'order'
    ? { ...name, kind, sequence: Number(sequence) }
    : { ...name, kind, sequence: Number(sequence), asset: asset!, atoms: atoms!, reverses, txid, owed };

async function* chunks<Row extends pg.QueryResultRow, Result>(
  ask: Ask,
  sql: string,
  parameters: readonly unknown[],
  resultOf: (row: Row) => Result,
): AsyncGenerator<readonly Result[]> {
  for await (const rows of cursorChunks<Row>(ask, sql, parameters)) yield rows.map(resultOf);
}

async function readSummary(ask: Ask): Promise<AuditSummary> {
  const trades = await ask<{ market: string; trade_id: bigint; price_ticks: bigint }>(LAST_TRADES);
  const booked = await ask<{ asset: string }>(BOOKED_ASSETS);
  const seams = await ask<{ after_sequence: bigint; sequence: bigint; last_trade_id: bigint }>(
    'select after_sequence, sequence, last_trade_id from public.adoptions order by sequence',
  );
  return {
    bookedAssets: new Set(booked.map(({ asset }) => asset)),
    lastTrades: trades.map(({ market, trade_id, price_ticks }) => ({
      market,
      tradeId: Number(trade_id),
      priceTicks: price_ticks,
    })),
    seams: seams.map((row) => ({
      afterSequence: Number(row.after_sequence),
      sequence: Number(row.sequence),
      lastTradeId: Number(row.last_trade_id),
    })),
  };
}

/**
 * Opens the audit. No long query may run on `lookups`, nor before this function returns: events must be read as they
 * come.
 */
async function openAudit(lists: Ask, lookups: Ask, isWhole: boolean): Promise<Audit> {
  const sealedTo = isWhole ? WHOLE_HISTORY.from : await lastSealed(lookups);
  return {
    cursor: await readCursor(lookups),
    switches: await readSwitchesIn(lookups),
    assets: await lookups<{ symbol: string; scale: number }>('select symbol, scale from public.assets'),
    summary: () => readSummary(lists),
    liveOrders: (by) =>
      chunks(lists, `${ordersOf('live_orders')} order by ${by === 'id' ? 'id' : 'wallet, id'}`, [], orderOf),
    accounts: () => chunks(lists, ACCOUNTS, [sealedTo], accountOf),
    ordersById: async (ids) =>
      (await lookups<OrderRow>(`${ordersOf('orders')} where id = any($1)`, [ids])).map(orderOf),
    usedNames: () => chunks(lists, USED_NAMES, [], (row: AuditedName) => row),
    usedIdsAfter: (sequence) => chunks(lists, USED_IDS_AFTER, [sequence], usedIdOf),
  };
}

/**
 * Runs work on two connections with one snapshot: one fetches lists while the other looks up rows.
 * @param isWhole true to sum all entries, and not only those after the last sealed segment
 * @throws Refusal SERVICE_UNAVAILABLE when Postgres is unavailable
 */
export async function audit<Result>(
  pool: pg.Pool,
  work: (audit: Audit) => Promise<Result>,
  isWhole: boolean,
): Promise<Result> {
  const clients: pg.PoolClient[] = [];
  let sound = false;
  try {
    for (let count = 0; count < 2; count += 1) clients.push(await takeClient(pool));
    const [lists, lookups] = clients as [pg.PoolClient, pg.PoolClient];
    const askLists = asking(lists);
    const askLookups = asking(lookups);
    await askLists(`${SNAPSHOT}; ${LISTS_ARE_READ_WHOLE}`);
    const [snapshot] = await askLists<{ id: string }>('select pg_export_snapshot() as id');
    await askLookups(`${SNAPSHOT}; set transaction snapshot '${snapshot!.id}'`);
    const result = await work(await openAudit(askLists, askLookups, isWhole));
    await Promise.all([askLists('commit'), askLookups('commit')]);
    sound = true;
    return result;
  } finally {
    // Closing the connection is the rollback that always works.
    for (const client of clients) client.release(!sound);
  }
}
