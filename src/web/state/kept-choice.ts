/** Choices of the reader that are kept in this browser. Nothing of a session or a wallet is kept here. */

import { effect, type Signal, signal } from '@preact/signals';

/** Storage is refused in some private windows; the choice then lasts as long as the page. */
function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The choice lasts as long as the page.
  }
}

/** A signal that holds one of several values, and holds the same one when the page is opened again. */
export function kept<T extends string>(name: string, values: readonly T[], first: T): Signal<T> {
  const key = `redbook:${name}`;
  const stored = read(key);
  const choice = signal<T>(values.find((value) => value === stored) ?? first);
  effect(() => {
    if (choice.value !== (read(key) ?? first)) write(key, choice.value);
  });
  return choice;
}
