/**
 * Decimal arithmetic of the reference: integers of 10^-18 ("units") in BigInt. It shares no code with the service, so
 * that a mistake there is not repeated here.
 */

const PLACES = 18;
/** The number 1. */
export const ONE = 10n ** 18n;

export interface Reading {
  /** Truncated, not rounded, at 10^-18. */
  readonly units: bigint;
  /** True if nothing was truncated. */
  readonly isExact: boolean;
  readonly isPositive: boolean;
}

const SHAPE = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

export function readDecimal(text: string): Reading {
  const match = SHAPE.exec(text);
  if (match === null) throw new Error(`${text} is no decimal`);
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(`0${whole}${fraction}`);
  const shift = PLACES - fraction.length + Number(exponent);
  const power = 10n ** BigInt(Math.abs(shift));
  const units = shift >= 0 ? digits * power : digits / power;
  return {
    units: sign === '-' ? -units : units,
    isExact: shift >= 0 || digits % power === 0n,
    isPositive: sign === '' && digits > 0n,
  };
}

/**
 * Parses a decimal.
 * @throws Error if the decimal is not exact
 */
export function unitsOf(text: string): bigint {
  const { units, isExact } = readDecimal(text);
  if (!isExact) throw new Error(`${text} is finer than 10^-${PLACES}`);
  return units;
}

/** Writes a plain decimal: no exponent, no trailing zeros. */
export function writeDecimal(units: bigint): string {
  if (units < 0n) return `-${writeDecimal(-units)}`;
  const fraction = (units % ONE).toString().padStart(PLACES, '0').replace(/0+$/, '');
  return fraction === '' ? `${units / ONE}` : `${units / ONE}.${fraction}`;
}

/**
 * Returns a / b.
 * @throws Error if the quotient is not an integer
 */
export function divideExactly(a: bigint, b: bigint): bigint {
  if (a % b !== 0n) throw new Error(`${a} is no whole number of ${b}`);
  return a / b;
}
