/** Settles events in the test's own process, as far as the test wants. */

import type { Engine } from '../../src/engine/index.ts';
import type { Ledger } from '../../src/ledger/index.ts';

const BATCH = 1_000;

export interface SettleOptions {
  /** Number of events at the end to leave unsettled. */
  readonly behind?: number | undefined;
  /** True, the default, to trim settled events from the engine. */
  readonly trims?: boolean;
}

/** Settles the engine's events into Postgres until nothing is left. */
export async function settleAll(
  { engine, ledger }: { readonly engine: Engine; readonly ledger: Ledger },
  { behind = 0, trims = true }: SettleOptions = {},
): Promise<void> {
  for (;;) {
    const cursor = await ledger.settlement.cursor();
    const { sequence } = await engine.reads.state();
    const events = await engine.outbox.readEvents(cursor, BATCH);
    const settled = await ledger.settlement.settle(
      events.filter((event) => event.sequence <= sequence - behind),
    );
    if (trims) await engine.outbox.trim(settled);
    if (settled.sequence === cursor.sequence) return;
  }
}
