/** The markets that the reader has marked, and the order of the list of markets. Both are kept in this browser. */

import { effect, type Signal, signal } from '@preact/signals';
import { SORTS, type Sort } from '../figures/market-rows.ts';
import { kept } from './kept-choice.ts';
import { readStored, store } from './storage.ts';

const KEY = 'redbook:marked-markets';
/** Maximum markets that are kept. */
const MAX = 200;

/** Symbols. */
export const marked: Signal<ReadonlySet<string>> = signal(
  new Set((readStored('browser', KEY) ?? '').split(' ').filter((symbol) => symbol !== '')),
);

effect(() => {
  const text = [...marked.value].slice(-MAX).join(' ');
  if (text !== (readStored('browser', KEY) ?? '')) store('browser', KEY, text === '' ? null : text);
});

export function toggleMark(symbol: string): void {
  const changed = new Set(marked.peek());
  if (!changed.delete(symbol)) changed.add(symbol);
  marked.value = changed;
}

export const sort: Signal<Sort> = kept('market-sort', SORTS, 'volume');
export const direction: Signal<'usual' | 'turned'> = kept(
  'market-sort-direction',
  ['usual', 'turned'],
  'usual',
);

/** Sorts by a column; a second call turns the order. */
export function sortBy(column: Sort): void {
  direction.value = sort.peek() === column && direction.peek() === 'usual' ? 'turned' : 'usual';
  sort.value = column;
}
