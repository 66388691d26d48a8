/** Compares replies about orders, which are written by templates, with the output of their schemas. */

import { expect } from 'chai';
import { composeMarket } from '../../src/domain/market-rules.ts';
import {
  END_REASONS,
  type EndReason,
  fillOf,
  ORDER_STATUSES,
  type Order,
  rejectReasonOf,
  type Trade,
} from '../../src/domain/order.ts';
import { orderReply, placingReply } from '../../src/http/replies/order.ts';
import { orderSchema, placementSchema } from '../../src/order/reply.ts';
import { type Random, random, runSeed } from '../support/seed.ts';

const MARKET = composeMarket(
  {
    symbol: 'ETH/USDC',
    status: 'active',
    sellEnabled: true,
    visible: true,
    feeBps: 10,
    tickSize: '0.05',
    sizeStep: '0.001',
    minOrderSize: null,
    maxOrderSize: null,
    selfTrade: 'expire_taker',
    referencePrice: null,
    networkId: '1',
  },
  1,
  { symbol: 'ETH', scale: 8 },
  { symbol: 'USDC', scale: 6 },
);
const { baseAtomsPerStep, quoteAtomsPerLot } = MARKET;
const UNITS = { base: 'ETH', quote: 'USDC', baseAtomsPerStep, quoteAtomsPerLot };
const CLIENT_IDS = [null, 'an id', '"quoted" \\ back', 'line\nfeed\u0001\u2028', 'é😀', '</script>', '0'];
const REJECTIONS = ['POST_ONLY_WOULD_CROSS', 'FOK_NOT_FILLED'] as const;
const REASONS = Object.keys(END_REASONS) as EndReason[];

const hex = (dice: Random, length: number): string =>
  Array.from({ length }, () => dice.below(16).toString(16)).join('');

const timeOf = (dice: Random): number =>
  1_700_000_000_000 + dice.below(1_000) * dice.pick([1, 999, 86_400_000]);

const steps = (dice: Random): bigint => BigInt(1 + dice.below(dice.pick([9, 10_000, 90_000_000])));

const orderIds = (dice: Random) => ({ takerOrderId: hex(dice, 34), makerOrderId: hex(dice, 34) });

const tradeOf = (dice: Random): Trade => ({
  tradeId: dice.below(2 ** 31) * 2 ** 20,
  market: 'ETH/USDC',
  takerSide: dice.pick(['buy', 'sell']),
  priceTicks: steps(dice),
  sizeSteps: BigInt(1 + dice.below(1_000)),
  feeAtoms: steps(dice),
  ...orderIds(dice),
  takerWallet: `0x${hex(dice, 40)}`,
  makerWallet: `0x${hex(dice, 40)}`,
  timeMs: timeOf(dice),
  sequence: dice.below(1_000),
  units: UNITS,
});

type OrderWithTrades = Order & { readonly fillCount: number; readonly trades: readonly Trade[] };

function orderOf(dice: Random, status: OrderWithTrades['status']): OrderWithTrades {
  const id = hex(dice, 34);
  const role = dice.pick(['takerOrderId', 'makerOrderId']);
  const trades = Array.from({ length: dice.pick([0, 0, 1, 3]) }, () => ({ ...tradeOf(dice), [role]: id }));
  const sizeSteps = steps(dice);
  return {
    id,
    wallet: `0x${hex(dice, 40)}`,
    market: 'ETH/USDC',
    side: dice.pick(['buy', 'sell']),
    type: dice.pick(['limit', 'market']),
    timeInForce: dice.pick(['GTC', 'IOC', 'FOK']),
    postOnly: dice.chance(0.5),
    leverage: null,
    priceTicks: dice.chance(0.2) ? null : steps(dice),
    sizeSteps,
    filledSteps: dice.pick([0n, sizeSteps, sizeSteps / 2n]),
    status,
    reason: status === 'rejected' ? dice.pick(REJECTIONS) : dice.pick([null, ...REASONS]),
    clientOrderId: dice.pick(CLIENT_IDS),
    createdAtMs: timeOf(dice),
    updatedAtMs: timeOf(dice),
    sequence: dice.below(1_000),
    units: UNITS,
    fillCount: trades.length + dice.below(3),
    trades,
  };
}

const count = (units: bigint, unit: number, places: number): number =>
  Number((Number(units) * unit).toFixed(places));

const fillMembers = (trade: Trade, orderId: string) => {
  const isTaker = trade.takerOrderId === orderId;
  return {
    createdAt: new Date(trade.timeMs).toISOString(),
    id: String(trade.tradeId),
    orderId,
    role: isTaker ? 'taker' : 'maker',
    price: count(trade.priceTicks, 0.05, 2),
    size: count(trade.sizeSteps, 0.001, 3),
    notional: count(trade.priceTicks * trade.sizeSteps, 0.05 * 0.001, 5),
    feeAmount: isTaker ? count(trade.feeAtoms, 1e-6, 6) : 0,
    feeAsset: 'USDC',
  };
};

/** Members by their contract names, in any order, because the schema sorts them. */
const membersOf = (order: OrderWithTrades) => ({
  fillCount: order.fillCount,
  fills: order.trades.map((trade) => fillMembers(trade, order.id)),
  createdAt: new Date(order.createdAtMs).toISOString(),
  updatedAt: new Date(order.updatedAtMs).toISOString(),
  price: order.priceTicks === null ? null : count(order.priceTicks, 0.05, 2),
  size: count(order.sizeSteps, 0.001, 3),
  filledSize: count(order.filledSteps, 0.001, 3),
  remainingSize: count(order.sizeSteps - order.filledSteps, 0.001, 3),
  id: order.id,
  market: order.market,
  side: order.side,
  type: order.type,
  status: order.status,
  reason: order.reason,
  timeInForce: order.timeInForce,
  postOnly: order.postOnly,
  clientOrderId: order.clientOrderId,
});

describe('replies about orders', () => {
  it('equal what their schemas write of the same order in every status', () => {
    const dice = random(runSeed());
    for (const status of ORDER_STATUSES) {
      for (let round = 0; round < 50; round += 1) {
        const order = orderOf(dice, status);
        const members = membersOf(order);
        const text = JSON.stringify(orderSchema.parse(members));
        const fills = order.trades.map((trade) => fillOf(trade, order.id));
        const shown = { fillCount: order.fillCount, fills };
        expect(orderReply(order, shown, MARKET)).to.equal(text);
        const reason = dice.pick([null, rejectReasonOf(order)]);
        const reject = reason === null ? {} : { rejectReason: reason, rejectCode: reason };
        const placement = { ...reject, order: members, accepted: status !== 'rejected', ...members };
        expect(placingReply(order, shown, MARKET, reason)).to.equal(
          JSON.stringify(placementSchema.parse(placement)),
        );
      }
    }
  });
});
