/** Orders in the ledger against what their clients were told. */

import { BULK } from '../bulk.ts';
import { isLive, sequenceOf } from '../model.ts';
import type { Wallet } from '../wallet.ts';
import { type Rest, told } from './events.ts';

interface OrderRow {
  id: string;
  wallet: string;
  market: string;
  side: string;
  type: string;
  price_ticks: string | null;
  size_steps: string;
  filled_steps: string;
  status: string;
  client_order_id: string;
  sequence: string;
}

const COLUMNS = `id, wallet, market, side, type, price_ticks, size_steps, filled_steps, status, client_order_id, sequence`;

const TICKS = 100;
const STEPS = 10_000;

export async function acknowledgedOrdersAreThere({ cluster, model, driver }: Rest): Promise<string[]> {
  const rows = await cluster.sql<OrderRow>(`select ${COLUMNS} from orders where market <> $1`, [BULK]);
  const byKey = new Map(rows.map((row) => [`${row.wallet} ${row.client_order_id}`, row]));
  const found: string[] = [];
  for (const order of model.orders.values()) {
    const { address } = driver.wallets[order.wallet]!;
    const name = `order ${order.order.clientOrderId} of wallet ${order.wallet}`;
    const row = byKey.get(`${address} ${order.order.clientOrderId}`);
    if (row === undefined) {
      if (order.state === 'placed') found.push(`${name} was acknowledged as ${order.id} and is nowhere`);
      continue;
    }
    if (order.state === 'refused' && !model.unsure.has(order))
      found.push(`${name} was refused and is ${row.id}`);
    if (order.id !== undefined && order.id !== row.id) found.push(`${name} is ${row.id}, not ${order.id}`);
    if (order.ended !== undefined && order.ended !== row.status)
      found.push(`${name} ended as ${order.ended} and is ${row.status}`);
    if (order.goneBy > 0 && isLive(row.status))
      found.push(`${name} was said to be gone and is ${row.status}`);
    if (sequenceOf(row.id) !== Number(row.sequence)) found.push(`${name} has an id of another event`);
    found.push(...termsThatDiffer(name, order.order, row));
  }
  return told(found);
}

function termsThatDiffer(
  name: string,
  asked: { market: string; side: string; type: string; price?: number; size?: number },
  row: OrderRow,
): string[] {
  const ticks = asked.price === undefined ? null : String(Math.round(asked.price * TICKS));
  const steps = asked.size === undefined ? row.size_steps : String(Math.round(asked.size * STEPS));
  const isSame =
    row.market === asked.market &&
    row.side === asked.side &&
    row.type === asked.type &&
    row.price_ticks === ticks &&
    row.size_steps === steps;
  return isSame ? [] : [`${name} has other terms in the ledger than it was placed with`];
}

/** A client order id stands for one order for ever; Postgres has no two of them, replies have named no two. */
export async function replaysAreTheSame({ cluster }: Rest): Promise<string[]> {
  const rows = await cluster.sql<{ wallet: string; client_order_id: string; count: string }>(`
    select wallet, client_order_id, count(*) from orders where client_order_id is not null
    group by 1, 2 having count(*) > 1`);
  return told(rows.map((row) => `${row.client_order_id} of ${row.wallet} stands for ${row.count} orders`));
}

/** A terminal order is the same at each later rest, and no other order has its id. */
export async function endsStay({ cluster, ended }: Rest): Promise<string[]> {
  const rows = await cluster.sql<OrderRow & { closed_sequence: string | null; fill_count: string }>(
    `select ${COLUMNS}, closed_sequence, fill_count from orders where market <> $1`,
    [BULK],
  );
  const byId = new Map(rows.map((row) => [row.id, JSON.stringify(row)]));
  const found = [...ended]
    .filter(([id, row]) => byId.get(id) !== row)
    .map(([id, row]) => `${id} was ${row} and is ${byId.get(id)}`);
  ended.clear();
  for (const row of rows) if (row.closed_sequence !== null) ended.set(row.id, byId.get(row.id)!);
  return told(found);
}

/** Each execution has one taker and one maker on opposite sides, at the price of the maker, within both limits. */
export async function fillsArePairs({ cluster }: Rest): Promise<string[]> {
  const wrong = await cluster.sql<{ trade_id: string }>(`
    select trade_id from trades
    left join orders taker on taker.id = taker_order_id
    left join orders maker on maker.id = maker_order_id
    where taker.id is null or maker.id is null or taker.side = maker.side or taker.market <> maker.market
      or taker.market <> trades.market or taker.wallet <> taker_wallet or maker.wallet <> maker_wallet
      or trades.taker_side <> taker.side or trades.price_ticks <> maker.price_ticks
      or maker.sequence >= taker.sequence or taker.sequence <> trades.sequence or taker.wallet = maker.wallet
      or (taker.type = 'limit' and case taker.side when 'buy' then trades.price_ticks > taker.price_ticks
        else trades.price_ticks < taker.price_ticks end)`);
  const unequal = await cluster.sql<{ id: string; filled_steps: string; sum: string }>(`
    select id, filled_steps, coalesce(sum(size), 0) as sum from orders
    left join (select taker_order_id as order_id, size_steps as size from trades
      union all select maker_order_id, size_steps from trades) as sides on order_id = id
    group by id, filled_steps, fill_count having filled_steps <> coalesce(sum(size), 0) or fill_count <> count(order_id)`);
  return told([
    ...wrong.map(({ trade_id }) => `trade ${trade_id} is not of two orders that meet`),
    ...unequal.map(({ id, filled_steps, sum }) => `${id} is filled by ${filled_steps}, its fills are ${sum}`),
  ]);
}

interface Listed {
  readonly id: string;
  readonly status: string;
  readonly filledSize: number;
}

/** All pages of a wallet's live orders; undefined when one of them is not answered with 200. */
async function liveOrdersOf(
  driver: Rest['driver'],
  wallet: Rest['driver']['wallets'][number],
  port: number,
): Promise<Listed[] | undefined> {
  const listed: Listed[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const reply = await driver.read(wallet, `/v1/orders?status=live&limit=100${from}`, port);
    if (reply?.status !== 200) return undefined;
    listed.push(...(reply.body.orders as Listed[]));
    cursor = reply.body.nextCursor as string | null;
  }
  return listed;
}

/** The live orders of each wallet by REST are those of the ledger, at each replica. */
export async function listsAreTrue({ cluster, driver }: Rest): Promise<string[]> {
  const rows = await cluster.sql<OrderRow>(
    `select ${COLUMNS} from orders where closed_sequence is null and market <> $1`,
    [BULK],
  );
  const found: string[] = [];
  const look = async (wallet: Wallet): Promise<void> => {
    const port = driver.ports[wallet.index % driver.ports.length]!;
    const orders = await liveOrdersOf(driver, wallet, port);
    if (orders === undefined) {
      found.push(`the list of wallet ${wallet.index} is not answered`);
      return;
    }
    const shown = orders.map((one) => `${one.id} ${one.status} ${Math.round(one.filledSize * STEPS)}`);
    const kept = rows
      .filter((row) => row.wallet === wallet.address && isLive(row.status))
      .map((row) => `${row.id} ${row.status} ${row.filled_steps}`);
    if (shown.sort().join() !== kept.sort().join())
      found.push(
        `wallet ${wallet.index} is shown ${shown.length} live orders, the ledger has ${kept.length}`,
      );
  };
  await Promise.all(driver.wallets.map(look));
  return told(found);
}
