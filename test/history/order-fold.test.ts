/** Proves that live and settled reads are merged into the state at the later of the two times. */

import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import type { EngineEvent } from '../../src/domain/event.ts';
import { foldOrders, foldTrades } from '../../src/history/order-fold.ts';
import { fillInDigits, listedOrder, listedTrades, orderInDigits } from '../ledger/listed.ts';
import { referenceLedger } from '../ledger/reference-ledger.ts';
import { type Random, random, runSeed } from '../support/seed.ts';
import { MARKETS, seededEvents, WALLETS } from '../support/seeded-events.ts';

const EVENTS = 1_500;
const LIMIT = 100;

/** A read of the engine and a later read of Postgres, as numbers of events. */
interface Moment {
  /** Events that were settled and dropped before the engine was read. */
  readonly forgotten: number;
  /** The last event at the read of the engine. */
  readonly engine: number;
  /** The cursor at the read of Postgres. */
  readonly postgres: number;
}

function momentOf(dice: Random): Moment {
  const engine = dice.below(EVENTS + 1);
  const forgotten = dice.below(engine + 1);
  // Postgres advances meanwhile, sometimes past the state that the engine had when it was read.
  const postgres = Math.min(forgotten + dice.below(400), EVENTS);
  return { forgotten, engine, postgres };
}

/** Compares long lists. Chai takes ten times as long, so it only words the difference. */
function expectEqual(actual: unknown, expected: unknown, moment: Moment): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, JSON.stringify(moment)).to.deep.equal(expected);
}

describe('joining live and settled orders', () => {
  let events: EngineEvent[];
  let texts: string[];
  let dice: Random;

  before(() => {
    const seed = runSeed();
    events = seededEvents(seed).next(EVENTS);
    texts = events.map((event) => JSON.stringify(event, bigintsAsText));
    dice = random(seed);
  });

  const cursorAt = (sequence: number) => ({ epoch: 1, sequence });
  /** The events that the engine would return: all that name the wallet in any role. */
  const touched = (wallet: string, from: number, to: number): EngineEvent[] =>
    events.slice(from, to).filter((_event, at) => texts[from + at]!.includes(wallet));

  it('returns the orders as of the later of the two reads', () => {
    for (let round = 0; round < 60; round += 1) {
      const moment = momentOf(dice);
      const { forgotten, engine, postgres } = moment;
      const [before, after] = [postgres, Math.max(engine, postgres)].map(
        (until) => referenceLedger(events.slice(0, until)).orders,
      );
      for (const wallet of WALLETS) {
        const latest = (orders: typeof before) =>
          orders!
            .filter((order) => order.wallet === wallet)
            .reverse()
            .slice(0, LIMIT);
        // Rows from Postgres are frozen, because the merge must not change them.
        const known = latest(before).map((order) => Object.freeze(listedOrder(order)));
        const settled = { cursor: cursorAt(postgres), orders: known };
        const folded = foldOrders(settled, touched(wallet, forgotten, engine), wallet).slice(0, LIMIT);
        const settledFills = new Map(known.map(({ id, fills }) => [id, fills]));
        const whole = folded.map(({ order, unsettledFills }) => ({
          ...orderInDigits(order),
          fills: [...(settledFills.get(order.id) ?? []), ...unsettledFills.map(fillInDigits)],
        }));
        expectEqual(whole, latest(after).map(listedOrder), moment);
      }
    }
  });

  it('returns the trades as of the later of the two reads, of all markets or of one', () => {
    for (let round = 0; round < 60; round += 1) {
      const moment = momentOf(dice);
      const { forgotten, engine, postgres } = moment;
      const wallet = dice.pick(WALLETS);
      const market = dice.pick([undefined, MARKETS[0].symbol, MARKETS[1].symbol]);
      const latest = (until: number) =>
        referenceLedger(events.slice(0, until))
          .trades.filter(({ takerWallet, makerWallet }) => [takerWallet, makerWallet].includes(wallet))
          .filter((trade) => market === undefined || trade.market === market)
          .reverse()
          .slice(0, LIMIT);
      const settled = { cursor: cursorAt(postgres), trades: listedTrades(latest(postgres), wallet) };
      const folded = foldTrades(settled, touched(wallet, forgotten, engine), wallet, { market }).slice(
        0,
        LIMIT,
      );
      expectEqual(
        folded.map(({ fill, ...rest }) => ({ ...rest, fill: fillInDigits(fill) })),
        listedTrades(latest(Math.max(engine, postgres)), wallet),
        moment,
      );
    }
  });
});

const bigintsAsText = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? value.toString() : value;
