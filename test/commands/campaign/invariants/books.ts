/** Books: what rests is what is live, no side crosses the other, and each order met those who were first. */

import { BULK } from '../bulk.ts';
import type { Cluster } from '../cluster.ts';
import { type Driver, MARKETS } from '../driver.ts';
import { MARKER } from '../marker.ts';
import type { Shown } from '../screens.ts';
import { type Rest, readCounted, told } from './rest.ts';

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
export async function bestPrices(cluster: Pick<Cluster, 'sql'>): Promise<(market: string) => Shown> {
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
  type: string;
  time_in_force: string;
  post_only: boolean;
  price_ticks: string | null;
  size_steps: string;
  sequence: string;
  closed_sequence: string | null;
  status: string;
}

interface Resting {
  readonly id: string;
  readonly wallet: string;
  readonly ticks: number;
  readonly sequence: number;
  left: number;
}

type Book = Record<'buy' | 'sell', Resting[]>;

/**
 * Runs the accepted orders and the cancels of the ledger again, through a book that is a sorted list, and compares
 * the executions. The markets expire an own resting order that an incoming one would meet.
 */
export async function prioritiesHold({ cluster }: Rest): Promise<string[]> {
  const rows = await cluster.sql<Row>('select * from orders where market <> $1 order by sequence', [BULK]);
  const trades = await cluster.sql<{
    sequence: string;
    maker_order_id: string;
    size_steps: string;
    price_ticks: string;
  }>(
    'select sequence, maker_order_id, size_steps, price_ticks from trades where market <> $1 order by trade_id',
    [BULK],
  );
  const byEvent = new Map<string, string[]>();
  for (const { sequence, maker_order_id, size_steps, price_ticks } of trades) {
    const list = byEvent.get(sequence) ?? [];
    list.push(`${maker_order_id} ${size_steps} ${price_ticks}`);
    byEvent.set(sequence, list);
  }
  const books = new Map<string, Book>();
  const found: string[] = [];
  for (const step of stepsOf(rows)) {
    const { row } = step;
    const book = books.get(row.market) ?? { buy: [], sell: [] };
    books.set(row.market, book);
    if (step.ends) {
      book[row.side] = book[row.side].filter(({ id }) => id !== row.id);
      continue;
    }
    const expected = match(book, row).join();
    const executed = (byEvent.get(row.sequence) ?? []).join();
    if (expected !== executed)
      found.push(`order ${row.id} met ${executed || 'nobody'}, first in line: ${expected || 'nobody'}`);
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

/** Matches an order and lets the rest of it rest. @returns its executions as texts */
function match(book: Book, row: Row): string[] {
  const isBuy = row.side === 'buy';
  const limit = row.price_ticks === null ? undefined : Number(row.price_ticks);
  const makers = isBuy ? book.sell : book.buy;
  if (row.status === 'rejected') return [];
  let left = Number(row.size_steps);
  const executions: string[] = [];
  while (left > 0 && makers[0] !== undefined) {
    const [maker] = makers as [Resting];
    if (limit !== undefined && (isBuy ? maker.ticks > limit : maker.ticks < limit)) break;
    if (maker.wallet === row.wallet) {
      makers.shift();
      continue;
    }
    const steps = Math.min(left, maker.left);
    executions.push(`${maker.id} ${steps} ${maker.ticks}`);
    left -= steps;
    maker.left -= steps;
    if (maker.left === 0) makers.shift();
  }
  if (left > 0 && limit !== undefined && row.time_in_force === 'GTC') {
    const own = isBuy ? book.buy : book.sell;
    own.push({ id: row.id, wallet: row.wallet, ticks: limit, sequence: Number(row.sequence), left });
    own.sort(
      (one, other) =>
        (isBuy ? other.ticks - one.ticks : one.ticks - other.ticks) || one.sequence - other.sequence,
    );
  }
  return executions;
}
