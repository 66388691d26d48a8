/** Builds and publishes the frames of the streams, once per beat over all replicas. */

import type { Logger } from 'pino';
import type { marketFrameSchema, snapshotFrameSchema } from '../contract/frames.ts';
import type { WrittenText } from '../contract/written.ts';
import { BEAT_MS } from '../domain/beat.ts';
import type { Cursor } from '../domain/event.ts';
import type { Market } from '../domain/market.ts';
import type { Engine } from '../engine/index.ts';
import {
  type BeatClaim,
  GENERAL,
  type MarketView,
  marketChannel,
  type Publisher,
  viewOf,
  writeMessage,
} from '../feed/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { MarketData } from '../market-data/index.ts';
import {
  bookPart,
  type FrameMoment,
  type MarketPart,
  marketFrame,
  snapshotFrame,
  tickerFrame,
  tradesPart,
} from './snapshot-frames.ts';

const LATEST_TRADES = 60;

interface SnapshotOptions {
  readonly engine: {
    readonly lifecycle: Pick<Engine['lifecycle'], 'isOpen' | 'confirm'>;
    readonly reads: Pick<Engine['reads'], 'quotes' | 'state' | 'time'>;
  };
  readonly ledger: { readonly settlement: Pick<Ledger['settlement'], 'cursor'> };
  readonly marketData: MarketData;
  readonly publisher: Publisher;
  readonly log: Pick<Logger, 'warn' | 'info'>;
}

export interface Snapshots {
  /**
   * Builds and publishes the current beat, unless another process has it. Rejects if the queue's Redis is unavailable.
   */
  beat(): Promise<{ taken: boolean; untilNextMs: number }>;
  /** Returns the milliseconds that the last beat of this process took; 0 before the first. */
  buildMs(): number;
}

type Sources = Pick<SnapshotOptions, 'engine' | 'ledger' | 'marketData'>;
type TickerText = MarketPart['ticker'];

/**
 * All markets at one time. Each market is read once per beat, even if several of its timeframes are watched.
 *
 * After each read, the engine must be the one that was opened, and no older than Postgres or an earlier frame. Its server
 * can take over older data without breaking a connection, and screens would then go back in time.
 */
class FrameSource {
  readonly #lifecycle: SnapshotOptions['engine']['lifecycle'];
  readonly #data: MarketData;
  /** The cursor of Postgres before anything was read. */
  readonly #settled: Cursor;
  readonly #markets = new Map<string, Market>();
  readonly #tickers = new Map<string, TickerText>();
  readonly #parts = new Map<string, Promise<MarketPart>>();
  /** Frames of the general stream. */
  readonly general: readonly [WrittenText<typeof snapshotFrameSchema>, ...TickerText[]];

  private constructor(
    { engine, marketData }: Sources,
    settled: Cursor,
    markets: readonly Market[],
    tickers: readonly TickerText[],
    moment: FrameMoment,
  ) {
    this.#lifecycle = engine.lifecycle;
    this.#data = marketData;
    this.#settled = settled;
    for (const [index, market] of markets.entries()) {
      this.#markets.set(market.symbol, market);
      this.#tickers.set(market.symbol, tickers[index]!);
    }
    this.general = [snapshotFrame(markets, moment), ...tickers];
  }

  static async take(sources: Sources): Promise<FrameSource> {
    const { engine, ledger, marketData } = sources;
    const [settled, { bySymbol }, { sequence }, timeMs] = await Promise.all([
      ledger.settlement.cursor(),
      marketData.figures(),
      engine.reads.state(),
      engine.reads.time(),
    ]);
    const moment = { timeMs, sequence };
    const { markets, quotes } = await engine.reads.quotes((all) => all);
    await engine.lifecycle.confirm(settled);
    const tickers = markets.map((market) =>
      tickerFrame(market, quotes.get(market.symbol)!, bySymbol.get(market.symbol), moment),
    );
    return new FrameSource(sources, settled, markets, tickers, moment);
  }

  /** Returns undefined if the market does not exist. */
  async frame(view: MarketView): Promise<WrittenText<typeof marketFrameSchema> | undefined> {
    const market = this.#markets.get(view.symbol);
    if (market === undefined) return undefined;
    const [part, candle] = await Promise.all([
      this.#part(market),
      this.#data.candle(view.symbol, view.timeframe),
    ]);
    return marketFrame(market, view, part, candle);
  }

  #part(market: Market): Promise<MarketPart> {
    const { symbol } = market;
    let part = this.#parts.get(symbol);
    if (part === undefined) {
      part = this.#readPart(market);
      this.#parts.set(symbol, part);
    }
    return part;
  }

  async #readPart(market: Market): Promise<MarketPart> {
    const { symbol } = market;
    const [book, trades] = await Promise.all([
      this.#data.book(symbol),
      this.#data.trades(symbol, { limit: LATEST_TRADES }),
    ]);
    await this.#lifecycle.confirm(this.#settled);
    return {
      ticker: this.#tickers.get(symbol)!,
      book: bookPart(book),
      trades: tradesPart(market, trades),
      moment: book,
    };
  }
}

/** A beat that this process has claimed. Each message is written once for all subscribers. */
class PublishedBeat {
  readonly #publisher: Publisher;
  readonly #number: number;
  readonly #source: Promise<FrameSource>;
  /** End of the beat by performance.now(). */
  readonly #endsAtMs: number;
  readonly #messages = new Map<string, Promise<string | undefined>>();

  constructor(publisher: Publisher, number: number, source: Promise<FrameSource>, endsAtMs: number) {
    this.#publisher = publisher;
    this.#number = number;
    this.#source = source;
    this.#endsAtMs = endsAtMs;
  }

  /** True if another process may claim the next beat. */
  get isOver(): boolean {
    return performance.now() >= this.#endsAtMs;
  }

  async publish(channel: string): Promise<void> {
    let message = this.#messages.get(channel);
    if (message === undefined) {
      message = this.#write(channel);
      this.#messages.set(channel, message);
    }
    const text = await message;
    if (text !== undefined) await this.#publisher.publish(channel, text);
  }

  async #write(channel: string): Promise<string | undefined> {
    const source = await this.#source;
    if (channel === GENERAL)
      return writeMessage(
        this.#number,
        source.general.map(({ text }) => text),
      );
    const view = viewOf(channel);
    const frame = view && (await source.frame(view));
    return frame && writeMessage(this.#number, [frame.text]);
  }
}

export function createSnapshots(options: SnapshotOptions): Snapshots {
  const { engine, publisher, log } = options;
  let current: PublishedBeat | undefined;
  let building = false;
  let failing = false;
  let lastBuildMs = 0;
  let beatEndsAtMs = 0;

  /** Publishes one market. If its frame cannot be built, the other markets are still published. */
  const publish = async (beat: PublishedBeat, channel: string): Promise<void> => {
    try {
      await beat.publish(channel);
    } catch (error) {
      log.warn({ err: error, channel }, 'frames could not be published');
    }
  };

  const build = async (claim: BeatClaim, beat: PublishedBeat): Promise<void> => {
    const begunAtMs = performance.now();
    try {
      await beat.publish(GENERAL);
      const views = await publisher.watched();
      await Promise.all(views.map((view) => publish(beat, marketChannel(view))));
      await publisher.finish(claim);
      if (failing) log.info('frames are published again');
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ err: error }, 'no frames until their sources are back');
      failing = true;
    }
    lastBuildMs = performance.now() - begunAtMs;
  };

  const untilNextBeatMs = (): number => {
    const leftMs = (beatEndsAtMs - performance.now()) % BEAT_MS;
    return leftMs > 0 ? leftMs : leftMs + BEAT_MS;
  };

  publisher.onWanted((channel) => {
    if (current !== undefined && !current.isOver) void publish(current, channel);
  });

  return {
    async beat() {
      // A process that cannot build leaves the beat to another process.
      if (building || !engine.lifecycle.isOpen()) return { taken: false, untilNextMs: untilNextBeatMs() };
      building = true;
      let taken = false;
      try {
        const claim = await publisher.claim();
        beatEndsAtMs = performance.now() + BEAT_MS - (claim.timeMs % BEAT_MS);
        taken = claim.beat !== null;
        if (claim.beat !== null) {
          current = new PublishedBeat(publisher, claim.beat, FrameSource.take(options), beatEndsAtMs);
          await build(claim, current);
        }
      } finally {
        building = false;
      }
      return { taken, untilNextMs: untilNextBeatMs() };
    },
    buildMs: () => lastBuildMs,
  };
}
