/** Whether engine and ledger tell the same story at all. */

import { type CheckResult, Comparison } from './comparison.ts';
import type { Servers } from './settled.ts';

/** The ledger's last event is the engine's, not another one in the same place. */
export async function checkHistory({ engine, ledger }: Servers): Promise<CheckResult> {
  const comparison = new Comparison();
  const cursor = await ledger.cursor();
  const { sequence } = await engine.state();
  const [event] = cursor.sequence === 0 ? [] : await engine.readEvents(cursor, 1);
  const subject = `event ${cursor.epoch}-${cursor.sequence}`;
  if (sequence < cursor.sequence) comparison.equal(subject, 'an event of the engine', 'lost');
  if (event?.sequence === cursor.sequence) comparison.equal(subject, event.digest, String(cursor.digest));
  return comparison.result(
    'one history',
    null,
    subject,
    'the last event that Postgres has is the one the engine has in that place',
  );
}
