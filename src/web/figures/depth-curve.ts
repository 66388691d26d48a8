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

/** Part of the mid on each side of it that is drawn, and its least: one far order must not flatten the rest. */
const PARTS = [0.005, 0.02, 0.05, 0.2] as const;
/** Levels of a side that are enough to be drawn. */
const ENOUGH = 12;

/** Returns null for a book without one of its sides. @param book each side with its best level first */
export function depthCurves(book: {
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}): DepthCurves | null {
  const [bid, ask] = [book.bids[0], book.asks[0]];
  if (bid === undefined || ask === undefined) return null;
  const mid = (Number(bid.price) + Number(ask.price)) / 2;
  const isWithin = ({ price }: Level, part: number): boolean => Math.abs(Number(price) - mid) <= mid * part;
  const part =
    PARTS.find((one) =>
      [book.bids, book.asks].every(
        (side) => side.filter((level) => isWithin(level, one)).length >= Math.min(ENOUGH, side.length),
      ),
    ) ?? PARTS.at(-1)!;
  const [bids, asks] = [book.bids, book.asks].map((side) => side.filter((level) => isWithin(level, part)));
  const totalOf = (side: readonly Level[]): number => side.reduce((sum, { size }) => sum + Number(size), 0);
  const most = Math.max(totalOf(bids!), totalOf(asks!));
  const xOf = (price: number): number => Math.round(500 + ((price - mid) / (mid * part)) * 500);
  const curve = (side: readonly Level[], edge: number): Curve => {
    let total = 0;
    const points = [`500,1000`];
    for (const { price, size } of side) {
      const x = xOf(Number(price));
      points.push(`${x},${yOf(total, most)}`);
      total += Number(size);
      points.push(`${x},${yOf(total, most)}`);
    }
    points.push(`${edge},${yOf(total, most)}`, `${edge},1000`);
    return { points: points.join(' '), total };
  };
  return {
    bids: curve(bids!, 0),
    asks: curve(asks!, 1000),
    prices: [mid * (1 - part), mid, mid * (1 + part)],
  };
}

const yOf = (total: number, most: number): number =>
  most === 0 ? 1000 : Math.round(1000 - (total / most) * 950);
