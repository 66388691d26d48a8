/** The curve of a side of the book: what stands between the mid and each price. Doubles are enough, as they become pixels. */

interface Level {
  readonly price: string;
  readonly size: string;
}

interface Curve {
  /** Points of an SVG polygon; x from 0 to 1000 by price, y from 0 at the top to 1000. */
  readonly points: string;
  /** Sum of the sizes that are drawn. */
  readonly total: number;
}

export interface DepthCurves {
  readonly bids: Curve;
  readonly asks: Curve;
  /** Prices at the left edge, in the middle and at the right edge. */
  readonly prices: readonly [number, number, number];
}

/** Part of each side, by its worth, that is drawn: one far order must not flatten the rest. */
const DRAWN = 0.95;
/** Greatest part of the mid on each side of it that is drawn without a choice of the reader. */
const GREATEST = 0.2;

interface Book {
  /** Best level first. */
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

/** Returns the distance from the mid within which the drawn part of a side lies, as a part of the mid. */
function spreadOfSide(side: readonly Level[], mid: number): number {
  const worthOf = ({ price, size }: Level): number => Number(price) * Number(size);
  let left = DRAWN * side.reduce((sum, level) => sum + worthOf(level), 0);
  for (const level of side) {
    left -= worthOf(level);
    if (left <= 0) return Math.abs(Number(level.price) - mid) / mid;
  }
  return 0;
}

const midOf = ({ bids: [bid], asks: [ask] }: Book): number | null =>
  bid === undefined || ask === undefined ? null : (Number(bid.price) + Number(ask.price)) / 2;

/**
 * Returns null for a book without one of its sides.
 * @param zoom how many times closer than usual the curves are drawn
 */
export function depthCurves(book: Book, zoom = 1): DepthCurves | null {
  const mid = midOf(book);
  if (mid === null) return null;
  const usual = Math.max(...[book.bids, book.asks].map((side) => spreadOfSide(side, mid)));
  const part = Math.min(1, Math.min(GREATEST, usual * 1.05) / zoom);
  const [bids, asks] = [book.bids, book.asks].map((side) =>
    side.filter(({ price }) => Math.abs(Number(price) - mid) <= mid * part),
  );
  const totalOf = (side: readonly Level[]): number => side.reduce((sum, { size }) => sum + Number(size), 0);
  const max = Math.max(totalOf(bids!), totalOf(asks!));
  const xOf = (price: number): number => Math.round(500 + ((price - mid) / (mid * part)) * 500);
  const curve = (side: readonly Level[], edge: number): Curve => {
    let total = 0;
    const points = [`500,1000`];
    for (const { price, size } of side) {
      const x = xOf(Number(price));
      points.push(`${x},${yOf(total, max)}`);
      total += Number(size);
      points.push(`${x},${yOf(total, max)}`);
    }
    points.push(`${edge},${yOf(total, max)}`, `${edge},1000`);
    return { points: points.join(' '), total };
  };
  return {
    bids: curve(bids!, 0),
    asks: curve(asks!, 1000),
    prices: [mid * (1 - part), mid, mid * (1 + part)],
  };
}

/** The size that stands between the mid and a price. */
interface DepthAt {
  readonly side: 'bids' | 'asks';
  readonly price: number;
  readonly total: number;
}

/** @param at place between the edges of the drawing, from 0 to 1 */
export function depthAt(book: Book, { prices: [low, mid, high] }: DepthCurves, at: number): DepthAt {
  const price = low + at * (high - low);
  const side = price < mid ? 'bids' : 'asks';
  const isReached = (level: Level): boolean =>
    side === 'bids' ? Number(level.price) >= price : Number(level.price) <= price;
  const total = book[side].filter(isReached).reduce((sum, { size }) => sum + Number(size), 0);
  return { side, price, total };
}

const yOf = (total: number, max: number): number =>
  max === 0 ? 1000 : Math.round(1000 - (total / max) * 950);
