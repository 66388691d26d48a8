/** Waits until Postgres has the engine's events. */

import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorRefusal } from '../domain/errors.ts';
import type { Servers } from './servers.ts';

const LOOK_EVERY_MS = 50;

/**
 * Waits until the ledger contains an event.
 * @param patienceMs longest time that settlement may make no progress meanwhile
 * @throws OperatorRefusal SETTLEMENT_STALLED
 */
export async function untilSettled(
  { ledger }: Pick<Servers, 'ledger'>,
  sequence: number,
  patienceMs: number,
): Promise<void> {
  let settled = (await ledger.settlement.cursor()).sequence;
  let movedAtMs = performance.now();
  while (settled < sequence) {
    if (performance.now() - movedAtMs > patienceMs) {
      throw new OperatorRefusal(
        'SETTLEMENT_STALLED',
        `settlement stands still at event ${settled}, the engine is at ${sequence} or later: is a settlement process running?`,
      );
    }
    await sleep(LOOK_EVERY_MS);
    const next = (await ledger.settlement.cursor()).sequence;
    if (next > settled) movedAtMs = performance.now();
    settled = next;
  }
}

/**
 * Waits until the ledger contains the events that the engine has now.
 * @param patienceMs as of `untilSettled`
 * @throws OperatorRefusal SETTLEMENT_STALLED
 */
export async function untilAllSettled(
  servers: Pick<Servers, 'engine' | 'ledger'>,
  patienceMs: number,
): Promise<void> {
  const { newest } = await servers.engine.pages.readHead();
  await untilSettled(servers, newest?.sequence ?? 0, patienceMs);
}
