/** Work that a campaign repeats from `begin` until `stop`. */

import { setTimeout as sleep } from 'node:timers/promises';

export interface Repeated {
  begin(): void;
  /** Waits until the turn under way has ended. */
  stop(): Promise<void>;
}

/** @param work runs one turn; a pause of `pauseMs` follows each */
export function repeated(pauseMs: number, work: () => Promise<void>): Repeated {
  let isStopping = false;
  let working: Promise<void> = Promise.resolve();
  const run = async (): Promise<void> => {
    while (!isStopping) {
      await work();
      await sleep(pauseMs);
    }
  };
  return {
    begin() {
      isStopping = false;
      working = run();
    },
    async stop() {
      isStopping = true;
      await working;
    },
  };
}
