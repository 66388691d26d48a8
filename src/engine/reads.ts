/** Reads the state of the engine, the best prices of its markets and their best levels. */

import type { Cursor } from '../domain/event.ts';
import type { Market } from '../domain/market.ts';
import type { Side } from '../domain/order.ts';
import { priceOfKeyBytes } from './codec.ts';
import type { EngineCore } from './core.ts';
import { bookKey, KEYS, marketKeys } from './keys.ts';
import type { EngineMarkets } from './markets.ts';
import { Stale } from './outcomes.ts';
import { READ_BOOK, READ_QUOTES } from './scripts.ts';
import { readState } from './state.ts';

/** Prices from which a market's mark is computed, in ticks. */
export interface Quotes {
  readonly bestBidTicks: bigint | null;
  readonly bestAskTicks: bigint | null;
  readonly lastTicks: bigint | null;
}

/** Prices of markets at one moment, with the rules then in force. */
export interface MarketQuotes {
  /** Every market, in the order of creation. */
  readonly markets: readonly Market[];
  /** Quotes of the requested markets, by symbol. */
  readonly quotes: ReadonlyMap<string, Quotes>;
}

/** Total size that rests at one price. */
export interface Level {
  readonly priceTicks: bigint;
  readonly sizeSteps: bigint;
}

/** The best levels of a market, best first. */
export interface BookLevels {
  /** The market, with the rules in force when the book was read. */
  readonly market: Market;
  /** Sequence of the last event that is included. */
  readonly sequence: number;
  readonly timeMs: number;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

/** Place of the open engine in its history. */
export interface EnginePosition extends Cursor {
  readonly server: string;
  readonly settled: number;
}

export interface EngineState {
  readonly epoch: number;
  readonly sequence: number;
  /** Unix milliseconds of the last event. */
  readonly timeMs: number;
  readonly paused: boolean;
  readonly termsVersion: string | null;
}

export class EngineReads {
  readonly #core: EngineCore;
  readonly #markets: EngineMarkets;

  constructor(core: EngineCore, markets: EngineMarkets) {
    this.#core = core;
    this.#markets = markets;
  }

  async state(): Promise<EngineState> {
    const [state, paused, terms] = await this.#core.scripts.call(() =>
      this.#core.redis.hmgetBuffer(KEYS.engine, 'state', 'paused', 'terms'),
    );
    const { epoch, sequence, time } = readState(state);
    return {
      epoch,
      sequence,
      timeMs: time,
      paused: paused != null,
      termsVersion: terms?.toString() ?? null,
    };
  }

  /**
   * Returns the last event of the open engine, the run id of the server on which its epoch began, and the sequence up to
   * which it knows that events are settled.
   * @throws Refusal SERVICE_UNAVAILABLE while the engine is not open
   */
  position(): Promise<EnginePosition> {
    const { lifecycle, redis, scripts } = this.#core;
    const read = async () => {
      const [state, settled, server] = await scripts.call(() =>
        redis.hmgetBuffer(KEYS.engine, 'state', 'settled', 'server'),
      );
      const { epoch, sequence } = readState(state);
      return { epoch, sequence, server: String(server), settled: Number(settled ?? 0) };
    };
    return lifecycle.ofOpenEngine(read, () => true);
  }

  /**
   * Returns best prices and last executions of markets at one moment.
   * @param select picks the markets out of all
   */
  async quotes(select: (markets: readonly Market[]) => readonly Market[]): Promise<MarketQuotes> {
    let markets: readonly Market[] = [];
    let selected: readonly Market[] = [];
    const found = await this.#core.whileCurrent(async () => {
      markets = await this.#markets.all();
      selected = select(markets);
      if (selected.length === 0) return [];
      return this.#core.scripts.run(READ_QUOTES, {
        books: selected.flatMap(({ symbol }) => [bookKey(symbol, 'bids'), bookKey(symbol, 'asks')]),
        rules: selected.flatMap(({ number, symbol, version }) => [number, symbol, version]),
      });
    });
    const quotesOf = (index: number): Quotes => {
      const { bid, ask, last } = found[index]!;
      return {
        bestBidTicks: bid && priceOfKeyBytes(bid, 'buy'),
        bestAskTicks: ask && priceOfKeyBytes(ask, 'sell'),
        lastTicks: last && BigInt(last.toString()),
      };
    };
    return { markets, quotes: new Map(selected.map(({ symbol }, index) => [symbol, quotesOf(index)])) };
  }

  /** Returns the best `levels` levels of each side at one moment; undefined when there is no such market. */
  async book(symbol: string, levels: number): Promise<BookLevels | undefined> {
    const found = await this.#core.whileCurrent(
      async () => {
        const market = await this.#markets.bySymbol(symbol);
        if (market === undefined) return undefined;
        const reply = await this.#core.scripts.run(READ_BOOK, {
          ...marketKeys(market),
          max: levels,
          marketNumber: market.number,
          symbol,
          marketVersion: market.version,
        });
        return reply instanceof Stale ? reply : { market, ...reply };
      },
      async () => void (await this.#markets.refresh()),
    );
    return found && { ...found, bids: readLevels(found.bids, 'buy'), asks: readLevels(found.asks, 'sell') };
  }

  /** Returns Unix milliseconds by the engine's clock. */
  async time(): Promise<number> {
    const [seconds, micros] = await this.#core.scripts.call(() => this.#core.redis.time());
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }
}

function readLevels(list: readonly (readonly [price: Buffer, steps: Buffer])[], side: Side): Level[] {
  return list.map(([price, steps]) => ({
    priceTicks: priceOfKeyBytes(price, side),
    sizeSteps: BigInt(steps.toString()),
  }));
}
