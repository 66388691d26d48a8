/** Trades at random among a few funded wallets, for tests that lose one of the stores. */

import { Refusal } from '../../src/domain/errors.ts';
import { parseDecimal } from '../../src/domain/units.ts';
import { marketRules, type OperatorFixture, WALLET } from '../operator/fixture.ts';
import type { Random } from '../support/seed.ts';

export const WALLETS = [1, 2, 3, 4].map(WALLET);
export const ASSETS = ['ETH', 'BTC', 'USDC'];

/** Creates markets and credits every wallet. @param rules of each market, where they are not the usual ones */
export async function openMarkets(
  { ask }: OperatorFixture,
  rules: Readonly<Record<string, Record<string, string>>>,
): Promise<void> {
  await ask('asset', 'set', 'USDC', '--scale', '6');
  for (const [market, own] of Object.entries(rules))
    await ask('market', 'create', market, ...marketRules(own));
  for (const wallet of WALLETS)
    for (const asset of ASSETS)
      await ask('account', 'credit', wallet, asset, '100000', '--reference', `${wallet} ${asset}`);
}

interface Trading {
  readonly markets: readonly string[];
  readonly commands: number;
  /** Begins the client order ids. */
  readonly name: string;
}

/** Places crossing orders of all kinds and cancels some. Ignores refusals. */
export async function tradeAtRandom(
  { engine }: Pick<OperatorFixture, 'engine'>,
  dice: Random,
  { markets, commands, name }: Trading,
): Promise<void> {
  for (let count = 0; count < commands; count += 1) {
    const wallet = dice.pick(WALLETS);
    const market = dice.pick(markets);
    const command = dice.chance(0.1)
      ? engine.orders.cancelAll(wallet, dice.chance(0.5) ? market : null)
      : engine.orders.place({ wallet, request: orderOf(market, dice, `${name} ${count}`) });
    await command.catch((error) => {
      if (!(error instanceof Refusal)) throw error;
    });
  }
}

const orderOf = (market: string, dice: Random, clientOrderId: string) => ({
  market,
  side: dice.pick(['buy', 'sell'] as const),
  type: 'limit' as const,
  leverage: null,
  timeInForce: dice.pick(['GTC', 'GTC', 'GTC', 'IOC'] as const),
  price: parseDecimal(`${95 + dice.below(10)}`),
  size: parseDecimal(`0.${1 + dice.below(9)}`),
  clientOrderId: dice.chance(0.5) ? clientOrderId : null,
  postOnly: dice.chance(0.1),
  reduceOnly: false,
});
