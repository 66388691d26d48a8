/** Compares decimals exactly. The package cannot carry `src/domain/units.ts`, which needs decimal.js. */

interface Decimal {
  readonly units: bigint;
  /** The value is `units` / 10^`places`. */
  readonly places: number;
}

const DECIMAL = /^(-?)(?=\.?\d)(\d*)\.?(\d*)(?:e([+-]?\d{1,9}))?$/i;
/** Most digits, and most places either way: far beyond any amount, and cheap. */
const MAX_LENGTH = 400;

/** Returns undefined for a text that is no decimal, or no amount by its length. */
function read(text: string): Decimal | undefined {
  const [matched, sign, whole = '', part = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  const places = part.length - Number(exponent);
  if (matched === undefined || text.length > MAX_LENGTH || Math.abs(places) > MAX_LENGTH) return undefined;
  return { units: BigInt(`${sign}${whole}${part}`), places };
}

const scaled = ({ units, places }: Decimal, to: number): bigint => units * 10n ** BigInt(to - places);

/** Returns a number with the sign of one - other; undefined when one of them cannot be read. */
function compare(one: Decimal | undefined, other: Decimal | undefined): bigint | undefined {
  if (one === undefined || other === undefined) return undefined;
  const places = Math.max(one.places, other.places);
  return scaled(one, places) - scaled(other, places);
}

function sumOf(texts: readonly string[]): Decimal | undefined {
  let [units, places] = [0n, 0];
  for (const text of texts) {
    const value = read(text);
    if (value === undefined) return undefined;
    const finer = Math.max(places, value.places);
    units = scaled({ units, places }, finer) + scaled(value, finer);
    places = finer;
  }
  return { units, places };
}

/** True for two texts of one number: `2000.5`, `2000.50` and `20005e-1`. */
export const isSameDecimal = (one: string, other: string): boolean => compare(read(one), read(other)) === 0n;

/** True when the sum of some decimals is at most a limit. */
export const isSumWithin = (texts: readonly string[], limit: string): boolean =>
  (compare(sumOf(texts), read(limit)) ?? 1n) <= 0n;
