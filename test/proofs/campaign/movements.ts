/** Credits, debits and withdrawals in two steps by the operator's command line, while everything else goes on. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../support/seed.ts';
import type { Cluster } from './cluster.ts';
import type { Driver } from './driver.ts';
import type { Movement, Outcome } from './journal.ts';

/** A command takes most of a second of a processor. */
const EVERY_MS = 4_000;

export function openMovements(cluster: Cluster, driver: Driver, dice: Random): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const work = async (): Promise<void> => {
    await sleep(dice.below(EVERY_MS), undefined, { signal }).catch(() => undefined);
    while (!signal.aborted) {
      const reference = `campaign ${driver.model.lastIntent + 1}`;
      const amount = `${1 + dice.below(1_000)}.${dice.below(10)}`;
      const kind = dice.pick(['credit', 'debit', 'request'] as const);
      const wallet = dice.below(driver.wallets.length);
      const movement = { kind, amount, reference, asset: dice.pick(['USDC', 'ETH']) };
      const { is } = await move(cluster, driver, wallet, movement);
      // A withdrawal of unknown outcome is ended as well, once its request is known.
      if (kind === 'request' && is !== 'refused')
        await move(cluster, driver, wallet, { ...movement, kind: dice.pick(['confirm', 'return']) });
      await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const working = work();
  return {
    async stop() {
      stopping.abort();
      await working;
    },
  };
}

function commandOf({ kind, asset, amount, reference }: Movement, wallet: string): string[] {
  if (kind === 'confirm') return ['withdrawal', kind, reference, '--txid', `paid ${reference}`];
  if (kind === 'return') return ['withdrawal', kind, reference, '--reason', 'not paid'];
  return [
    kind === 'request' ? 'withdrawal' : 'account',
    kind,
    wallet,
    asset,
    amount,
    '--reference',
    reference,
  ];
}

/** Asks for a movement once. */
export async function move(
  cluster: Cluster,
  driver: Driver,
  wallet: number,
  movement: Movement,
): Promise<Outcome> {
  const { n } = driver.begun(wallet, { does: 'move', movement });
  try {
    await cluster.operate(...commandOf(movement, driver.wallets[wallet]!.address));
    return driver.ended({ entry: 'outcome', n, is: 'ok', shown: [] });
  } catch (error) {
    const { message } = error as Error;
    const code = /"code":\s*"(\w+)"/.exec(message)?.[1];
    // Any other code says that the command could not do its work; it is asked for again at rest.
    const isKnown = code === 'INSUFFICIENT_BALANCE' || code === 'UNKNOWN_WITHDRAWAL';
    return driver.ended(
      isKnown
        ? { entry: 'outcome', n, is: 'refused', code }
        : { entry: 'outcome', n, is: 'unknown', why: message.slice(0, 200) },
    );
  }
}
