/** Proves by the reference exchange that the rounds leave as many live orders as the model of the keys says. */

import { expect } from 'chai';
import { formatDecimal } from '../../../src/domain/units.ts';
import { ReferenceExchange } from '../equivalence/reference-book.ts';
import { rulesOf } from '../equivalence/stage.ts';
import { cancelledAfter, liveAfter, marketOf, ordersOf, type PlacedOrder, ROUNDS_A_STEP } from './rounds.ts';

const SHAPE = { seed: 5, markets: 2, wallets: 3, depth: 10 };
const ROUNDS = 5 * ROUNDS_A_STEP;

function openExchange(): ReferenceExchange {
  const exchange = new ReferenceExchange({ maxMakers: 1_000, maxLiveOrders: 1_000 });
  for (let market = 0; market < SHAPE.markets; market += 1) {
    const symbol = marketOf(market);
    for (const asset of symbol.split('/')) exchange.scales.set(asset, 6);
    exchange.publish(rulesOf(symbol, { sizeStep: '0.001' }));
  }
  return exchange;
}

function place(exchange: ReferenceExchange, { wallet, request }: PlacedOrder): number {
  for (const asset of request.market.split('/')) exchange.account(wallet, asset).available = 10n ** 18n;
  const { market, side, type, timeInForce, postOnly, reduceOnly, clientOrderId, price, size } = request;
  const terms = { market, side, type, timeInForce, postOnly, reduceOnly, clientOrderId, leverage: null };
  const limit = price === undefined ? {} : { price: formatDecimal(price) };
  const answer = exchange.place(wallet, { ...terms, ...limit, size: formatDecimal(size!) }, false);
  if (!('placed' in answer)) throw new Error(JSON.stringify(answer));
  return answer.placed.number;
}

describe('the rounds of growth', () => {
  it('leave the live orders and levels of the model after each step', () => {
    const exchange = openExchange();
    const numbers = new Map<string, number>();
    for (let market = 0; market < SHAPE.markets; market += 1)
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const [at, order] of ordersOf(SHAPE, market, round).entries())
          numbers.set(`${market} ${round} ${at}`, place(exchange, order));
        if ((round + 1) % ROUNDS_A_STEP !== 0) continue;
        for (let ended = round + 1 - ROUNDS_A_STEP; ended <= round; ended += 1)
          for (const one of cancelledAfter(SHAPE, ended))
            exchange.closeOne(null, numbers.get(`${market} ${one.round} ${one.at}`)!, 'user_cancelled');
        const { side, orders, levels } = liveAfter(SHAPE, market, round + 1);
        const live = exchange.live.filter((order) => order.market === marketOf(market));
        const book = exchange.book(marketOf(market), side);
        expect([live.length, book.length], `round ${round}`).to.deep.equal([orders, orders]);
        expect(new Set(book.map(({ price }) => price)).size, `round ${round}`).to.equal(levels);
      }
  });
});
