/** Reads the state of the exchange as settled: balances, live orders, switches, assets and all ids ever used. */

import type { AccountMoved, Cursor } from '../domain/event.ts';
import type { Asset } from '../domain/market.ts';
import type { LiveOrder, Side } from '../domain/order.ts';
import type { Switches } from '../domain/switches.ts';
import { readCursor } from './cursor.ts';
import { BOOKED_ASSETS, LAST_TRADES } from './last-trades.ts';
import { type MarketUnitsRow, marketUnits, UNIT_COLUMNS } from './market-units.ts';
import type { Pools } from './pools.ts';
import { askOnce, inSnapshot } from './queries.ts';
import { streamRows } from './stream-rows.ts';
import { readSwitchesIn } from './switches.ts';

interface AccountBalance {
  /** A wallet, `house`, `withdrawals`, `custody`, or `receivable:` and a wallet. */
  readonly account: string;
  /** Zero for an account that has nothing left. */
  readonly atoms: bigint;
}

interface LiveOrderRow extends MarketUnitsRow {
  id: string;
  wallet: string;
  market: string;
  side: Side;
  price_ticks: bigint | null;
  size_steps: bigint;
  filled_steps: string;
  client_order_id: string | null;
  sequence: bigint;
}

const BALANCES = `
  select account, sum(amount_atoms)::text as atoms from public.ledger_entries
  where asset = $1 and sequence <= $2
  group by account order by account`;

/** An order's remaining size follows from its trades up to the event, and from what lost trades filled. */
const LIVE_ORDERS = `
  select id, wallet, market, side, price_ticks, size_steps, client_order_id, sequence, ${UNIT_COLUMNS},
    (coalesce((select sum(size_steps) from public.trades where trades.sequence = orders.sequence), 0)
     + coalesce((select sum(size_steps) from public.trades where maker_order_id = orders.id and sequence <= $1), 0)
     + coalesce((select sum(steps) from public.adopted_fills where order_id = orders.id and sequence <= $1), 0)
    )::text as filled_steps
  from public.orders
  where sequence <= $1 and (closed_sequence is null or closed_sequence > $1)
  order by id`;

const liveOrderOf = (row: LiveOrderRow): LiveOrder => ({
  id: row.id,
  wallet: row.wallet,
  market: row.market,
  side: row.side,
  priceTicks: row.price_ticks,
  sizeSteps: row.size_steps,
  remainingSteps: row.size_steps - BigInt(row.filled_steps),
  clientOrderId: row.client_order_id,
  sequence: Number(row.sequence),
  units: marketUnits(row),
});

export type StateQueries = ReturnType<typeof stateQueries>;

/** Queries of the state of the exchange. Lists are streams of any length. */
export function stateQueries({ auditing }: Pick<Pools, 'auditing'>) {
  return {
    /** Yields every account's sum of an asset up to and including the event, by account; the event must be settled. */
    async *balances(asset: string, sequence: number): AsyncGenerator<AccountBalance> {
      const rows = streamRows<{ account: string; atoms: string }>(auditing, BALANCES, [asset, sequence]);
      for await (const { account, atoms } of rows) yield { account, atoms: BigInt(atoms) };
    },

    /** Yields the orders that were live right after the event, by id; the event must be settled. */
    async *liveOrders(sequence: number): AsyncGenerator<LiveOrder> {
      for await (const row of streamRows<LiveOrderRow>(auditing, LIVE_ORDERS, [sequence])) {
        yield liveOrderOf(row);
      }
    },

    /** Returns the switches and the event that they are as of. */
    switches(): Promise<Switches & { readonly cursor: Cursor }> {
      return inSnapshot(auditing, async (ask) => ({
        cursor: await readCursor(ask),
        ...(await readSwitchesIn(ask)),
      }));
    },

    /** Returns the wallets on custody hold after a wallet, by wallet, as last settled. */
    async holds(after: string, limit: number): Promise<{ wallet: string; heldAtMs: number }[]> {
      const rows = await askOnce<{ wallet: string; held_at_ms: bigint }>(
        auditing,
        'select wallet, held_at_ms from public.holds where wallet > $1 order by wallet limit $2',
        [after, limit],
      );
      return rows.map((row) => ({ wallet: row.wallet, heldAtMs: Number(row.held_at_ms) }));
    },

    /** Returns the price of the last trade of each market, in ticks, also of one that is lost. */
    async lastPrices(): Promise<Map<string, bigint>> {
      const rows = await askOnce<{ market: string; price_ticks: bigint }>(auditing, LAST_TRADES);
      return new Map(rows.map(({ market, price_ticks }) => [market, price_ticks]));
    },

    /** Returns every asset, as last settled. */
    assets(): Promise<Asset[]> {
      return askOnce<Asset>(auditing, 'select symbol, scale from public.assets order by symbol');
    },

    /** Returns the symbol of every asset that was ever booked, an announcement that moved nothing included. */
    async bookedAssets(): Promise<string[]> {
      return (await askOnce<{ asset: string }>(auditing, BOOKED_ASSETS)).map(({ asset }) => asset);
    },

    /** Yields every client order id that was ever used, in no order. */
    clientOrderIds(): AsyncGenerator<{ wallet: string; clientOrderId: string }> {
      return streamRows(
        auditing,
        'select wallet, client_order_id as "clientOrderId" from public.orders where client_order_id is not null',
      );
    },

    /** Yields the references of all deposits and withdrawals, in no order. */
    movementReferences(): AsyncGenerator<Pick<AccountMoved, 'kind' | 'reference'>> {
      return streamRows(auditing, 'select kind, reference from public.movements');
    },
  };
}
