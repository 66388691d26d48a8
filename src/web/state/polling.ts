/** Repeats reads of the API while the reader can see the page. */

import { effect, type Signal, signal } from '@preact/signals';
import { visible } from './clock.ts';

/** Number of times that a read succeeded after one that threw: the service can be reached again. */
export const recoveries: Signal<number> = signal(0);

/**
 * Calls `read` at once, and again `pauseMs` after each call has ended, while the page is visible and `wanted` is true.
 * `read` handles its own failures; a call that throws is repeated like any other.
 * @param wanted read inside an effect: the reads start and stop with the signals it uses
 * @returns a function that ends the reads
 */
export function pollWhileVisible(
  pauseMs: number,
  read: () => Promise<void>,
  wanted = () => true,
): () => void {
  return effect(() => {
    if (!visible.value || !wanted()) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let ended = false;
    let failed = false;
    const again = (): void => {
      if (!ended) timer = setTimeout(run, pauseMs);
    };
    const run = (): void => {
      read()
        .then(() => {
          if (failed) recoveries.value += 1;
          failed = false;
        })
        .catch(() => {
          failed = true;
        })
        .finally(again);
    };
    // Outside the effect: the signals that `read` uses do not start it again.
    queueMicrotask(run);
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  });
}
