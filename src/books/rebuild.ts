/** Rebuilds the engine from the ledger, when there is no engine or one of another format. */

import type { Cursor } from '../domain/event.ts';
import { type Engine, EngineFormat, type EngineImage, type Rebuilt } from '../engine/index.ts';
import { CUSTODY, debtorOf, type Ledger } from '../ledger/index.ts';
import type { Servers } from './servers.ts';
import { usedIds } from './used-ids.ts';

/**
 * Rebuilds the engine. Settlement writes nothing meanwhile, so all pages are of one event.
 * The rebuild of an engine of another format begins before Postgres is migrated, because the release that wrote it may
 * not be able to settle its last events afterwards.
 * @throws OperatorRefusal NOTHING_SETTLED | LEDGER_BUSY | ENGINE_NOT_EMPTY | ENGINE_UNSETTLED | ENGINE_BEHIND |
 *   REBUILD_REPLACED | LEDGER_INCONSISTENT
 */
export async function rebuildEngine({ engine, ledger }: Servers): Promise<Rebuilt> {
  if (await hasOtherFormat(engine))
    await ledger.settlement.atRest(({ cursor }) => engine.rebuilds.replace(cursor));
  await ledger.migrate();
  return ledger.settlement.atRest(async (rest) => {
    const { epoch, sequence, timeMs } = rest.cursor;
    const image = await readImage(ledger, { epoch, sequence, timeMs: timeMs ?? 0 });
    return engine.rebuilds.run({ ...image, fence: rest.fence });
  });
}

async function hasOtherFormat(engine: Engine): Promise<boolean> {
  try {
    await engine.lifecycle.checkFormat();
    return false;
  } catch (error) {
    if (error instanceof EngineFormat) return true;
    throw error;
  }
}

async function readImage(
  ledger: Ledger,
  cursor: Cursor & { timeMs: number },
): Promise<Omit<EngineImage, 'fence'>> {
  const { begun } = await ledger.epochs.position();
  return {
    cursor,
    begunEpoch: begun?.epoch ?? 0,
    switches: await ledger.state.switches(),
    assets: await ledger.state.assets(),
    bookedAssets: await ledger.state.bookedAssets(),
    lastPrices: await ledger.state.lastPrices(),
    liveOrders: () => ledger.state.liveOrders(cursor.sequence),
    async *readBalances(asset) {
      for await (const balance of ledger.state.balances(asset, cursor.sequence)) {
        const debtor = debtorOf(balance.account);
        if (debtor !== undefined) yield { account: debtor, atoms: -balance.atoms, owes: true };
        else if (balance.account !== CUSTODY) yield balance;
      }
    },
    usedIds: () => usedIds({ ledger }),
  };
}
