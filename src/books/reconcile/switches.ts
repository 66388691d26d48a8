/** Checks the dead-man switches, which Postgres does not know, against what the engine noted of each. */

import type { Audited } from './audited.ts';
import { type CheckResult, Comparison } from './comparison.ts';
import { ENGINE_CHECKS } from './definitions.ts';

const WALLET_BYTES = 20;
const STAMP_BYTES = 8;
/** A stamp and the time at which the switch was due. */
const CUT_OFF_BYTES = STAMP_BYTES + 7;
const NONE = 'none';

/** Each key lists wallets, so that a switch is found of which only one of them is left. */
const LISTS = ['switches', 'cut_offs', 'leases'] as const;

export async function checkDeadManSwitches({ engine }: Pick<Audited, 'engine'>): Promise<CheckResult> {
  const comparison = new Comparison();
  for (const of of LISTS) {
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof engine.pages.scanSwitches>> = await engine.pages.scanSwitches(
        of,
        cursor,
      );
      for (const { wallet, due, noted, hasLease, cutOff } of page.switches) {
        const subject = `dead-man switch of 0x${wallet.toString('hex')}`;
        const isEmpty = of === 'cut_offs' && noted === '' && cutOff.length === 0;
        if (isEmpty || wallet.length !== WALLET_BYTES)
          comparison.equal(subject, 'a field of a wallet', 'a stray field');
        comparison.equal(subject, `due at ${noted || NONE}`, `due at ${due || NONE}`);
        comparison.equal(
          subject,
          hasLease ? 'taken, with the events that it covers' : 'not taken',
          takenText(cutOff, page.sequence),
        );
      }
      cursor = page.next;
    } while (cursor !== null);
  }
  return comparison.result(ENGINE_CHECKS.deadMan, null, '# facts');
}

function takenText(cutOff: Buffer, sequence: number): string {
  if (cutOff.length === 0) return 'not taken';
  const isPossible = cutOff.length === CUT_OFF_BYTES && cutOff.readUIntBE(2, 6) <= sequence;
  return isPossible ? 'taken, with the events that it covers' : `taken with ${cutOff.toString('hex')}`;
}
