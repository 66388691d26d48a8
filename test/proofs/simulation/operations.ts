/** Draws the operations of clients and operators at random. */

import { TIMEFRAMES, type Timeframe } from '../../../src/domain/candle.ts';
import type { Side, TimeInForce } from '../../../src/domain/order.ts';
import type { Random } from '../../support/seed.ts';
import type { Flavour } from './scheduler.ts';
import { PATIENT_WALLET, WALLETS } from './wallets.ts';
import { ASSETS, FUNDS, MARKETS } from './world.ts';

export interface PlaceOperation {
  readonly do: 'place';
  readonly wallet: string;
  readonly market: string;
  readonly side: Side;
  readonly price: number | null;
  readonly size: number;
  readonly timeInForce: TimeInForce;
  readonly postOnly: boolean;
  readonly clientOrderId: string | null;
  /** The order of the wallet that it replaces, counted like those of a cancel; null: none. */
  readonly replaces: number | null;
  /** Steps that it says that order has filled; null: it does not say. */
  readonly filledSize: number | null;
}

export interface MoveOperation {
  readonly do: 'credited' | 'debited' | 'requested' | 'announced';
  readonly wallet: string;
  readonly asset: string;
  readonly amount: number;
  readonly reference: string;
}

/** Ends a withdrawal, or an announced deposit, of which only the reference is known. */
export interface EndOperation {
  readonly do: 'confirmed' | 'returned' | 'arrived' | 'dropped';
  readonly reference: string;
  /** Name of who confirms it. */
  readonly by: string;
}

/** Takes a part of a deposit back, of which only the reference is known. */
interface ReverseOperation {
  readonly do: 'reversed';
  readonly reference: string;
  readonly of: string;
  readonly amount: number;
}

/** `order` counts the orders of the wallet, oldest first, modulo their number. */
export type Operation =
  | PlaceOperation
  | MoveOperation
  | EndOperation
  | ReverseOperation
  | { readonly do: 'take' | 'give up'; readonly reference: string; readonly by: string }
  | { readonly do: 'cancel'; readonly wallet: string; readonly order: number }
  | { readonly do: 'void'; readonly wallet: string; readonly order: number }
  | { readonly do: 'cancel_all'; readonly wallet: string; readonly market: string | null }
  | { readonly do: 'clear'; readonly market: string }
  | { readonly do: 'find'; readonly wallet: string; readonly clientOrderId: string }
  | { readonly do: 'list' | 'hold' | 'release'; readonly wallet: string }
  | { readonly do: 'book'; readonly market: string }
  | { readonly do: 'candles'; readonly market: string; readonly timeframe: Timeframe }
  | { readonly do: 'pause' | 'resume' | 'figures' }
  | { readonly do: 'fee'; readonly market: string; readonly feeBps: number }
  | { readonly do: 'switch'; readonly wallet: string; readonly timeoutMs: number }
  | { readonly do: 'filter' | 'rebuild' | 'reconcile' | 'adopt' | 'adopt anyway' };

const MIDDLE: Readonly<Record<string, number>> = { [MARKETS[0]]: 20, [MARKETS[1]]: 5 };
/** Steps of withdrawals, announced deposits and deposits that are gone, the more likely ones more often. */
const CUSTODY = [
  'take',
  'take',
  'take',
  'take',
  'give up',
  'announced',
  'announced',
  'arrived',
  'arrived',
  'dropped',
  'reversed',
  'reversed',
  'reversed',
] as const;
const PAYERS = ['one worker', 'another worker'] as const;

export class Operations {
  readonly #dice: Random;
  readonly #flavour: Flavour;
  #count = 0;
  #requests = 0;
  #announced = 0;

  constructor(dice: Random, flavour: Flavour) {
    this.#dice = dice;
    this.#flavour = flavour;
  }

  next(): Operation {
    const dice = this.#dice;
    const wallet = dice.pick(WALLETS);
    const market = dice.pick(MARKETS);
    const draw = dice.below(100);
    if (draw < 46) return this.#place(wallet, market);
    // Its switch is all that cancels its orders, which shows that the switch fires once.
    if (draw < 60 && this.#flavour.switches && wallet === PATIENT_WALLET) return this.#switch(wallet);
    if (draw < 56) return { do: 'cancel', wallet, order: dice.below(20) };
    if (draw < 60) return { do: 'cancel_all', wallet, market: dice.pick([market, null]) };
    if (draw < 72) return this.#move(wallet);
    if (draw < 76) return { do: 'find', wallet, clientOrderId: this.#clientId() };
    if (draw < 84) return { do: 'list', wallet };
    if (draw < 87) return { do: 'book', market };
    if (draw < 89) return { do: 'candles', market, timeframe: dice.pick(TIMEFRAMES) };
    if (draw < 91) return { do: 'figures' };
    return this.#rare(wallet, market);
  }

  #rare(wallet: string, market: string): Operation {
    const dice = this.#dice;
    const { losses, switches } = this.#flavour;
    if (switches && dice.chance(0.5)) return this.#switch(wallet);
    const fee: Operation = { do: 'fee', market, feeBps: dice.pick([0, 30, 250]) };
    // A lost change of the rules leaves a version that the next change has again.
    if (losses && dice.chance(0.3)) return fee;
    return dice.pick<Operation>([
      { do: 'hold', wallet },
      { do: 'release', wallet },
      { do: 'release', wallet },
      { do: 'pause' },
      { do: 'resume' },
      { do: 'resume' },
      fee,
      { do: 'void', wallet, order: dice.below(20) },
      { do: 'clear', market },
    ]);
  }

  #switch = (wallet: string): Operation => ({
    do: 'switch',
    wallet,
    timeoutMs: this.#dice.pick([0, 1_000, 5_000, 9_000]),
  });

  #clientId = (): string => `id ${this.#dice.below(this.#flavour.ids)}`;

  #place(wallet: string, market: string): Operation {
    const dice = this.#dice;
    const side = dice.pick(['buy', 'sell'] as const);
    const isMarket = dice.chance(0.1);
    const timeInForce = isMarket ? 'IOC' : dice.pick(['GTC', 'GTC', 'GTC', 'GTC', 'IOC', 'FOK'] as const);
    const around = MIDDLE[market]!;
    return {
      do: 'place',
      wallet,
      market,
      side,
      timeInForce,
      price: isMarket ? null : Math.max(1, around + dice.below(7) - 3),
      size: 1 + dice.below(dice.pick([3, 12])),
      postOnly: timeInForce === 'GTC' && dice.chance(0.1),
      clientOrderId: dice.chance(0.8) ? this.#clientId() : null,
      replaces: dice.chance(0.15) ? dice.below(20) : null,
      filledSize: dice.chance(0.5) ? dice.pick([0, 0, 0, 1, 2]) : null,
    };
  }

  #ofWithdrawal = () => ({
    reference: `withdrawal ${Math.max(1, this.#requests - this.#dice.below(2))}`,
    by: this.#dice.pick(PAYERS),
  });

  /** Takes of withdrawals, announced deposits, and deposits that are gone. */
  #custody(wallet: string): Operation {
    const dice = this.#dice;
    const kind = dice.pick(CUSTODY);
    if (kind === 'take' || kind === 'give up')
      return this.#requests === 0 ? this.#request(wallet) : { do: kind, ...this.#ofWithdrawal() };
    this.#count += 1;
    if (kind === 'reversed') {
      // Each wallet has deposits from the beginning. Few are reversed, so that some are used up.
      const of = dice.chance(0.2)
        ? `deposit ${Math.max(1, this.#announced - dice.below(4))}`
        : `first ${dice.pick(WALLETS.slice(0, 2))} ${dice.pick(ASSETS)}`;
      const amount = dice.chance(0.5) ? Number(FUNDS) : 1 + dice.below(400);
      return { do: kind, reference: `reversal ${this.#count}`, of, amount };
    }
    if (kind !== 'announced' && this.#announced > 0) {
      const reference = `deposit ${Math.max(1, this.#announced - dice.below(2))}`;
      return { do: kind, reference, by: dice.pick(PAYERS) };
    }
    this.#announced += 1;
    const reference = `deposit ${this.#announced}`;
    const amount = 1 + dice.below(400);
    return { do: 'announced', wallet, asset: dice.pick(ASSETS), amount, reference };
  }

  #request(wallet: string): Operation {
    this.#requests += 1;
    const reference = `withdrawal ${this.#requests}`;
    const amount = 1 + this.#dice.below(100);
    return { do: 'requested', wallet, asset: this.#dice.pick(ASSETS), amount, reference };
  }

  #move(wallet: string): Operation {
    const dice = this.#dice;
    if (dice.chance(0.6)) return this.#custody(wallet);
    const kind = dice.pick(['credited', 'debited', 'requested', 'confirmed', 'returned'] as const);
    if (kind === 'confirmed' || kind === 'returned') return { do: kind, ...this.#ofWithdrawal() };
    this.#count += 1;
    if (kind === 'requested') return this.#request(wallet);
    const reference = dice.chance(0.8) ? `movement ${this.#count}` : `again ${dice.below(3)}`;
    return {
      do: kind,
      wallet,
      asset: dice.pick(ASSETS),
      amount: 1 + dice.below(400),
      reference,
    };
  }
}
