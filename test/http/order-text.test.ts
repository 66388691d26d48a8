/** Compares orders and trades in replies with a simple reference writer. */

import { expect } from 'chai';
import { type Json, JsonText, writeJson } from '../../src/domain/json.ts';
import type { Market } from '../../src/domain/market.ts';
import { marketGrid } from '../../src/domain/market-grid.ts';
import { type Fill, fillOf, notionalAtoms, type Trade, walletTradeOf } from '../../src/domain/order.ts';
import { type Grid, gridOf } from '../../src/domain/units.ts';
import { orderReply, walletTradeReply } from '../../src/http/replies/order.ts';
import { timestamp } from '../../src/http/replies/timestamp.ts';
import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import { listedOrder, listedTrades } from '../ledger/listed.ts';
import { type ReferenceLedger, type ReferenceOrder, referenceLedger } from '../ledger/reference-ledger.ts';
import { type Random, random, runSeed } from '../support/seed.ts';
import { MARKETS, seededEvents, WALLETS } from '../support/seeded-events.ts';
import { freshLedgerDatabase } from '../support/servers.ts';

const EVENTS = 1_200;

/** Returns count x unit, computed digit by digit. */
function literal(count: bigint, { coefficient, places }: Grid): JsonText {
  const digits = (count * coefficient).toString().padStart(places + 1, '0');
  const whole = digits.slice(0, digits.length - places);
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '');
  return new JsonText(fraction === '' ? whole : `${whole}.${fraction}`);
}

const iso = (timeMs: number): string => new Date(timeMs).toISOString();
const atomOf = (scale: number): Grid => ({ coefficient: 1n, places: scale });

const execution = (trade: Trade, role: string, market: Market) => ({
  role,
  price: literal(trade.priceTicks, marketGrid(market).tick),
  size: literal(trade.sizeSteps, marketGrid(market).step),
  notional: literal(notionalAtoms(trade), atomOf(market.quote.scale)),
  feeAmount: literal(role === 'taker' ? trade.feeAtoms : 0n, atomOf(market.quote.scale)),
  feeAsset: market.quote.symbol,
});

const plainFill = (trade: Trade, orderId: string, market: Market): Json => ({
  id: String(trade.tradeId),
  orderId,
  ...execution(trade, trade.takerOrderId === orderId ? 'taker' : 'maker', market),
  createdAt: iso(trade.timeMs),
});

const plainOrder = (order: ReferenceOrder, market: Market): Json => ({
  id: order.id,
  market: order.market,
  side: order.side,
  type: order.type,
  timeInForce: order.timeInForce,
  postOnly: order.postOnly,
  price: order.priceTicks === null ? null : literal(order.priceTicks, marketGrid(market).tick),
  size: literal(order.sizeSteps, marketGrid(market).step),
  filledSize: literal(order.filledSteps, marketGrid(market).step),
  remainingSize: literal(order.sizeSteps - order.filledSteps, marketGrid(market).step),
  status: order.status,
  reason: order.reason,
  clientOrderId: order.clientOrderId,
  createdAt: iso(order.createdAtMs),
  updatedAt: iso(order.updatedAtMs),
  fillCount: order.fillCount,
  fills: order.trades.map((trade) => plainFill(trade, order.id, market)),
});

function plainTrade(trade: Trade, wallet: string, market: Market): Json {
  const isTaker = trade.takerWallet === wallet;
  const makerSide = trade.takerSide === 'buy' ? 'sell' : 'buy';
  return {
    id: String(trade.tradeId),
    orderId: isTaker ? trade.takerOrderId : trade.makerOrderId,
    market: trade.market,
    side: isTaker ? trade.takerSide : makerSide,
    ...execution(trade, isTaker ? 'taker' : 'maker', market),
    counterparty: isTaker ? trade.makerWallet : trade.takerWallet,
    createdAt: iso(trade.timeMs),
  };
}

/** Up to the largest possible counts: 2^53 - 1 ticks or steps, 2^62 atoms. */
const anyCount = (dice: Random, maxBits: number): bigint => {
  const bits = 1 + dice.below(maxBits);
  const high = BigInt(dice.below(2 ** 31)) << 31n;
  return (high | BigInt(dice.below(2 ** 31))) >> BigInt(62 - bits);
};

describe('orders and trades as text', () => {
  let dice: Random;
  let events: ReturnType<ReturnType<typeof seededEvents>['next']>;
  let reference: ReferenceLedger;

  before(() => {
    dice = random(runSeed());
    events = seededEvents(runSeed()).next(EVENTS);
    reference = referenceLedger(events);
  });

  const marketOf = ({ market }: { readonly market: string }): Market =>
    MARKETS.find(({ symbol }) => symbol === market)!;

  describe('read from Postgres', () => {
    let ledger: Ledger;

    before(async () => {
      ledger = openLedger({ databaseUrl: await freshLedgerDatabase() });
      for (let at = 0; at < EVENTS; at += 300) await ledger.settlement.settle(events.slice(at, at + 300));
    });

    after(() => ledger.close());

    it('equal what the events say, byte for byte', async () => {
      for (const wallet of WALLETS) {
        const orders = reference.orders.filter((order) => order.wallet === wallet).reverse();
        const fills = { maxFillsPerOrder: EVENTS, maxFillsPerReply: EVENTS, orders: EVENTS };
        const read = await ledger.orders.ofWallet(wallet, { limit: EVENTS, fills });
        const texts = read.orders.map((order) => orderReply(order, order, marketOf(order)));
        expect(texts).to.deep.equal(orders.map((order) => writeJson(plainOrder(order, marketOf(order)))));
        const trades = reference.trades
          .filter(({ takerWallet, makerWallet }) => [takerWallet, makerWallet].includes(wallet))
          .reverse();
        const listed = await ledger.trades.ofWallet(wallet, { limit: EVENTS });
        expect(listed.trades.map((trade) => walletTradeReply(trade, marketOf(trade)))).to.deep.equal(
          trades.map((trade) => writeJson(plainTrade(trade, wallet, marketOf(trade)))),
        );
      }
    });
  });

  it('are the same from bigints and from digits, of any size and on any grid', () => {
    const order = reference.orders.find(({ fillCount }) => fillCount > 0)!;
    const grids = ['1', '0.01', '0.05', '0.000000001', '25', '0.125', '1000'].map((text) => gridOf(text)!);
    for (let round = 0; round < 1_000; round += 1) {
      const tick = dice.pick(grids);
      const step = dice.pick(grids);
      const [base, quote] = [
        { symbol: 'ETH', scale: dice.below(19) },
        { symbol: 'USDC', scale: dice.below(19) },
      ];
      const units = [tick, step].map((grid) => literal(1n, grid).text);
      const market = { ...MARKETS[0], base, quote, tick: units[0]!, step: units[1]! };
      const trades = order.trades.map((trade) => ({
        ...trade,
        priceTicks: anyCount(dice, 53),
        sizeSteps: anyCount(dice, 53),
        feeAtoms: anyCount(dice, 62),
      }));
      const sizeSteps = anyCount(dice, 53);
      const filledSteps = dice.chance(0.2) ? sizeSteps : sizeSteps / BigInt(1 + dice.below(9));
      const changed = { ...order, trades, sizeSteps, filledSteps, priceTicks: anyCount(dice, 53) };
      const expected = writeJson(plainOrder(changed, market));
      const fills: Fill[] = trades.map((trade) => fillOf(trade, order.id));
      expect(orderReply(changed, { fillCount: order.fillCount, fills }, market)).to.equal(expected);
      const listed = listedOrder(changed);
      expect(orderReply(listed, listed, market)).to.equal(expected);
      const [trade] = trades;
      for (const wallet of [trade!.takerWallet, trade!.makerWallet]) {
        const text = writeJson(plainTrade(trade!, wallet, market));
        expect(walletTradeReply(walletTradeOf(trade!, wallet), market)).to.equal(text);
        expect(walletTradeReply(listedTrades([trade!], wallet)[0]!, market)).to.equal(text);
      }
    }
  });

  it('write times like Date', () => {
    const DAY_MS = 86_400_000;
    const edges = [0, 1, DAY_MS - 1, DAY_MS, 1_767_605_400_000, Date.UTC(2028, 1, 29), 253_402_300_799_999];
    const drawn = Array.from({ length: 2_000 }, () => dice.below(2 ** 31) * 1_000 + dice.below(1_000));
    for (const timeMs of [...edges, ...drawn]) expect(timestamp(timeMs)).to.equal(iso(timeMs));
  });
});
