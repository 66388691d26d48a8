/**
 * Reads amounts as people type and paste them: `1250.5`, `1 250,5`, `1,250.50`, `1'250.5`, `$1250.5`, `١٢٥٠٫٥`. A figure
 * that the page has written is read as itself, or refused because it can be read in two ways.
 */

import { type Decimal, parseDecimal } from '../../domain/units.ts';

/** The signs of a country, as far as they decide how an amount is read. */
export interface NumberStyle {
  /** The sign that begins the decimals, point or comma. */
  readonly decimal: string;
  /** The sign between groups of digits. */
  readonly group: string;
}

/** Figures as the API gives them, read by somebody whose country groups digits by commas. */
export const PLAIN_STYLE: NumberStyle = { decimal: '.', group: ',' };

/** Groups of thousands that can be read in one way only, each with the separator of its groups. */
const GROUPED: readonly (readonly [pattern: RegExp, separator: string])[] = [
  [/^[1-9]\d{0,2}( \d{3})+([.,]\d*)?$/, ' '],
  [/^[1-9]\d{0,2}('\d{3})+([.,]\d*)?$/, "'"],
  [/^[1-9]\d{0,2}((,\d{3})+\.\d*|(,\d{3}){2,})$/, ','],
  [/^[1-9]\d{0,2}((\.\d{3})+,\d*|(\.\d{3}){2,})$/, '.'],
  // India writes one million as 10,00,000.
  [/^[1-9]\d?(,\d{2})+,\d{3}(\.\d*)?$/, ','],
];

/** Signs that other scripts have for those of the pattern. */
const SIGNS: readonly (readonly [signs: RegExp, sign: string])[] = [
  // Pasted figures carry marks of direction, soft hyphens and spaces without a width.
  [/\p{Cf}/gu, ''],
  [/\p{Z}/gu, ' '],
  [/[’ʼ‘＇٬]/g, "'"],
  [/[٫，،]/g, ','],
  [/[．。]/g, '.'],
  [/^ *\p{Sc} *| *\p{Sc} *$/gu, ''],
];

/** Digits of each script follow each other from its zero on. */
function latinDigit(digit: string): string {
  const code = digit.codePointAt(0)!;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return String((code - first) % 10);
}

const tidy = (text: string): string =>
  SIGNS.reduce((tidied, [signs, sign]) => tidied.replace(signs, sign), text)
    .replace(/(?!\d)\p{Nd}/gu, latinDigit)
    .trim();

/** One to three digits, a separator, and three digits: a thousand times as much in one country as in another. */
const TWO_WAYS = /^([1-9]\d{0,2})([.,])(\d{3})$/;

/**
 * Returns both readings of a text like `1,999`, written so that they cannot be mistaken; null for other texts.
 * @param places decimals of the figures that are expected; one with fewer than three can only mean thousands
 */
export function twoReadings(text: string, style: NumberStyle, places?: number): readonly string[] | null {
  const [, whole, sign, rest] = TWO_WAYS.exec(tidy(text)) ?? [];
  if (sign === undefined) return null;
  const isSure = sign === style.decimal && !(sign === style.group && places !== undefined && places < 3);
  return isSure ? null : [`${whole}${rest}`, `${whole}${style.decimal}${rest}0`];
}

/** Reads a decimal with a point or a comma. Undefined for other text, and for what can be read in two ways. */
export function readAmount(text: string, style: NumberStyle = PLAIN_STYLE): Decimal | undefined {
  if (twoReadings(text, style) !== null) return undefined;
  const tidied = tidy(text);
  const [, separator] = GROUPED.find(([pattern]) => pattern.test(tidied)) ?? [];
  const plain = separator === undefined ? tidied : tidied.replaceAll(separator, '');
  return /^\d*[.,]?\d*$/.test(plain) ? parseDecimal(plain.replace(',', '.')) : undefined;
}

/** Returns typed text without the unit at its end: `5` for `5 ETH`. */
export function withoutUnit(text: string, unit: string): string {
  const trimmed = text.trimEnd();
  const end = ` ${unit}`;
  return trimmed.toLowerCase().endsWith(end.toLowerCase()) ? trimmed.slice(0, -end.length) : text;
}
