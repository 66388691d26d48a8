/** Settlement by a test, in its own process and as far as the test wants. */

import type { Engine } from '../../src/engine/index.ts';
import type { Ledger } from '../../src/ledger/index.ts';

const BATCH = 1_000;

export interface SettleOptions {
  /** The number of events at the end that are not settled. */
  readonly behind?: number | undefined;
  /** Default true: the engine forgets the events that are settled. */
  readonly trims?: boolean;
}

/** Settles the engine's events into Postgres until there is nothing more to settle. */
export async function settleAll(
  { engine, ledger }: { readonly engine: Engine; readonly ledger: Ledger },
  { behind = 0, trims = true }: SettleOptions = {},
): Promise<void> {
  for (;;) {
    const [cursor, { sequence }] = [await ledger.settlement.cursor(), await engine.snapshots.state()];
    const events = await engine.outbox.readEvents(cursor, BATCH);
    const settled = await ledger.settlement.settle(
      events.filter((event) => event.sequence <= sequence - behind),
    );
    if (trims) await engine.outbox.trim(settled);
    if (settled.sequence === cursor.sequence) return;
  }
}
