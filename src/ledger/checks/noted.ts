/** Compares records that only grow with what a checkpoint noted of them. */

import { digestOfRecords, type LedgerCheckpoint, RECORD_NAMES } from '../checkpoint.ts';
import type { Ask } from '../queries.ts';
import type { Check, Violation } from './query.ts';

export const NOTED_CHECK = {
  name: 'records of the checkpoint',
  meaning:
    'closings, earlier reconciles, epochs, their first events, heads, keys, seals and migrations are those that the checkpoint noted',
  proof:
    'a checkpoint that is kept where nobody who writes to the database can write; records are only added',
};

/** @param ask in a snapshot */
export async function checkNoted(ask: Ask, noted: readonly Partial<LedgerCheckpoint>[]): Promise<Check> {
  const violations: Violation[] = [];
  for (const checkpoint of noted)
    for (const name of RECORD_NAMES) {
      const expected = checkpoint[name];
      if (expected === undefined) continue;
      const found = await digestOfRecords(ask, name, expected.count);
      if (found.count !== expected.count || found.digest !== expected.digest)
        violations.push({
          subject: `${name} up to the checkpoint of event ${checkpoint.sequence}`,
          expected: `${expected.count} of digest ${expected.digest}`,
          found: `${found.count} of digest ${found.digest}`,
        });
    }
  return {
    ...NOTED_CHECK,
    count: violations.length,
    violations,
  };
}
