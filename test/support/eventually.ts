/**
 * Waits for a condition instead of sleeping for a fixed time. The usual bound is far above what a busy machine takes, and
 * ends before mocha's own, so that the error names the condition.
 */

import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;

/**
 * Waits until `holds` returns true. A rejection counts as false.
 * @throws Error after `withinMs`, with the last rejection as its cause
 */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = 60_000,
  lookMs = POLL_MS,
): Promise<void> {
  const deadlineMs = Date.now() + withinMs;
  for (;;) {
    let cause: unknown;
    try {
      if (await holds()) return;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > deadlineMs) throw new Error(`${what}: not within ${withinMs} ms`, { cause });
    await sleep(lookMs);
  }
}
