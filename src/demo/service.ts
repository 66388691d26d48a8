/** Requests of both demos to the running service, and their operator steps. */

import { atomsOf, findAsset, moveFundsOnce } from '../books/movements.ts';
import type { Servers } from '../books/servers.ts';
import { parseDecimal } from '../domain/units.ts';
import type { Trader } from './trader.ts';

export const isRunning = async (baseUrl: string): Promise<boolean> =>
  fetch(`${baseUrl}/livez`).then(
    ({ ok }) => ok,
    () => false,
  );

/** @returns the exit status */
export function tellNotRunning(baseUrl: string, print: (line: string) => void): number {
  print(`Nothing answers at ${baseUrl}.`);
  print('Start the service in another terminal with: npm start');
  return 1;
}

/**
 * Withdraws everything that is available to a wallet; works once for each wallet and asset.
 * @returns what was withdrawn, in words
 */
export async function withdrawAll(trader: Trader, services: Servers): Promise<string[]> {
  const { wallet } = trader;
  const withdrawn: string[] = [];
  for (const { asset, available } of await trader.balances()) {
    const { scale } = await findAsset(services.engine, asset);
    const amountAtoms = atomsOf(parseDecimal(available)!, { symbol: asset, scale });
    if (amountAtoms === 0n) continue;
    const movement = { kind: 'debited', wallet, asset, amountAtoms } as const;
    await moveFundsOnce(services, { ...movement, reference: `demo ${wallet} ${asset}` });
    withdrawn.push(`${available} ${asset}`);
  }
  return withdrawn;
}
