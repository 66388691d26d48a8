/** Start-up waits for what it depends on, and says for what. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** Tries `attempt` until it succeeds, with growing pauses; each failure is told once with its reason. */
export async function untilDone<T>(what: string, logger: Logger, attempt: () => Promise<T>): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await attempt();
    } catch (error) {
      logger.warn({ err: error }, `waiting for ${what}`);
      await sleep(pauseMs);
    }
  }
}

/** Waits until `holds`; tells every few seconds that it still waits. */
export async function untilTrue(what: string, logger: Logger, holds: () => boolean): Promise<void> {
  for (let waitedMs = 0; !holds(); waitedMs += FIRST_PAUSE_MS) {
    if (waitedMs > 0 && waitedMs % LONGEST_PAUSE_MS === 0) logger.warn(`waiting for ${what}`);
    await sleep(FIRST_PAUSE_MS);
  }
}
