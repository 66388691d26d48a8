/** Orders: what books and lists in Redis hold, against what is live in Postgres. */

import type { Asset } from '../../domain/market.ts';
import type { LiveOrder } from '../../domain/order.ts';
import type { AssetSnapshot } from '../../engine/index.ts';
import { type CheckResult, Comparison } from './comparison.ts';
import { type Servers, untilSettled } from './settled.ts';

/** An order in all that both sides know of it. */
const orderText = (order: {
  wallet: string;
  side: string;
  symbol: string;
  priceTicks: bigint | null;
  remainingSteps: bigint;
}): string =>
  `${order.side} ${order.remainingSteps} steps at ${order.priceTicks} ticks on ${order.symbol} for ${order.wallet}`;

const NO_ORDER = 'no live order';

export async function checkBook(
  { ledger }: Servers,
  asset: Asset,
  snapshot: AssetSnapshot,
): Promise<CheckResult> {
  const comparison = new Comparison();
  const resting = new Map(
    snapshot.resting.map((order) => [order.id, orderText({ ...order, symbol: order.market.symbol })]),
  );
  const reserves = ({ side, lot }: LiveOrder): boolean =>
    (side === 'sell' ? lot.base : lot.quote) === asset.symbol;
  for await (const order of ledger.liveOrdersAt(snapshot.sequence)) {
    if (!reserves(order)) continue;
    const expected = orderText({ ...order, symbol: order.market });
    comparison.equal(`order ${order.id}`, expected, resting.get(order.id) ?? NO_ORDER);
    resting.delete(order.id);
  }
  for (const [id, found] of resting) comparison.equal(`order ${id}`, NO_ORDER, found);
  return comparison.result(
    'book = live orders',
    asset.symbol,
    `# orders at event ${snapshot.sequence}`,
    'the books in Redis hold exactly the orders that are live in Postgres at the same event',
  );
}

/**
 * The engine's list of live orders is read between two events, `before` and `after`. What was live at both was
 * live all the time and must be listed; what is listed must have been live at one of them, or have come and gone
 * in between.
 */
export async function checkLiveList(servers: Servers, patienceMs: number): Promise<CheckResult> {
  const { engine, ledger } = servers;
  const comparison = new Comparison();
  const before = (await engine.state()).sequence;
  const listed = await engine.snapshotLive();
  const after = (await engine.state()).sequence;
  await untilSettled(servers, after, patienceMs);

  const liveAt = async (sequence: number): Promise<Map<string, string>> => {
    const orders = new Map<string, string>();
    for await (const order of ledger.liveOrdersAt(sequence)) {
      orders.set(order.id, `live, of ${order.wallet}`);
    }
    return orders;
  };
  const first = await liveAt(before);
  const last = after === before ? first : await liveAt(after);
  for (const [id, expected] of first) {
    if (last.has(id) && !listed.has(id)) comparison.equal(`order ${id}`, expected, 'not listed');
  }
  for (const [id, { wallet }] of listed) {
    const expected = first.get(id) ?? last.get(id) ?? (await passedThrough(servers, id, before, after));
    comparison.equal(`order ${id}`, expected, `live, of ${wallet}`);
  }
  return comparison.result(
    'live list = live orders',
    null,
    `# orders at event ${before === after ? before : `${before} to ${after}`}`,
    'the engine lists exactly the orders that are live',
  );
}

async function passedThrough(
  { ledger }: Servers,
  id: string,
  before: number,
  after: number,
): Promise<string> {
  const { order } = await ledger.orderById(id, 0);
  const isPassing = order !== null && order.sequence > before && order.sequence <= after;
  return isPassing ? `live, of ${order.wallet}` : NO_ORDER;
}
