/** Markets with plain rules, and wallets that have more of every asset than they can spend. */

import { pino } from 'pino';
import { readConfig, requireFor } from '../../src/config.ts';
import { openBackends } from '../../src/roles/backends.ts';
import { eventually } from './eventually.ts';

/** Atoms that each wallet gets of each asset. */
const DEEP_ATOMS = 10n ** 15n;

/**
 * Publishes markets against USDC (6 decimals; tick 0.01, step 0.0001, fee 10 basis points, an own resting order is
 * expired) and credits each wallet with each asset. The references are `<wallet> <asset>`.
 */
export async function fundMarkets(
  settings: Readonly<Record<string, string>>,
  symbols: readonly string[],
  wallets: readonly string[],
): Promise<void> {
  const config = requireFor('settlement', readConfig(settings));
  const { engine, close } = openBackends('operator', config, pino({ level: 'silent' }));
  await eventually('the engine is open', async () => engine.lifecycle.isOpen());
  await engine.assets.set({ symbol: 'USDC', scale: 6 });
  for (const symbol of symbols) {
    const rules = { tickSize: '0.01', sizeStep: '0.0001', minOrderSize: null, maxOrderSize: null };
    await engine.markets.create({
      ...rules,
      symbol,
      status: 'active',
      sellEnabled: true,
      visible: true,
      feeBps: 10,
      selfTrade: 'expire_maker',
      referencePrice: null,
      networkId: '1',
    });
  }
  const assets = ['USDC', ...symbols.map((symbol) => symbol.split('/')[0]!)];
  for (const wallet of wallets) {
    for (const asset of assets) {
      const reference = `${wallet} ${asset}`;
      await engine.funds.move({ kind: 'credited', wallet, asset, amountAtoms: DEEP_ATOMS, reference });
    }
  }
  await close();
}
