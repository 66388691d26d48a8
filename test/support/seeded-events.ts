/**
 * Generates a valid event stream of any length from a seed. The generator of the equivalence draws the operations, and
 * the reference exchange carries them out: orders that rest, match, are replaced, cancelled and rejected, deposits,
 * withdrawals in steps, reversals, holds, switches and changes of markets.
 */

import { createHash } from 'node:crypto';
import type { RecordedAct } from '../../src/domain/act.ts';
import type { AccountMoved, EngineEvent, EventBody } from '../../src/domain/event.ts';
import type { Asset, Market } from '../../src/domain/market.ts';
import { composeMarket } from '../../src/domain/market-rules.ts';
import type { ClosedOrder, MarketUnits, OrderTerms, Trade } from '../../src/domain/order.ts';
import { orderIdOf } from '../../src/engine/codec.ts';
import { Generator, type Operation } from '../proofs/equivalence/generator.ts';
import {
  type ClosedRecord,
  type MovementRecord,
  type ReferenceEvent,
  ReferenceExchange,
  type ReferenceOrder,
  type ReferenceTrade,
} from '../proofs/equivalence/reference-book.ts';
import type { ReferenceMarket } from '../proofs/equivalence/reference-rules.ts';
import { type Profile, rulesOf } from '../proofs/equivalence/stage.ts';
import { takenBy } from '../proofs/equivalence/turns.ts';
import { type Random, random } from './seed.ts';

export const WALLETS = Array.from({ length: 6 }, (_, index) => `0x${String(index + 1).repeat(40)}`);
export const ASSETS: readonly Asset[] = [
  { symbol: 'ETH', scale: 9 },
  { symbol: 'BTC', scale: 8 },
  { symbol: 'USDC', scale: 6 },
];
const USDC = ASSETS[2]!;
/** Atoms that each wallet begins with. Those of ETH are beyond doubles, and those of the others may be used up. */
const OPENING_ATOMS: Readonly<Record<string, bigint>> = { ETH: 2n ** 58n, BTC: 10n ** 13n, USDC: 10n ** 12n };

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

/** One market begins without a fee. */
const RULES = (
  [
    ['ETH/USDC', 7],
    ['BTC/USDC', 0],
  ] as const
).map(([symbol, feeBps]) =>
  rulesOf(symbol, { feeBps, sizeStep: '0.001', minOrderSize: '0.001', selfTrade: 'expire_maker' }),
);

export const MARKETS = [marketOf(0), marketOf(1)] as const;

function marketOf(number: number): Market {
  const { tradingEnabled: _enabled, status: _status, ...rules } = RULES[number]!;
  const spec = { ...rules, status: 'active', networkId: '1' } as const;
  return { ...composeMarket(spec, number, ASSETS[number]!, USDC), version: 1 };
}

const SYMBOLS = ASSETS.map(({ symbol }) => symbol);
const PROFILE: Profile = {
  markets: RULES,
  busy: RULES.map(({ symbol }) => symbol),
  midTicks: Object.fromEntries(RULES.map(({ symbol }) => [symbol, 100_000n])),
  reachTicks: {},
  traders: WALLETS,
  sweepers: WALLETS.slice(-2),
  credited: SYMBOLS,
  debited: SYMBOLS,
  announced: SYMBOLS,
  payers: POISONED_TEXTS.slice(0, 4),
  idText: (made) => idOf(made, POISONED_TEXTS[made % POISONED_TEXTS.length]!),
  custodyChance: 0.15,
  hasRefusals: false,
};
const LIMITS = { maxMakers: 20, maxLiveOrders: 40 };

export interface SeededEvents {
  /** Returns the next `count` events of the stream. */
  next(count: number): EngineEvent[];
}

export function seededEvents(seed: number): SeededEvents {
  const stream = new Stream(seed);
  return { next: (count) => Array.from({ length: count }, () => stream.next()) };
}

/** Draws operations, and writes the events of the reference as the engine does. */
class Stream {
  readonly #exchange = new ReferenceExchange(LIMITS);
  readonly #dice: Random;
  readonly #generator: Generator;
  readonly #coming: EventBody[] = [];
  readonly #orders: OrderTerms[] = [];
  #epoch = 1;
  #sequence = 0;
  #timeMs = 1_700_000_000_000;
  #tradeId = 0;
  /** Events of the reference that are not written yet. */
  #drawn: ReferenceEvent[] = [];

  constructor(seed: number) {
    this.#dice = random(seed + 1);
    this.#generator = new Generator(random(seed), this.#exchange, {
      profile: PROFILE,
      steps: random(seed + 2),
    });
    this.#open();
  }

  next(): EngineEvent {
    this.#sequence += 1;
    this.#timeMs += this.#dice.pick([0, 0, 1, 7, 1000]);
    if (this.#dice.chance(0.002)) this.#epoch += 1;
    const body = this.#coming.shift() ?? this.#bodyOf(this.#nextOfReference());
    const place = { epoch: this.#epoch, sequence: this.#sequence, timeMs: this.#timeMs };
    const event = { ...place, ...body, ...actOf(body, this.#sequence) };
    const hex = createHash('sha256').update(JSON.stringify(event, bigintsAsText)).digest('hex');
    return { ...event, digest: { hex } };
  }

  /** The first events of every stream: assets, markets and balances. */
  #open(): void {
    for (const asset of ASSETS) {
      this.#exchange.scales.set(asset.symbol, asset.scale);
      this.#coming.push({ kind: 'asset_changed', asset });
    }
    for (const rules of RULES) this.#exchange.publish(rules);
    for (const wallet of WALLETS)
      for (const asset of SYMBOLS) {
        const atoms = OPENING_ATOMS[asset]!;
        this.#exchange.move({
          kind: 'credited',
          wallet,
          asset,
          atoms,
          reference: `opening ${wallet} ${asset}`,
        });
      }
    this.#drawn = this.#exchange.takeEvents();
  }

  #nextOfReference(): ReferenceEvent {
    while (this.#drawn.length === 0) {
      this.#exchange.nowMs = this.#timeMs;
      perform(this.#exchange, this.#generator.next());
      this.#drawn = this.#exchange.takeEvents();
    }
    return this.#drawn.shift()!;
  }

  #bodyOf(event: ReferenceEvent): EventBody {
    switch (event.kind) {
      case 'order_placed': {
        const { order, trades, expired } = event;
        const { status, reason, filled } = order;
        const market = this.#exchange.market(order.market)!;
        const terms = this.#termsOf(order, market);
        this.#orders[order.number] = terms;
        return {
          kind: event.kind,
          order: terms,
          status,
          reason,
          filledSteps: filled / market.step,
          trades: trades.map((trade) => this.#tradeOf(terms, trade, market)),
          expired: expired.map((one) => this.#closedOf(one)),
        } as EventBody;
      }
      case 'orders_closed':
        return { kind: event.kind, orders: event.orders.map((one) => this.#closedOf(one)) };
      case 'market_changed': {
        const market = MARKETS.find(({ symbol }) => symbol === event.market.symbol)!;
        return { kind: event.kind, market: { ...market, ...event.market, version: this.#sequence } };
      }
      default:
        return 'atoms' in event ? movementOf(event) : event;
    }
  }

  #termsOf(order: ReferenceOrder, { tick, step, number: marketNumber }: ReferenceMarket): OrderTerms {
    const { wallet, market, side, type, timeInForce, postOnly, leverage, clientOrderId } = order;
    const priceTicks = order.price === null ? null : order.price / tick;
    const place = { epoch: this.#epoch, sequence: this.#sequence };
    return {
      id: orderIdOf({ marketNumber, side, priceTicks, ...place }),
      wallet,
      market,
      side,
      type,
      timeInForce,
      postOnly,
      leverage: leverage === null ? null : Number(leverage),
      priceTicks,
      sizeSteps: order.size / step,
      clientOrderId,
      createdAtMs: this.#timeMs,
      sequence: this.#sequence,
      units: marketUnits(MARKETS[marketNumber]!),
    };
  }

  #tradeOf(taker: OrderTerms, trade: ReferenceTrade, { tick, step }: ReferenceMarket): Trade {
    const maker = this.#orders[trade.maker]!;
    this.#tradeId += 1 + this.#dice.below(3);
    return {
      tradeId: this.#tradeId,
      market: taker.market,
      takerSide: taker.side,
      priceTicks: trade.price / tick,
      sizeSteps: trade.size / step,
      feeAtoms: trade.feeAtoms,
      takerOrderId: taker.id,
      makerOrderId: maker.id,
      takerWallet: taker.wallet,
      makerWallet: maker.wallet,
      timeMs: this.#timeMs,
      sequence: this.#sequence,
      units: maker.units,
    };
  }

  #closedOf({ number, ...closed }: ClosedRecord): ClosedOrder {
    return { id: this.#orders[number]!.id, ...closed };
  }
}

/** Carries out an operation, whatever the answer. */
function perform(exchange: ReferenceExchange, operation: Operation): void {
  switch (operation.do) {
    case 'place':
      takenBy(exchange, operation);
      return;
    case 'cancel':
      exchange.closeOne(operation.wallet, operation.order ?? -1, 'user_cancelled');
      return;
    case 'void':
      exchange.closeOne(null, operation.order ?? -1, 'operator_voided');
      return;
    case 'cancel_all':
      exchange.closeAll(operation.wallet, operation.market, 'user_cancelled');
      return;
    case 'clear':
      exchange.closeAll(null, operation.market, 'market_cleared');
      return;
    case 'move':
      exchange.move(operation.movement, operation.takenBy);
      return;
    case 'take':
      exchange.take(operation.withdrawal, operation.take);
      return;
    case 'give_up':
      exchange.giveUp(operation.withdrawal, operation.by);
      return;
    case 'hold':
      exchange.hold(operation.wallet);
      return;
    case 'release':
      exchange.release(operation.wallet);
      return;
    case 'pause':
    case 'resume':
      exchange.pause(operation.do === 'pause');
      return;
    case 'require_terms':
      exchange.requireTerms(operation.version);
      return;
    case 'accept_terms':
      exchange.acceptTerms(operation.wallet, operation.version);
      return;
    case 'change':
      exchange.change(operation.market, operation.change);
      return;
  }
}

function movementOf({ atoms: amountAtoms, owed: owedAtoms, ...movement }: MovementRecord): AccountMoved {
  return { ...movement, amountAtoms, ...(owedAtoms !== undefined && { owedAtoms }) };
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

function marketUnits(market: Market): MarketUnits {
  const { base, quote, baseAtomsPerStep, quoteAtomsPerLot } = market;
  return { base: base.symbol, quote: quote.symbol, baseAtomsPerStep, quoteAtomsPerLot };
}

/** Truncates to 128 code points, the contract's maximum, without splitting a code point. */
function idOf(made: number, text: string): string {
  return [...`${made} ${text}`].slice(0, 128).join('');
}

function bigintsAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
