/** Keeps the dead man's switch of a wallet set for as long as its program runs. */

import { cancelAfter } from './account.ts';
import { invalid, RedbookError } from './errors.ts';
import type { CallOptions } from './exchange.ts';
import { sleep } from './own-clock.ts';
import type { Session } from './session.ts';

export interface KeepAliveOptions {
  /** Delay of the switch: 5,000 to 86,400,000 milliseconds. */
  readonly timeoutMs: number;
  /** Time between two renewals, and longest time of each; a third of `timeoutMs` unless given. */
  readonly everyMs?: number;
  /** Called after each renewal that failed; the next one follows all the same. */
  readonly onFault?: (fault: KeepAliveFault) => void;
}

export interface KeepAliveFault {
  readonly error: RedbookError;
  /** Time at which the orders are cancelled, or were, unless a renewal succeeds before; ISO 8601. */
  readonly cancelAt: string;
}

export interface KeepAlive {
  /** Time at which the switch is due as the service last confirmed it; ISO 8601. */
  readonly cancelAt: string;
  /** Ends the renewals. The switch stays set, and cancels what is live at `cancelAt`. */
  end(): void;
  /** Ends the renewals and switches the switch off, so that live orders stay. @throws RedbookError */
  switchOff(options?: CallOptions): Promise<void>;
}

/**
 * Sets the dead man's switch, and renews it until it is ended: if the program stops or is cut off, the service cancels
 * all live orders of the wallet.
 * @throws RedbookError when the switch could not be set the first time
 */
export async function keepAlive(session: Session, options: KeepAliveOptions): Promise<KeepAlive> {
  const { timeoutMs, everyMs = timeoutMs / 3, onFault } = options;
  if (!(everyMs > 0 && everyMs < timeoutMs)) throw invalid('everyMs must be positive, and below timeoutMs');
  const end = new AbortController();
  const { signal } = end;
  const set = async (): Promise<string> =>
    (await cancelAfter(session, { timeoutMs }, { timeoutMs: everyMs })).cancelAt!;
  let cancelAt = await set();
  const renew = async (): Promise<void> => {
    for (;;) {
      await sleep(session.connection, everyMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      cancelAt = await set().catch((error: unknown) => {
        if (!(error instanceof RedbookError)) throw error;
        const fault = { error, cancelAt };
        // An exception in the caller's function must not end the renewals.
        if (onFault !== undefined && !signal.aborted) queueMicrotask(() => onFault(fault));
        return cancelAt;
      });
    }
  };
  const renewing = renew();
  return {
    get cancelAt() {
      return cancelAt;
    },
    end: () => end.abort(),
    async switchOff(callOptions = {}) {
      end.abort();
      // A renewal under way would set the switch again.
      await renewing;
      await cancelAfter(session, { timeoutMs: 0 }, callOptions);
    },
  };
}
