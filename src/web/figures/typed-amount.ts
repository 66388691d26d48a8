/** Reads amounts as people type and paste them: `1250.5`, `1 250,5`, `1,250.50`, `1'250.5`, `$1250.5`. */

import { type Decimal, parseDecimal } from '../../domain/units.ts';

/** Groups of thousands that can be read in one way only, each with the separator of its groups. */
const GROUPED: readonly (readonly [pattern: RegExp, separator: string])[] = [
  [/^[1-9]\d{0,2}( \d{3})+([.,]\d*)?$/, ' '],
  [/^[1-9]\d{0,2}('\d{3})+([.,]\d*)?$/, "'"],
  [/^[1-9]\d{0,2}((,\d{3})+\.\d*|(,\d{3}){2,})$/, ','],
  [/^[1-9]\d{0,2}((\.\d{3})+,\d*|(\.\d{3}){2,})$/, '.'],
  // India writes one million as 10,00,000.
  [/^[1-9]\d?(,\d{2})+,\d{3}(\.\d*)?$/, ','],
];

const CURRENCY = /^[$€£¥]\s*|\s*[$€£¥]$/g;

const tidy = (text: string): string =>
  text
    .trim()
    .replace(CURRENCY, '')
    .replace(/[\u00a0\u2009\u202f]/g, ' ')
    .replace(/[’ʼ]/g, "'");

/** True for text like `1,999`, which means a thousand times as much in one country as in another. */
export const isAmbiguous = (text: string): boolean => /^[1-9]\d{0,2},\d{3}$/.test(tidy(text));

/** Reads a decimal with a point or a comma. Undefined for other text, and for what can be read in two ways. */
export function readAmount(text: string): Decimal | undefined {
  const tidied = tidy(text);
  if (isAmbiguous(tidied)) return undefined;
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
