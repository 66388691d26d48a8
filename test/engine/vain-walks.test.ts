/** Tests orders that are refused after they met makers: the refusal, and the number of orders that the script read. */

import { expect } from 'chai';
import type { MarketChange } from '../../src/domain/market-rules.ts';
import type { OrderRequest } from '../../src/order/request.ts';
import {
  ALICE,
  atMarket,
  BOB,
  CAROL,
  codeOf,
  type EngineFixture,
  fund,
  limit,
  membersAsked,
  openEngineFixture,
  place,
  publishPlain,
  spend,
} from './fixture.ts';

const M = 'ETH/USD';
const MAKERS = 60;
const MAX_MAKERS = 40;
const FIRST_PAGE = 8;
const SECOND_PAGE = 32;

/** One order of BOB against asks of ALICE at 100, 101, …, each of one step, and equal bids at 90, 89, … */
interface Row {
  readonly name: string;
  readonly order: OrderRequest;
  /** Atoms that BOB has; none by default. */
  readonly has?: Record<string, bigint>;
  readonly market?: MarketChange;
  /** Orders of BOB on the book, which hold all that he has besides. */
  readonly own?: readonly OrderRequest[];
  /** Code of the refusal, or status of the recorded order. */
  readonly ends: string;
  readonly maxRead: number;
}

const ROWS: readonly Row[] = [
  { name: 'a market buy', order: atMarket(M, 'buy', 50), ends: 'INSUFFICIENT_BALANCE', maxRead: FIRST_PAGE },
  {
    name: 'a market sell',
    order: atMarket(M, 'sell', 50),
    ends: 'INSUFFICIENT_BALANCE',
    maxRead: FIRST_PAGE,
  },
  {
    name: 'a limit buy',
    order: limit(M, 'buy', 900, 50),
    ends: 'INSUFFICIENT_BALANCE',
    maxRead: 2 * FIRST_PAGE + 1,
  },
  {
    name: 'an IOC sell',
    order: limit(M, 'sell', 1, 50, { timeInForce: 'IOC' }),
    ends: 'INSUFFICIENT_BALANCE',
    maxRead: FIRST_PAGE,
  },
  {
    name: 'a FOK buy',
    order: limit(M, 'buy', 900, 50, { timeInForce: 'FOK' }),
    ends: 'INSUFFICIENT_BALANCE',
    maxRead: FIRST_PAGE,
  },
  { name: 'a quote amount', order: spend(M, 5_000), ends: 'INSUFFICIENT_BALANCE', maxRead: FIRST_PAGE },
  {
    name: 'a market buy that the funds pay in part',
    order: atMarket(M, 'buy', 50),
    has: { USD: 1_000n },
    ends: 'INSUFFICIENT_BALANCE',
    maxRead: FIRST_PAGE + SECOND_PAGE,
  },
  {
    name: 'a market sell that the funds pay in part',
    order: atMarket(M, 'sell', 50),
    has: { ETH: 7n },
    ends: 'INSUFFICIENT_BALANCE',
    maxRead: FIRST_PAGE,
  },
  {
    name: 'a market buy whose fee is too much',
    order: atMarket(M, 'buy', 50),
    has: { USD: 100n },
    market: { feeBps: 10 },
    ends: 'INSUFFICIENT_BALANCE',
    maxRead: FIRST_PAGE,
  },
  {
    name: 'a quote amount whose size reaches the minimum with the third maker',
    order: spend(M, 5_000),
    market: { minOrderSize: '3' },
    ends: 'INSUFFICIENT_BALANCE',
    maxRead: FIRST_PAGE,
  },
  {
    name: 'a quote amount below the minimum',
    order: spend(M, 199),
    market: { minOrderSize: '2' },
    ends: 'ORDER_BELOW_MIN_SIZE',
    maxRead: FIRST_PAGE,
  },
  {
    name: 'a quote amount below one step',
    order: spend(M, 99),
    ends: 'QUOTE_AMOUNT_TOO_SMALL',
    maxRead: FIRST_PAGE,
  },
  {
    name: 'a quote amount above the maximum',
    order: spend(M, 5_000),
    has: { USD: 10_000n },
    market: { maxOrderSize: '2' },
    ends: 'ORDER_ABOVE_MAX_SIZE',
    maxRead: FIRST_PAGE,
  },
  {
    name: 'a quote amount above the maximum that the wallet cannot pay',
    order: spend(M, 5_000),
    market: { maxOrderSize: '2' },
    ends: 'INSUFFICIENT_BALANCE',
    maxRead: FIRST_PAGE,
  },
  {
    name: 'a limit order that crosses before the opening',
    order: limit(M, 'buy', 900, 50),
    market: { status: 'pre_open' },
    ends: 'MARKET_PRE_OPEN',
    maxRead: 1,
  },
  {
    name: 'a post-only order that would cross',
    order: limit(M, 'buy', 900, 50, { postOnly: true }),
    has: { USD: 45_000n },
    ends: 'rejected',
    maxRead: 1,
  },
  {
    name: 'a post-only order that would cross, without funds',
    order: limit(M, 'buy', 900, 50, { postOnly: true }),
    ends: 'INSUFFICIENT_BALANCE',
    maxRead: 1,
  },
  {
    name: 'a market buy that meets an own ask first (expire_taker)',
    order: atMarket(M, 'buy', 50),
    own: [limit(M, 'sell', 95, 1)],
    ends: 'cancelled',
    maxRead: FIRST_PAGE,
  },
  {
    name: 'a market buy that meets an own ask first (expire_maker)',
    order: atMarket(M, 'buy', 50),
    market: { selfTrade: 'expire_maker' },
    own: [limit(M, 'sell', 95, 1)],
    ends: 'INSUFFICIENT_BALANCE',
    maxRead: FIRST_PAGE,
  },
  {
    name: 'a market buy that meets an own ask first (expire_both)',
    order: atMarket(M, 'buy', 50),
    market: { selfTrade: 'expire_both' },
    own: [limit(M, 'sell', 95, 1)],
    ends: 'cancelled',
    maxRead: FIRST_PAGE + 1,
  },
  {
    name: 'a market buy that the funds pay up to the limit of makers',
    order: atMarket(M, 'buy', 50),
    has: { USD: 10_000n },
    ends: 'partially_filled_cancelled',
    maxRead: MAX_MAKERS + 1,
  },
];

describe('engine: orders that walk the book in vain', () => {
  let fixture: EngineFixture;
  beforeEach(async () => {
    fixture = await openEngineFixture({ maxMakers: MAX_MAKERS });
    const { engine } = fixture;
    await publishPlain(engine, M);
    await fund(engine, ALICE, { ETH: BigInt(MAKERS), USD: 100_000n });
    await fund(engine, CAROL, { ETH: 1n });
    for (let index = 0; index < MAKERS; index += 1) {
      await place(engine, ALICE, limit(M, 'sell', 100 + index, 1));
      await place(engine, ALICE, limit(M, 'buy', 90 - index, 1));
    }
  });
  afterEach(() => fixture.close());

  for (const { name, order, has = {}, market, own = [], ends, maxRead } of ROWS) {
    it(`ends with ${ends} after at most ${maxRead} orders of the book: ${name}`, async () => {
      const { engine, redis } = fixture;
      await fund(engine, BOB, has);
      if (own.length > 0) await fund(engine, BOB, { ETH: BigInt(own.length) });
      for (const one of own) await place(engine, BOB, one);
      if (market !== undefined) await engine.markets.change(M, market);
      // Reads the changed rules, and loads the script.
      await codeOf(engine.orders.place({ wallet: CAROL, request: limit(M, 'buy', 1, 50) }));
      let end: unknown;
      const read = await membersAsked(redis, async () => {
        end = await place(engine, BOB, order).then(
          (placement) => placement.order.status,
          (error) => error.code,
        );
      });
      expect(end).to.equal(ends);
      expect(read).to.be.within(1, maxRead);
    });
  }
});
