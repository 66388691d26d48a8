/** A small exchange with data of every kind, for tests that read all of it. */

import {
  type FixtureOptions,
  marketRules,
  type OperatorFixture,
  openOperatorFixture,
  WALLET,
} from './fixture.ts';

export const MAKER = WALLET('a');
export const TAKER = WALLET('b');
export const BUSY_MARKETS = ['ETH/USDC', 'BTC/USDC'];

/** Funds two wallets on two markets that share their quote asset. Some orders rest, some trade, some are closed. */
export async function openBusyFixture(options?: FixtureOptions): Promise<OperatorFixture> {
  const fixture = await openOperatorFixture(options);
  await fixture.ask('asset', 'set', 'USDC', '--scale', '6');
  for (const market of BUSY_MARKETS) await fixture.ask('market', 'create', market, ...marketRules());
  for (const wallet of [MAKER, TAKER]) {
    for (const asset of ['ETH', 'BTC', 'USDC']) {
      await fixture.ask('account', 'credit', wallet, asset, '1000000', '--reference', `${wallet} ${asset}`);
    }
  }
  await fixture.ask('account', 'debit', TAKER, 'BTC', '1', '--reference', 'out, "quoted"\nand broken');
  for (const market of BUSY_MARKETS) {
    for (let level = 1; level <= 4; level += 1) {
      await fixture.place({ wallet: MAKER, market, side: 'sell', price: `${2000 + level}`, size: '1' });
      await fixture.place({ wallet: MAKER, market, side: 'buy', price: `${2000 - level}`, size: '1' });
    }
    await fixture.place({ wallet: TAKER, market, side: 'buy', price: '2002', size: '1.603' });
    const { order } = await fixture.place({ wallet: TAKER, market, side: 'buy', price: '10', size: '1' });
    await fixture.engine.orders.cancel(TAKER, order.id);
  }
  await fixture.settle();
  return fixture;
}
