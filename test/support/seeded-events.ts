/**
 * Generates a valid event stream of any length from a seed: markets, deposits, orders that rest, match, are cancelled
 * and refused, holds, switches. Its matcher is written for clarity and uses a plain array as the book.
 */

import { createHash } from 'node:crypto';
import type { RecordedAct } from '../../src/domain/act.ts';
import type { AccountMoved, EngineEvent, EventBody } from '../../src/domain/event.ts';
import type { Asset, Market } from '../../src/domain/market.ts';
import type {
  ClosedOrder,
  MarketUnits,
  OrderStatus,
  OrderTerms,
  Side,
  Trade,
} from '../../src/domain/order.ts';
import { CAUSES } from '../../src/engine/cancelling-call.ts';
import { orderIdOf } from '../../src/engine/codec.ts';
import { type Random, random } from './seed.ts';

export const WALLETS = Array.from({ length: 6 }, (_, index) => `0x${String(index + 1).repeat(40)}`);
export const ASSETS: readonly Asset[] = [
  { symbol: 'ETH', scale: 9 },
  { symbol: 'BTC', scale: 8 },
  { symbol: 'USDC', scale: 6 },
];
export const MARKETS = [marketOf(0, 'ETH', 9), marketOf(1, 'BTC', 8)] as const;

/** Texts that would break careless SQL or COPY writers. All are legal client order ids. */
export const POISONED_TEXTS = [
  '\u{1f40b}'.repeat(128),
  `'; drop table orders; --`,
  'back\\slash \\N \\. \\x00 end\\',
  '\\.',
  '\\N',
  'tab\tline\nreturn\rfeed\f\v\b bell\u0007',
  '\n\\.\n',
  '{"json": "}", "array": [1,2]}',
  '{NULL,"a"}',
  'NULL',
  '$1 $2 ? ?? :name %s',
  ' leading and trailing ',
  '\u202eright to left\u202c \u200b\ufeff',
  'e\u0301 and \u00e9 are two ids',
];

function marketOf(number: number, base: string, scale: number): Market {
  return {
    number,
    symbol: `${base}/USDC`,
    base: { symbol: base, scale },
    quote: { symbol: 'USDC', scale: 6 },
    status: 'active',
    tradingEnabled: true,
    sellEnabled: true,
    visible: true,
    feeBps: 7,
    tickSize: '0.01',
    sizeStep: '0.001',
    minOrderSize: '0.001',
    maxOrderSize: null,
    minNotional: null,
    selfTrade: 'expire_maker',
    referencePrice: null,
    networkId: '1',
    tick: '0.01',
    step: '0.001',
    baseAtomsPerStep: 10n ** BigInt(scale - 3),
    quoteAtomsPerLot: 10n,
    version: 1,
  };
}

/** Reasons of incoming orders and of resting ones; null as of a release that recorded none. */
const DROPPED = ['self_trade_prevented', 'ioc_remainder', 'max_makers', null] as const;

interface Resting {
  terms: OrderTerms;
  filledSteps: bigint;
}

export interface SeededEvents {
  /** Returns the next `count` events of the stream. */
  next(count: number): EngineEvent[];
}

export function seededEvents(seed: number): SeededEvents {
  const dice = random(seed);
  const books = new Map<string, Resting[]>(MARKETS.map((market) => [market.symbol, []]));
  const feeBpsOf = new Map(MARKETS.map(({ symbol, feeBps }) => [symbol, feeBps]));
  const opening = openingEvents();
  const steps = random(seed + 1);
  const pending: AccountMoved[] = [];
  const taken = new Set<string>();
  const owing = owings(random(seed + 2));
  const announcing = announcements(random(seed + 3));
  let epoch = 1;
  let sequence = 0;
  let tradeId = 0;
  let timeMs = 1_700_000_000_000;

  const next = (): EngineEvent => {
    sequence += 1;
    timeMs += dice.pick([0, 0, 1, 7, 1000]);
    if (dice.chance(0.002)) epoch += 1;
    const body = opening.shift() ?? bodyOf();
    if (body.kind === 'market_changed') feeBpsOf.set(body.market.symbol, body.market.feeBps);
    const event = { epoch, sequence, timeMs, ...body, ...actOf(body, sequence) };
    const hex = createHash('sha256').update(JSON.stringify(event, bigintsAsText)).digest('hex');
    return { ...event, digest: { hex } };
  };

  const bodyOf = (): EventBody => {
    const roll = dice.below(100);
    if (roll < 70) return place();
    if (roll < 85) return close();
    if (roll < 90) return moved();
    return setting(dice, sequence);
  };

  const place = (): EventBody => {
    const market = dice.pick(MARKETS);
    const type = dice.chance(0.15) ? 'market' : 'limit';
    const wallet = dice.pick(WALLETS);
    const side = dice.pick(['buy', 'sell'] as const);
    const timeInForce = type === 'limit' && dice.chance(0.7) ? 'GTC' : 'IOC';
    const leverage = dice.pick([null, null, 1, 50]);
    const priceTicks = type === 'limit' ? BigInt(100_000 + dice.below(40)) : null;
    const terms: OrderTerms = {
      id: orderIdOf({ marketNumber: market.number, side, priceTicks, epoch, sequence }),
      wallet,
      market: market.symbol,
      side,
      type,
      timeInForce,
      postOnly: false,
      leverage,
      priceTicks,
      sizeSteps: BigInt(1 + dice.below(500)),
      clientOrderId: dice.chance(0.3) ? null : idOf(sequence, dice.pick(POISONED_TEXTS)),
      createdAtMs: timeMs,
      sequence,
      units: marketUnits(market),
    };
    if (dice.chance(0.05)) {
      const refused = { status: 'rejected', filledSteps: 0n, trades: [], expired: [] } as const;
      return { kind: 'order_placed', order: terms, ...refused, reason: 'FOK_NOT_FILLED' };
    }
    return match(terms, market);
  };

  const match = (order: OrderTerms, market: Market): EventBody => {
    const book = books.get(market.symbol)!;
    const trades: Trade[] = [];
    const expired: ClosedOrder[] = [];
    let filledSteps = 0n;
    for (const maker of bestFirst(book, order)) {
      if (filledSteps === order.sizeSteps) break;
      if (maker.terms.wallet === order.wallet) {
        book.splice(book.indexOf(maker), 1);
        expired.push(closed(maker, 'self_trade_prevented'));
        continue;
      }
      const sizeSteps = least(order.sizeSteps - filledSteps, maker.terms.sizeSteps - maker.filledSteps);
      filledSteps += sizeSteps;
      maker.filledSteps += sizeSteps;
      if (maker.filledSteps === maker.terms.sizeSteps) book.splice(book.indexOf(maker), 1);
      trades.push(tradeOf(order, maker.terms, sizeSteps, market));
    }
    const rests = filledSteps < order.sizeSteps && order.timeInForce === 'GTC';
    if (rests) book.push({ terms: order, filledSteps });
    const status = statusOf(order, filledSteps, rests);
    const isDropped = !rests && filledSteps < order.sizeSteps;
    const reason = isDropped ? DROPPED[sequence % DROPPED.length]! : null;
    return { kind: 'order_placed', order, status, reason, filledSteps, trades, expired };
  };

  const tradeOf = (taker: OrderTerms, maker: OrderTerms, sizeSteps: bigint, market: Market): Trade => {
    tradeId += 1 + dice.below(3);
    const notional = maker.priceTicks! * sizeSteps * market.quoteAtomsPerLot;
    return {
      tradeId,
      market: market.symbol,
      takerSide: taker.side,
      priceTicks: maker.priceTicks!,
      sizeSteps,
      feeAtoms: (notional * BigInt(feeBpsOf.get(market.symbol)!) + 9_999n) / 10_000n,
      takerOrderId: taker.id,
      makerOrderId: maker.id,
      takerWallet: taker.wallet,
      makerWallet: maker.wallet,
      timeMs,
      sequence,
      units: maker.units,
    };
  };

  const close = (): EventBody => {
    const book = books.get(dice.pick(MARKETS).symbol)!;
    if (book.length === 0) return { kind: 'trading_resumed' };
    const leaving = book.splice(dice.below(book.length), 1 + dice.below(3));
    const reason = dice.pick(CAUSES);
    return { kind: 'orders_closed', orders: leaving.map((order) => closed(order, reason)) };
  };

  const moved = (): EventBody => {
    const movement = {
      kind: dice.chance(0.7) ? ('credited' as const) : ('debited' as const),
      wallet: dice.pick(WALLETS),
      asset: dice.pick(ASSETS).symbol,
      amountAtoms: BigInt(1 + dice.below(1_000_000)),
      reference: `${sequence} ${dice.pick(POISONED_TEXTS)}`,
    };
    return owing.moved(announcing.moved(stepInstead(movement) ?? movement));
  };

  const takeOrRelease = ({ reference, wallet, asset }: AccountMoved): EventBody => {
    const of = { reference, wallet, asset };
    if (taken.delete(reference)) return { kind: 'withdrawal_released', ...of };
    taken.add(reference);
    const untilMs = 2_000_000_000_000 + steps.below(1_000);
    return {
      kind: 'withdrawal_taken',
      ...of,
      take: { by: steps.pick(POISONED_TEXTS), key: 'seed', untilMs },
    };
  };

  /** Returns a step of a withdrawal in place of some movements. Its own dice keep all other events as they were. */
  const stepInstead = (movement: AccountMoved): EventBody | undefined => {
    if (pending.length > 0 && steps.chance(0.3)) {
      const [request] = pending.splice(steps.below(pending.length), 1);
      const txid = `tx ${steps.pick(POISONED_TEXTS)}`;
      // No withdrawal is returned while it is taken.
      const isPaid = steps.chance(0.5) || taken.has(request!.reference);
      return { ...request!, ...(isPaid ? { kind: 'confirmed', txid } : { kind: 'returned' }) };
    }
    if (pending.length > 0 && steps.chance(0.2)) return takeOrRelease(steps.pick(pending));
    if (movement.kind === 'credited' || steps.chance(0.4)) return undefined;
    const request = { ...movement, kind: 'requested' } as const;
    pending.push(request);
    return request;
  };

  return { next: (count) => Array.from({ length: count }, next) };
}

/**
 * Makes reversals of some withdrawals that leave at once, which leave their wallets owing a part. Its own dice keep all
 * other events as they were.
 */
function owings(dice: Random): { moved(body: EventBody): EventBody } {
  const owed = new Map<string, bigint>();
  const credits: { of: string; reference: string; left: bigint }[] = [];
  const reversed = (of: string, movement: AccountMoved): EventBody => {
    const credit = credits.find((one) => one.of === of && one.left >= movement.amountAtoms);
    if (credit === undefined || dice.chance(0.3)) return movement;
    credit.left -= movement.amountAtoms;
    const owedAtoms = BigInt(dice.below(Number(movement.amountAtoms) + 1));
    owed.set(of, (owed.get(of) ?? 0n) + owedAtoms);
    return { ...movement, reverses: credit.reference, ...(owedAtoms > 0n && { owedAtoms }) };
  };
  return {
    moved(body) {
      if (body.kind !== 'debited' && body.kind !== 'credited' && body.kind !== 'returned') return body;
      const { wallet, asset, reference, amountAtoms } = body;
      const of = `${wallet} ${asset}`;
      if (body.kind === 'debited') return reversed(of, body);
      if (body.kind === 'credited') credits.push({ of, reference, left: amountAtoms });
      const debt = owed.get(of) ?? 0n;
      if (debt === 0n) return body;
      const owedAtoms = least(debt, amountAtoms);
      owed.set(of, debt - owedAtoms);
      return { ...body, owedAtoms };
    },
  };
}

/** Announces some deposits before they are credited, or dropped. Its own dice keep all other events as they were. */
function announcements(dice: Random): { moved(body: EventBody): EventBody } {
  const announced: (EventBody & AccountMoved)[] = [];
  return {
    moved(body) {
      if (body.kind !== 'credited') return body;
      if (announced.length > 0 && dice.chance(0.4)) {
        const [deposit] = announced.splice(dice.below(announced.length), 1);
        return { ...deposit!, kind: dice.chance(0.6) ? 'credited' : 'dropped' };
      }
      if (dice.chance(0.6)) return body;
      const deposit = { ...body, kind: 'announced' } as const;
      announced.push(deposit);
      return deposit;
    },
  };
}

/** The first events of every stream: assets, markets, and balances that no test can use up. */
function openingEvents(): EventBody[] {
  return [
    ...ASSETS.map((asset): EventBody => ({ kind: 'asset_changed', asset })),
    ...MARKETS.map((market): EventBody => ({ kind: 'market_changed', market })),
    ...WALLETS.flatMap((wallet) =>
      ASSETS.map(
        ({ symbol }): EventBody => ({
          kind: 'credited',
          wallet,
          asset: symbol,
          amountAtoms: 2n ** 58n,
          reference: `opening ${wallet} ${symbol}`,
        }),
      ),
    ),
  ];
}

/** Every other change of an account or a switch is an operator's. */
function actOf({ kind }: EventBody, sequence: number): { act?: RecordedAct } {
  const isOperators = [
    'account_held',
    'trading_paused',
    'terms_required',
    'credited',
    'withdrawal_taken',
  ].includes(kind);
  if (!isOperators || sequence % 2 === 0) return {};
  const reason = POISONED_TEXTS[sequence % POISONED_TEXTS.length]!;
  return { act: { by: 'seed', reason, before: kind === 'credited' ? '7' : null } };
}

function setting(dice: Random, sequence: number): EventBody {
  const wallet = dice.pick(WALLETS);
  const market = dice.pick(MARKETS);
  return dice.pick<EventBody>([
    { kind: 'account_held', wallet },
    { kind: 'account_released', wallet },
    { kind: 'terms_required', version: dice.chance(0.3) ? null : `v${sequence}` },
    { kind: 'terms_accepted', wallet, version: dice.pick(POISONED_TEXTS) },
    { kind: 'trading_paused' },
    { kind: 'trading_resumed' },
    { kind: 'market_changed', market: { ...market, feeBps: dice.below(20), version: sequence } },
  ]);
}

function bestFirst(book: readonly Resting[], order: OrderTerms): Resting[] {
  const better = order.side === 'buy' ? 1n : -1n;
  return book
    .filter(({ terms }) => terms.side !== order.side && crosses(order, terms.priceTicks!))
    .sort((one, other) => Number((one.terms.priceTicks! - other.terms.priceTicks!) * better));
}

function crosses({ side, priceTicks }: OrderTerms, resting: bigint): boolean {
  return (
    priceTicks === null || (side === ('buy' satisfies Side) ? resting <= priceTicks : resting >= priceTicks)
  );
}

function statusOf(order: OrderTerms, filledSteps: bigint, rests: boolean): OrderStatus {
  if (filledSteps === order.sizeSteps) return 'filled';
  if (rests) return filledSteps > 0n ? 'partially_filled' : 'resting';
  return filledSteps > 0n ? 'partially_filled_cancelled' : 'expired';
}

function closed({ terms, filledSteps }: Resting, reason: ClosedOrder['reason']): ClosedOrder {
  const { id, wallet, market, clientOrderId } = terms;
  const cancelled = filledSteps > 0n ? 'partially_filled_cancelled' : 'cancelled';
  return {
    id,
    wallet,
    market,
    clientOrderId,
    status: reason === 'operator_voided' ? 'failed' : cancelled,
    reason,
  };
}

function marketUnits(market: Market): MarketUnits {
  const { base, quote, baseAtomsPerStep, quoteAtomsPerLot } = market;
  return { base: base.symbol, quote: quote.symbol, baseAtomsPerStep, quoteAtomsPerLot };
}

/** Truncates to 128 code points, the contract's maximum, without splitting a code point. */
function idOf(sequence: number, text: string): string {
  return [...`${sequence} ${text}`].slice(0, 128).join('');
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function bigintsAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
