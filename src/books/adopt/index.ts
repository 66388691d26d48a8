/**
 * Adopts the engine into a Postgres that is older than the events that the engine still has. The ledger gets the state
 * that the lost events left, and settlement continues with the events that are left.
 */

import type { Act } from '../../domain/act.ts';
import { OperatorRefusal } from '../../domain/errors.ts';
import type { Adoption } from '../../ledger/index.ts';
import type { Servers } from '../servers.ts';
import {
  type ChangedBalance,
  LostEvents,
  lostBalances,
  lostOrders,
  lostPrices,
  lostRequests,
  lostSettings,
  type Sides,
} from './differences.ts';
import { readStillEngine } from './still-engine.ts';
import { readTail } from './tail.ts';

/** The lost events, by what they changed. */
export interface Seam {
  /** The last event of Postgres. */
  readonly afterSequence: number;
  /** The last lost event. */
  readonly sequence: number;
  /** The last event of the engine: settlement writes those after the seam. */
  readonly lastSequence: number;
  readonly balances: readonly ChangedBalance[];
  /** Decimals of each asset. */
  readonly scales: ReadonlyMap<string, number>;
  readonly orders: { readonly placed: number; readonly ended: number; readonly filled: number };
  /** Settings, markets and assets that changed. */
  readonly settings: number;
  /** Withdrawals that Postgres lists as pending, at most 1,000; some of them may have ended. */
  readonly pendingWithdrawals: number;
  /** Deposits that Postgres lists as announced, at most 1,000; some of them may have been credited. */
  readonly announcedDeposits: number;
  readonly isWritten: boolean;
}

interface AdoptOptions {
  readonly act: Act;
  /** The last lost event, if the operator has typed it: only then anything is written. */
  readonly confirmed: number | undefined;
}

/**
 * Lists what the lost events changed, and writes it once the operator has confirmed it. Settlement writes nothing
 * meanwhile, and nobody may trade.
 * @throws OperatorRefusal NOTHING_LOST | ENGINE_BEHIND | ENGINE_BUSY | ENGINE_INCONSISTENT | OTHER_HISTORY |
 *   LEDGER_INCONSISTENT | LEDGER_BUSY
 */
export async function adoptEngine(
  { engine, ledger }: Servers,
  { act, confirmed }: AdoptOptions,
): Promise<Seam> {
  if (confirmed !== undefined) await settleBefore({ engine, ledger }, confirmed);
  return ledger.settlement.atRest(async ({ cursor: settled, adopt }) => {
    const held = await readStillEngine(engine);
    if (held.sequence < settled.sequence)
      throw new OperatorRefusal(
        'ENGINE_BEHIND',
        `the engine is at event ${held.sequence}, Postgres at ${settled.sequence}: it is the engine that lost events`,
      );
    const tail = await readTail(engine, settled, held.sequence);
    if (tail.after === settled.sequence)
      throw new OperatorRefusal(
        'NOTHING_LOST',
        `the engine has every event after ${settled.sequence}, the last one of Postgres: settlement writes them`,
      );
    const sides = { ledger, settled, held, tail };
    const { adoption, seam } = await differencesOf(sides, act);
    const isWritten = confirmed === seam.sequence;
    if (isWritten) await adopt(adoption);
    return { ...seam, isWritten };
  });
}

const EVENTS_TOGETHER = 500;

/** Settles the events that follow the cursor and lie before a lost one: settlement may have met both in one batch. */
async function settleBefore({ engine, ledger }: Servers, lost: number): Promise<void> {
  for (;;) {
    const { epoch, sequence } = await ledger.settlement.cursor();
    const read = await engine.outbox.readEvents({ epoch, sequence }, EVENTS_TOGETHER);
    const offset = read[0]?.sequence === sequence ? sequence : sequence + 1;
    const events = read.filter((event, at) => event.sequence === offset + at && event.sequence < lost);
    if ((events.at(-1)?.sequence ?? sequence) <= sequence) return;
    await ledger.settlement.settle(events);
  }
}

const MAX_COUNTED = 1_000;

async function differencesOf(sides: Sides, act: Act): Promise<{ adoption: Adoption; seam: Seam }> {
  const { ledger, settled, held, tail } = sides;
  const timeMs = Math.max(tail.firstTimeMs ?? held.timeMs, settled.timeMs ?? 0);
  const lost = new LostEvents(sides, timeMs);
  await lostSettings(sides, lost);
  const settings = lost.events.length;
  const { placed, ended, filled, filledPlaced } = await lostOrders(sides, lost);
  const balances = await lostBalances(sides, await lostRequests(sides, lost));
  const { sequence, afterSequence } = { sequence: tail.after, afterSequence: settled.sequence };
  const noted = {
    kind: 'operator_acted',
    name: 'ledger adopt',
    before: `event ${afterSequence}`,
    after: `event ${sequence}`,
  } as const;
  lost.add(noted, sequence, act);
  const events = lost.events.sort((one, other) => one.sequence - other.sequence);
  const prices = await lostPrices(sides);
  return {
    adoption: { sequence, timeMs, events, balances, filled, filledPlaced, ...prices },
    seam: {
      afterSequence,
      sequence,
      lastSequence: held.sequence,
      balances,
      scales: held.assets,
      orders: { placed, ended, filled: filled.size + filledPlaced.size },
      settings,
      pendingWithdrawals: (await ledger.withdrawals.list('pending', MAX_COUNTED)).length,
      announcedDeposits: (await ledger.deposits.announced(0, MAX_COUNTED)).length,
      isWritten: false,
    },
  };
}
