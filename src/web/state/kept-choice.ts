/** Choices of the reader that are kept in this browser. Nothing of a session or a wallet is kept here. */

import { effect, type Signal, signal } from '@preact/signals';
import { readStored, store } from './storage.ts';

/** A signal that holds one of several values, and holds the same one when the page is opened again. */
export function kept<T extends string>(name: string, values: readonly T[], first: T): Signal<T> {
  const key = `redbook:${name}`;
  const stored = readStored('browser', key);
  const choice = signal<T>(values.find((value) => value === stored) ?? first);
  effect(() => {
    if (choice.value !== (readStored('browser', key) ?? first)) store('browser', key, choice.value);
  });
  return choice;
}
