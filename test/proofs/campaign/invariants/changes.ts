/** Changes that the wallets were told of, and replacements, against the ledger. */

import { cursorOf } from '../cluster.ts';
import type { ToldChange } from '../followers.ts';
import { type Rest, told } from './events.ts';

interface ChangedRow {
  readonly id: string;
  /** Changes of the order since the last rest. */
  readonly changes: string;
  readonly fills: string[];
}

/**
 * Lists the ledger's changes of a wallet's orders since an event: a change when one is placed, when it is filled as the
 * maker, and when it ends otherwise.
 */
const CHANGED = `
  with changes as (
    select id, sequence from orders where wallet = $1
    union all select distinct maker_order_id, sequence from trades where maker_wallet = $1
    union all select id, closed_sequence from orders
      where wallet = $1 and reason is not null and closed_sequence > sequence
  ), fills as (
    select trade_id, case wallet when taker_wallet then taker_order_id else maker_order_id end as id
    from (select $1 as wallet, * from trades where $1 in (taker_wallet, maker_wallet) and sequence > $2) as own
  )
  select id, count(*) as changes,
    array(select trade_id::text from fills where fills.id = changes.id order by fills.trade_id) as fills
  from changes where sequence > $2 group by id`;

export async function changesAreToldOnce({ cluster, followers }: Rest): Promise<string[]> {
  const isKnown = await followers.drain();
  const { sequence } = await cursorOf(cluster);
  const found: string[] = [];
  for (const { wallet, told: changes } of isKnown ? followers.all : []) {
    const rows = await cluster.sql<ChangedRow>(CHANGED, [wallet.address, followers.since]);
    found.push(...differences(rows, changes).map((what) => `wallet ${wallet.index}: ${what}`));
  }
  followers.clear(sequence);
  return told(found);
}

function differences(rows: readonly ChangedRow[], changes: readonly ToldChange[]): string[] {
  const found: string[] = [];
  const byOrder = new Map<string, ToldChange[]>();
  for (const change of changes) {
    const { id } = change.order;
    byOrder.set(id, [...(byOrder.get(id) ?? []), change]);
  }
  for (const row of rows) {
    const own = byOrder.get(row.id) ?? [];
    const fills = own.flatMap((change) => change.fills.map(({ id }) => String(id)));
    if (own.length !== Number(row.changes))
      found.push(`${row.id} changed ${row.changes} times, and ${own.length} changes were told`);
    if (fills.sort((one, other) => Number(one) - Number(other)).join() !== row.fills.join())
      found.push(`${row.id} has the fills ${row.fills}, and ${fills} were told`);
    byOrder.delete(row.id);
  }
  for (const id of byOrder.keys()) found.push(`a change of ${id} was told that the ledger does not have`);
  const times = changes.map(({ at }) => at);
  if (times.some((at, index) => at < (times[index - 1] ?? ''))) found.push('changes were told out of order');
  return found;
}

/**
 * An order that replaces another one took its place in one change, or left it as it was. One that was to have filled
 * nothing had filled nothing.
 */
export async function replacementsAreWhole({ cluster, model, driver }: Rest): Promise<string[]> {
  const rows = await cluster.sql<{ key: string; id: string; status: string; sequence: string }>(
    `select wallet || ' ' || client_order_id as key, id, status, sequence from orders`,
  );
  const closed = await cluster.sql<{ id: string; closed_sequence: string; fill_count: number }>(
    `select id, closed_sequence, fill_count from orders where reason = 'replaced'`,
  );
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const left = new Map(closed.map(({ id, closed_sequence }) => [id, Number(closed_sequence)]));
  const filled = new Set(closed.filter((row) => row.fill_count > 0).map(({ id }) => id));
  const found: string[] = [];
  for (const { wallet, order, replaces } of model.orders.values()) {
    const row = byKey.get(`${driver.wallets[wallet]!.address} ${order.clientOrderId}`);
    if (replaces === undefined || row === undefined || row.status === 'rejected') continue;
    const { id, filledSize } = replaces;
    if (left.get(id) !== Number(row.sequence) - 1)
      found.push(`${row.id} replaced ${id}, which ended with event ${left.get(id)}`);
    if (filledSize === 0 && filled.has(id))
      found.push(`${row.id} replaced ${id}, which had fills against its request`);
    left.delete(id);
  }
  for (const id of left.keys()) found.push(`${id} is replaced by no order`);
  return told(found);
}

/** No order was placed after its deadline. */
export async function deadlinesHold({ cluster, model }: Rest): Promise<string[]> {
  const timed = [...model.orders.values()].filter(({ id, order }) => id !== undefined && order.expiresAfter);
  const rows = await cluster.sql<{ id: string; at: string }>(
    `select id, created_at_ms as at from orders where id = any($1)`,
    [timed.map(({ id }) => id)],
  );
  const placedMs = new Map(rows.map(({ id, at }) => [id, Number(at)]));
  return told(
    timed
      .filter(({ id, order }) => (placedMs.get(id!) ?? 0) > order.expiresAfter!)
      .map(({ id, order }) => `${id} was placed at ${placedMs.get(id!)}, after ${order.expiresAfter}`),
  );
}
