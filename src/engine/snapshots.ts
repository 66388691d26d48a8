/** Reads the state of the engine, the best prices of its markets and their best levels. */

import type { Market } from '../domain/market.ts';
import type { Side } from '../domain/order.ts';
import { priceOfKeyBytes } from './codec.ts';
import type { EngineCore, Reply } from './core.ts';
import { bookKey, KEYS, levelsKey } from './keys.ts';
import type { EngineMarkets } from './markets.ts';
import { readState } from './state.ts';

/** Prices that make a market's mark, in ticks. */
export interface Quotes {
  readonly bestBidTicks: bigint | null;
  readonly bestAskTicks: bigint | null;
  readonly lastTicks: bigint | null;
}

/** Prices of markets at one moment, with the rules then in force. */
export interface MarketQuotes {
  /** Every market, in the order of creation. */
  readonly markets: readonly Market[];
  /** Quotes of the markets that were asked for, by symbol. */
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

export interface EngineState {
  readonly epoch: number;
  readonly sequence: number;
  /** Unix milliseconds of the last event. */
  readonly timeMs: number;
  readonly paused: boolean;
  readonly termsVersion: string | null;
}

const NO_QUOTES: Reply = [Buffer.from('quotes')];
const NO_MARKET: Reply = [Buffer.from('no market')];

export class EngineSnapshots {
  readonly #core: EngineCore;
  readonly #markets: EngineMarkets;

  constructor(core: EngineCore, markets: EngineMarkets) {
    this.#core = core;
    this.#markets = markets;
  }

  async state(): Promise<EngineState> {
    const [state, paused, terms] = await this.#core.call(() =>
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
   * Best prices and last execution of markets at one moment.
   * @param select the markets to look at, out of all
   */
  async quotes(select: (markets: readonly Market[]) => readonly Market[]): Promise<MarketQuotes> {
    let markets: readonly Market[] = [];
    let selected: readonly Market[] = [];
    const reply = await this.#core.replyWhileCurrent(async () => {
      markets = await this.#markets.all();
      selected = select(markets);
      if (selected.length === 0) return NO_QUOTES;
      const books = selected.flatMap(({ symbol }) => [bookKey(symbol, 'bids'), bookKey(symbol, 'asks')]);
      const rules = selected.flatMap(({ number, symbol, version }) => [number, symbol, version]);
      return (await this.#core.run('read_quotes', [KEYS.engine, ...books], rules)) as Reply;
    });
    const quotesOf = (index: number): Quotes => {
      const [bid, ask, last] = reply.slice(index * 3 + 1, index * 3 + 4) as (Buffer | null)[];
      return {
        bestBidTicks: bid == null ? null : priceOfKeyBytes(bid, 'buy'),
        bestAskTicks: ask == null ? null : priceOfKeyBytes(ask, 'sell'),
        lastTicks: last == null ? null : BigInt(last.toString()),
      };
    };
    return { markets, quotes: new Map(selected.map(({ symbol }, index) => [symbol, quotesOf(index)])) };
  }

  /** The best `levels` levels of each side at one moment; undefined when there is no such market. */
  async book(symbol: string, levels: number): Promise<BookLevels | undefined> {
    const sides = ['bids', 'asks'] as const;
    const keys = [
      KEYS.engine,
      ...sides.map((side) => bookKey(symbol, side)),
      ...sides.map((side) => levelsKey(symbol, side)),
    ];
    let market: Market | undefined;
    const reply = await this.#core.replyWhileCurrent(
      async () => {
        market = await this.#markets.bySymbol(symbol);
        if (market === undefined) return NO_MARKET;
        const args = [levels, market.number, symbol, market.version];
        return (await this.#core.run('read_book', keys, args)) as Reply;
      },
      async () => void (await this.#markets.refresh()),
    );
    if (market === undefined) return undefined;
    const [, sequence, timeMs, bids, asks] = reply;
    return {
      market,
      sequence: Number(sequence),
      timeMs: Number(timeMs),
      bids: readLevels(bids as Buffer[], 'buy'),
      asks: readLevels(asks as Buffer[], 'sell'),
    };
  }

  /** Unix milliseconds by the engine's clock. */
  async time(): Promise<number> {
    const [seconds, micros] = await this.#core.call(() => this.#core.redis.time());
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }
}

function readLevels(list: readonly Buffer[], side: Side): Level[] {
  const levels: Level[] = [];
  for (let at = 0; at < list.length; at += 2) {
    const sizeSteps = BigInt(list[at + 1]!.toString());
    levels.push({ priceTicks: priceOfKeyBytes(list[at]!, side), sizeSteps });
  }
  return levels;
}
