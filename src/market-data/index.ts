/** Public market data: what was executed and what is offered, settled or not, each execution exactly once. */

import type { Candle, Timeframe } from '../domain/candle.ts';
import type { Side, Trade } from '../domain/order.ts';

/** One price of a book and all that rests at it. */
export interface Level {
  readonly priceTicks: bigint;
  readonly sizeSteps: bigint;
}

/** Best first, at most 250 levels a side. */
export interface Book {
  /** The last event that it contains. */
  readonly sequence: number;
  /** Unix milliseconds by the engine's clock. */
  readonly timeMs: number;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

/** A market's last 24 hours. Without executions the sums are 0 and the prices of the window null. */
export interface DayFigures {
  /** Of the last execution ever. */
  readonly lastPriceTicks: bigint;
  /** Of the first execution of the window. */
  readonly firstPriceTicks: bigint | null;
  readonly highTicks: bigint | null;
  readonly lowTicks: bigint | null;
  /** Executed size. */
  readonly baseSteps: bigint;
  /** Executed price x size. */
  readonly quoteAtoms: bigint;
  readonly trades: number;
}

export interface Figures {
  /** End of the window, not in it: a whole second of the engine's clock. It begins 24 hours earlier. */
  readonly asOfMs: number;
  /** Every market that ever traded. */
  readonly bySymbol: ReadonlyMap<string, DayFigures>;
}

export interface TradeFilter {
  /** The taker's. */
  readonly side?: Side;
  readonly limit: number;
  /** Whole Unix seconds, inclusive. */
  readonly fromSeconds?: number;
  readonly toSeconds?: number;
}

/**
 * Symbols are those of markets that exist. Every method may throw `Refusal` SERVICE_UNAVAILABLE, all but `book`
 * also when only Postgres is away. What they answer is shared and must not be changed.
 */
export interface MarketData {
  /** At most one second old; equal to a full recomputation over the executions of its window. */
  figures(): Promise<Figures>;
  /** As of after the call; under a flood of calls, of the last 100 ms. */
  book(symbol: string): Promise<Book>;
  /** Newest first; an execution is there once its order was answered. */
  trades(symbol: string, filter: TradeFilter): Promise<Trade[]>;
  /** The bucket that the engine's clock is in, flat when nothing was executed in it; null: never traded. */
  candle(symbol: string, timeframe: Timeframe): Promise<Candle | null>;
}
