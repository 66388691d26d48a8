/** The reader's choice between figures as the API gives them and figures as the browser's country writes them. */

import { computed, type ReadonlySignal, type Signal } from '@preact/signals';
import { missingZeros } from '../figures/aligned-digits.ts';
import { digitGrouping, groupingWithin, numberStyleOf } from '../figures/grouped-digits.ts';
import type { NumberStyle } from '../figures/typed-amount.ts';
import { kept } from './kept-choice.ts';

export const numbers: Signal<'plain' | 'grouped'> = kept('numbers', ['plain', 'grouped'], 'plain');

const grouped = digitGrouping();
const groupedWithin = groupingWithin();
const country = numberStyleOf();
const styles = { plain: { ...country, decimal: '.' }, grouped: country };

/** The signs by which typed figures are read. */
export const numberStyle: ReadonlySignal<NumberStyle> = computed(() => styles[numbers.value]);

/** Returns a figure as it is shown: a plain decimal, perhaps with a unit behind it. */
export const shown = (figure: string): string => (numbers.value === 'plain' ? figure : grouped(figure));

/** Returns a sentence with its figures as they are shown. */
export const shownWithin = (sentence: string): string =>
  numbers.value === 'plain' ? sentence : groupedWithin(sentence);

/** Returns a plain decimal as the page writes it into a field: without groups, so that it is read in one way only. */
export const written = (decimal: string): string => decimal.replace('.', numberStyle.value.decimal);

/** Returns the zeros that are drawn behind a shown figure. */
export function shownZeros(decimal: string, places: number): string {
  return missingZeros(decimal, places).replace('.', numberStyle.value.decimal);
}

/** The choices in words, each with an example. */
export const NUMBER_STYLES = [
  ['plain', 'as the API gives them: 1234567.5'],
  ['grouped', `as this browser writes them: ${grouped('1234567.5')}`],
] as const;
