/** The time of the page. It ticks once a second while the page is visible, and at once when the page is shown again. */

import { effect, type Signal, signal } from '@preact/signals';
import type { PageMoment } from '../figures/age.ts';

const TICK_MS = 1_000;

export const momentNow = (): PageMoment => ({ wallMs: Date.now(), runningMs: performance.now() });

/** True while the reader can see the page. */
export const visible: Signal<boolean> = signal(document.visibilityState === 'visible');

export const moment: Signal<PageMoment> = signal(momentNow());

/** Unix milliseconds of the reader's clock. */
export const now: Signal<number> = signal(Date.now());

/** Reads the clocks now, for what changes between two ticks. */
export function tick(): void {
  const at = momentNow();
  moment.value = at;
  now.value = at.wallMs;
}

/** Keeps the clock going for as long as the page is open. */
export function startClock(): void {
  document.addEventListener('visibilitychange', () => {
    visible.value = document.visibilityState === 'visible';
  });
  effect(() => {
    if (!visible.value) return;
    tick();
    const timer = setInterval(tick, TICK_MS);
    return () => clearInterval(timer);
  });
}
