/** A real engine and a real ledger, settled as far as a test wants, and processes that read their market data. */

import type { Trade } from '../../src/domain/order.ts';
import { type MarketData, openMarketData } from '../../src/market-data/index.ts';
import { ALICE, BOB, fund, limit, place, publishPlain } from '../engine/fixture.ts';
import { type Exchange, openExchange } from '../support/exchange.ts';

export interface Stage extends Omit<Exchange, 'settle'> {
  /** The market data of another process. */
  replica(): MarketData;
  /** Settles all but the last `behind` events. */
  settle(behind?: number): Promise<void>;
  /** Executes one step at each price in order: Alice is the maker, Bob the taker. */
  trade(market: string, side: 'buy' | 'sell', prices: readonly number[]): Promise<Trade[]>;
}

/** Opens a stage with plain markets `A/Q` and `B/Q`, where Alice and Bob have ample funds. */
export async function openStage(redisUrl?: string): Promise<Stage> {
  const exchange = await openExchange({ redisUrl });
  const { engine, ledger } = exchange;
  for (const market of ['A/Q', 'B/Q']) await publishPlain(engine, market).catch(() => {});
  for (const wallet of [ALICE, BOB])
    await fund(engine, wallet, { A: 10n ** 9n, B: 10n ** 9n, Q: 10n ** 15n });

  return {
    ...exchange,
    settle: (behind) => exchange.settle({ behind }),
    replica: () => openMarketData({ engine, ledger }),
    async trade(market, side, prices) {
      const trades: Trade[] = [];
      const offered = side === 'buy' ? 'sell' : 'buy';
      for (const price of prices) {
        await place(engine, ALICE, limit(market, offered, price, 1));
        trades.push(...(await place(engine, BOB, limit(market, side, price, 1))).trades);
      }
      return trades;
    },
  };
}
