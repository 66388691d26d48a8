/** The prices of a market as one line, for a reader who sees it first. Doubles are enough: they become pixels. */

export interface PriceMoment {
  /** Unix seconds. */
  readonly time: number;
  /** Plain decimal. */
  readonly price: string;
}

interface PriceLine {
  /** Points of an SVG of 1,000 by 1,000, the oldest at the left and the highest at the top. */
  readonly points: string;
  /** Plain decimals. */
  readonly low: string;
  readonly high: string;
}

const SIDE = 1_000;

/** @param moments oldest first @returns null for fewer than two of them */
export function priceLine(moments: readonly PriceMoment[]): PriceLine | null {
  const first = moments[0];
  const last = moments.at(-1);
  if (first === undefined || last === undefined || first === last) return null;
  const byPrice = moments.toSorted((one, other) => Number(one.price) - Number(other.price));
  const low = byPrice[0]!.price;
  const high = byPrice.at(-1)!.price;
  const range = Number(high) - Number(low) || 1;
  const points = moments.map(({ time, price }) => {
    const x = ((time - first.time) / (last.time - first.time)) * SIDE;
    const y = SIDE - ((Number(price) - Number(low)) / range) * SIDE;
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return { points: points.join(' '), low, high };
}
