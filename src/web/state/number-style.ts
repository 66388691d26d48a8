/** The reader's choice between figures as the API gives them and figures as the browser's country writes them. */

import type { Signal } from '@preact/signals';
import { missingZeros } from '../figures/aligned-digits.ts';
import { decimalSignOf, digitGrouping } from '../figures/grouped-digits.ts';
import { kept } from './kept-choice.ts';

export const numbers: Signal<'plain' | 'grouped'> = kept('numbers', ['plain', 'grouped'], 'plain');

const grouped = digitGrouping();
const decimalSign = decimalSignOf();

/** Returns a figure as it is shown: a plain decimal, perhaps with a unit behind it. */
export const shown = (figure: string): string => (numbers.value === 'plain' ? figure : grouped(figure));

/** Returns the zeros that are drawn behind a shown figure. */
export function shownZeros(decimal: string, places: number): string {
  const zeros = missingZeros(decimal, places);
  return numbers.value === 'plain' ? zeros : zeros.replace('.', decimalSign);
}

/** The choices in words, each with an example. */
export const NUMBER_STYLES = [
  ['plain', 'as the API gives them: 1234567.5'],
  ['grouped', `as this browser writes them: ${grouped('1234567.5')}`],
] as const;
