/** Live and settled reads are joined to the state of the later moment. */

import { expect } from 'chai';
import type { EngineEvent } from '../../src/domain/event.ts';
import { foldOrders, foldTrades } from '../../src/http/order-fold.ts';
import { fillInDigits, listedOrder, listedTrades, orderInDigits } from '../ledger/listed.ts';
import { referenceLedger } from '../ledger/reference-ledger.ts';
import { type Random, random, runSeed } from '../support/seed.ts';
import { MARKETS, seededEvents, WALLETS } from '../support/seeded-events.ts';

const EVENTS = 1_500;
const LIMIT = 100;

/** A read of the engine and a later one of Postgres, in events. */
interface Moment {
  /** What is settled when the engine is read, and so is not in its answer. */
  readonly forgotten: number;
  /** The last event when the engine is read. */
  readonly engine: number;
  /** The cursor of Postgres when it is read. */
  readonly postgres: number;
}

function momentOf(dice: Random): Moment {
  const engine = dice.below(EVENTS + 1);
  const forgotten = dice.below(engine + 1);
  // Postgres goes on meanwhile, at times past the moment at which the engine was read.
  const postgres = Math.min(forgotten + dice.below(400), EVENTS);
  return { forgotten, engine, postgres };
}

describe('joining what is live and what is settled', () => {
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
  /** As the engine finds them: every event that names the wallet in any role. */
  const touched = (wallet: string, from: number, to: number): EngineEvent[] =>
    events.slice(from, to).filter((_event, at) => texts[from + at]!.includes(wallet));

  it('gives the orders of the later of the two moments, whole', () => {
    for (let round = 0; round < 60; round += 1) {
      const moment = momentOf(dice);
      const { forgotten, engine, postgres } = moment;
      for (const wallet of WALLETS) {
        const latest = (until: number) =>
          referenceLedger(events.slice(0, until))
            .orders.filter((order) => order.wallet === wallet)
            .reverse()
            .slice(0, LIMIT);
        // Rows that were read from Postgres are frozen, because the fold must not change them.
        const known = latest(postgres).map((order) => Object.freeze(listedOrder(order)));
        const settled = { cursor: cursorAt(postgres), orders: known };
        const folded = foldOrders(settled, touched(wallet, forgotten, engine), wallet).slice(0, LIMIT);
        const settledFills = new Map(known.map(({ id, fills }) => [id, fills]));
        const whole = folded.map(({ order, unsettledFills }) => ({
          ...orderInDigits(order),
          fills: [...(settledFills.get(order.id) ?? []), ...unsettledFills.map(fillInDigits)],
        }));
        expect(whole, JSON.stringify(moment)).to.deep.equal(
          latest(Math.max(engine, postgres)).map(listedOrder),
        );
      }
    }
  });

  it('gives the trades of the later of the two moments, of all markets or of one', () => {
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
      expect(
        folded.map(({ fill, ...rest }) => ({ ...rest, fill: fillInDigits(fill) })),
        JSON.stringify(moment),
      ).to.deep.equal(listedTrades(latest(Math.max(engine, postgres)), wallet));
    }
  });
});

const bigintsAsText = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? value.toString() : value;
