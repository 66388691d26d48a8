/** Requests of both demos to the running service, and their operator steps. */

import { moveFundsOnce } from '../books/movements.ts';
import type { Servers } from '../books/servers.ts';
import { formatScaled } from '../domain/units.ts';
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
export async function withdrawAll({ wallet }: Pick<Trader, 'wallet'>, services: Servers): Promise<string[]> {
  const assets = await services.engine.assets.all();
  const withdrawn: string[] = [];
  for (const { asset, availableAtoms } of await services.engine.funds.readBalances(wallet)) {
    if (availableAtoms === 0n) continue;
    const movement = { kind: 'debited', wallet, asset, amountAtoms: availableAtoms } as const;
    await moveFundsOnce(services, { ...movement, reference: `demo ${wallet} ${asset}` });
    const { scale } = assets.find(({ symbol }) => symbol === asset)!;
    withdrawn.push(`${formatScaled(availableAtoms, scale)} ${asset}`);
  }
  return withdrawn;
}
