/**
 * Books: what rests is what is live, no side crosses the other, each order met those who were first, and each screen
 * comes to show the book as it is.
 */

import type { OrderType, TimeInForce } from '../../../../src/domain/order.ts';
import { eventually } from '../../../support/eventually.ts';
import { writeDecimal } from '../../equivalence/decimals.ts';
import { ReferenceExchange } from '../../equivalence/reference-book.ts';
import { rulesOf } from '../../equivalence/stage.ts';
import { BULK } from '../bulk.ts';
import type { Cluster } from '../cluster.ts';
import { type Driver, MARKETS } from '../driver.ts';
import { MARKER } from '../marker.ts';
import type { Shown } from '../screens.ts';
import { type Rest, readCounted, told } from './events.ts';

/** Failures are expected of a machine that runs much else: a frame is due every two seconds. */
const PATIENCE_MS = 30_000;

export async function screensAreTrue({ cluster, screens }: Rest): Promise<string[]> {
  const best = await bestPrices(cluster);
  const behind = (): string[] =>
    screens.all.flatMap(({ port, symbol, shown }) => {
      const now = shown();
      const expected = best(symbol);
      const isTrue = now !== undefined && now.bid === expected.bid && now.ask === expected.ask;
      const words = now === undefined ? 'nothing' : `${now.bid} and ${now.ask}`;
      return isTrue
        ? []
        : [`port ${port} shows ${words} in ${symbol}, best are ${expected.bid} and ${expected.ask}`];
    });
  try {
    await eventually('screens show the book', () => behind().length === 0, PATIENCE_MS);
    return [];
  } catch {
    return told(behind());
  }
}

const MAX_LEVELS = 500;
const TICKS = 100;
const STEPS = 10_000;

interface Level {
  readonly market: string;
  readonly side: 'buy' | 'sell';
  readonly price: string;
  readonly size: string;
}

/** Sums of the live orders, best first. */
const liveLevels = ({ sql }: Pick<Cluster, 'sql'>): Promise<Level[]> =>
  sql<Level>(`
    select market, side, price_ticks::text as price, sum(size_steps - filled_steps)::text as size
    from orders where closed_sequence is null group by 1, 2, price_ticks
    order by market, case side when 'buy' then -price_ticks else price_ticks end`);

/** Best prices of the live orders of a market. */
async function bestPrices(cluster: Pick<Cluster, 'sql'>): Promise<(market: string) => Shown> {
  const levels = await liveLevels(cluster);
  return (market) => {
    const best = (side: string): number | undefined => {
      const level = levels.find((one) => one.market === market && one.side === side);
      return level === undefined ? undefined : Number(level.price) / TICKS;
    };
    return { bid: best('buy'), ask: best('sell') };
  };
}

/** The book by REST is the sum of the live orders of the ledger at each replica, and is not crossed. */
export async function booksAreOfLiveOrders({ cluster, driver }: Rest): Promise<string[]> {
  const levels = await liveLevels(cluster);
  const found: string[] = [];
  for (const market of new Set([...MARKETS, MARKER, ...levels.map((level) => level.market)])) {
    const kept = (side: string): string[] =>
      levels
        .filter((level) => level.market === market && level.side === side)
        .slice(0, MAX_LEVELS / 2)
        .map(({ price, size }) => `${price} ${size}`);
    for (const port of driver.ports) {
      const book = await readBook(driver, market, port);
      for (const [side, shown] of [
        ['buy', book?.bids],
        ['sell', book?.asks],
      ] as const) {
        const asShown = shown?.map(
          ([price, size]) => `${Math.round(Number(price) * TICKS)} ${Math.round(Number(size) * STEPS)}`,
        );
        if (asShown?.join() !== kept(side).join())
          found.push(`the ${side} side of ${market} at port ${port} is not that of the live orders`);
      }
    }
    const [bid, ask] = [kept('buy')[0], kept('sell')[0]].map((level) => Number(level?.split(' ')[0]));
    if (bid! >= ask!) found.push(`${market} is crossed: ${bid} and ${ask}`);
  }
  return told(found);
}

/** @returns undefined when no book came */
async function readBook(
  driver: Driver,
  market: string,
  port: number,
): Promise<Record<'bids' | 'asks', [string, string][]> | undefined> {
  const path = `/v1/market-data/orderbook/${market.replace('/', '_')}?depth=${MAX_LEVELS}`;
  const reply = await readCounted(driver, driver.wallets[0]!, path, port);
  return reply?.status === 200 ? (reply.body as Record<'bids' | 'asks', [string, string][]>) : undefined;
}

interface Row {
  id: string;
  wallet: string;
  market: string;
  side: 'buy' | 'sell';
  type: OrderType;
  time_in_force: TimeInForce;
  post_only: boolean;
  price_ticks: string | null;
  size_steps: string;
  sequence: string;
  closed_sequence: string | null;
  status: string;
}

/** The naive exchange of the equivalence in ticks and steps, with more funds than anybody can spend. */
function naiveExchange(rows: readonly Row[]): ReferenceExchange {
  const book = new ReferenceExchange({ maxMakers: Number.MAX_SAFE_INTEGER, maxLiveOrders: rows.length });
  for (const symbol of new Set(rows.map(({ market }) => market))) {
    for (const asset of symbol.split('/')) {
      book.scales.set(asset, 0);
      for (const { wallet } of rows) book.account(wallet, asset).available = 10n ** 30n;
    }
    book.publish(rulesOf(symbol, { tickSize: '1', sizeStep: '1', selfTrade: 'expire_maker' }));
  }
  return book;
}

/** Runs the accepted orders and the cancels of the ledger again, and compares the executions. */
export async function prioritiesHold({ cluster }: Rest): Promise<string[]> {
  const rows = await cluster.sql<Row>('select * from orders where market <> $1 order by sequence', [BULK]);
  const trades = await cluster.sql<{ sequence: string; execution: string }>(
    `select sequence, concat_ws(' ', maker_order_id, size_steps, price_ticks) as execution
     from trades where market <> $1 order by trade_id`,
    [BULK],
  );
  const byEvent = new Map<string, string[]>();
  for (const { sequence, execution } of trades)
    byEvent.set(sequence, [...(byEvent.get(sequence) ?? []), execution]);
  const book = naiveExchange(rows);
  const ids: string[] = [];
  const numbers = new Map<string, number>();
  const found: string[] = [];
  for (const { row, ends } of stepsOf(rows)) {
    const { id, wallet, market, side, type, post_only: postOnly, price_ticks: price } = row;
    if (ends) {
      book.closeOne(null, numbers.get(id)!, 'user_cancelled');
      continue;
    }
    const terms = { market, side, type, postOnly, timeInForce: row.time_in_force, size: row.size_steps };
    const unused = { clientOrderId: null, reduceOnly: false, leverage: null };
    const answer = book.place(wallet, { ...terms, ...unused, ...(price !== null && { price }) }, false);
    if (!('placed' in answer)) {
      found.push(`order ${id} was accepted, and should be ${JSON.stringify(answer)}`);
      continue;
    }
    ids[answer.placed.number] = id;
    numbers.set(id, answer.placed.number);
    const expected = answer.trades
      .map(({ maker, size, price: at }) => `${ids[maker]} ${writeDecimal(size)} ${writeDecimal(at)}`)
      .join();
    const executed = (byEvent.get(row.sequence) ?? []).join();
    if (expected !== executed)
      found.push(`order ${id} met ${executed || 'nobody'}, first in line: ${expected || 'nobody'}`);
  }
  return told(found);
}

/** Placings and ends in the order of their events. An order's own placing comes before its end. */
function stepsOf(rows: readonly Row[]): { at: number; ends: boolean; row: Row }[] {
  const steps = rows.flatMap((row) => [
    { at: Number(row.sequence), ends: false, row },
    ...(row.closed_sequence === null ? [] : [{ at: Number(row.closed_sequence), ends: true, row }]),
  ]);
  return steps.sort((one, other) => one.at - other.at || Number(one.ends) - Number(other.ends));
}
