/**
 * Keeps rolling 24-hour figures of every market. Reads each settled trade once and adds unsettled executions on top.
 */

import type { Cursor } from '../domain/event.ts';
import { DAY_SECONDS, type DayFigures, RollingDay, type SecondOfTrades } from '../domain/rolling-day.ts';
import { oneAtATime } from '../domain/shared-read.ts';
import type { Ledger, SettledPlace } from '../ledger/index.ts';
import { sumsBeyond, type UnsettledReader } from './unsettled-trades.ts';

export interface Figures {
  /** End of the window, exclusive: a whole second of the engine's clock. The window starts 24 hours earlier. */
  readonly asOfMs: number;
  /** Figures of every market that has ever traded. */
  readonly bySymbol: ReadonlyMap<string, DayFigures>;
}

const SECOND_MS = 1000;
const DAY_MS = DAY_SECONDS * SECOND_MS;
/** Maximum trades per statement: 100 ms if each trade is in a second of its own. */
const TRADES_A_READ = 20_000;

export class RollingFigures {
  readonly #unsettled: Pick<UnsettledReader, 'read'>;
  readonly #ledger: Pick<Ledger, 'trades'>;
  /** Figures of the settled trades up to `#read`, by market. */
  readonly #days = new Map<string, RollingDay>();
  /** The last trade that was read, and the place of the ledger then; undefined before the first read. */
  #read: { readonly tradeId: number; readonly place: SettledPlace | null } | undefined;
  #current: Figures = { asOfMs: 0, bySymbol: new Map() };
  /** Time of the engine's next whole second, by this process' clock. */
  #freshUntil = 0;

  constructor(unsettled: Pick<UnsettledReader, 'read'>, ledger: Pick<Ledger, 'trades'>) {
    this.#unsettled = unsettled;
    this.#ledger = ledger;
  }

  async read(): Promise<Figures> {
    return performance.now() < this.#freshUntil ? this.#current : this.#refresh();
  }

  readonly #refresh = oneAtATime(async (): Promise<Figures> => {
    const begun = performance.now();
    if (begun < this.#freshUntil) return this.#current;
    const unsettled = await this.#unsettled.read();
    const asOfMs = unsettled.timeMs - (unsettled.timeMs % SECOND_MS);
    const cursor = await this.#catchUp(asOfMs);
    for (const symbol of unsettled.backlogs.keys()) this.#dayOf(symbol);
    const furtherOf = (symbol: string): readonly SecondOfTrades[] =>
      sumsBeyond(cursor, unsettled, symbol).filter(({ second }) => second < asOfMs / SECOND_MS);
    this.#current = { asOfMs, bySymbol: this.#figures((asOfMs - DAY_MS) / SECOND_MS, furtherOf) };
    this.#freshUntil = begun + asOfMs + SECOND_MS - unsettled.timeMs;
    return this.#current;
  });

  /** Reads newly settled trades, up to a time. After a failure, it continues where it stopped. */
  async #catchUp(asOfMs: number): Promise<Cursor> {
    for (;;) {
      this.#read ??= { tradeId: await this.#begin(asOfMs - DAY_MS), place: null };
      const read = await this.#ledger.trades.secondsAfter(this.#read, asOfMs, TRADES_A_READ);
      if (!read.goesOn) {
        this.#read = undefined;
        continue;
      }
      for (const second of read.seconds) this.#dayOf(second.market).add(second);
      this.#read = { tradeId: read.lastTradeId, place: read.place };
      if (!read.isPart) return read.place;
    }
  }

  /**
   * Reads the last trade of each market before the first window.
   * @returns the highest id of these trades
   */
  async #begin(fromMs: number): Promise<number> {
    const trades = await this.#ledger.trades.lastBefore(fromMs);
    this.#days.clear();
    for (const { market, priceTicks } of trades) this.#days.set(market, new RollingDay(priceTicks));
    return Math.max(0, ...trades.map(({ tradeId }) => tradeId));
  }

  #dayOf(market: string): RollingDay {
    const day = this.#days.get(market) ?? new RollingDay(null);
    this.#days.set(market, day);
    return day;
  }

  #figures(
    fromSecond: number,
    furtherOf: (symbol: string) => readonly SecondOfTrades[],
  ): Map<string, DayFigures> {
    const bySymbol = new Map<string, DayFigures>();
    for (const [symbol, day] of this.#days) {
      day.dropBefore(fromSecond);
      const figures = day.figures(furtherOf(symbol), fromSecond);
      if (figures !== null) bySymbol.set(symbol, figures);
    }
    return bySymbol;
  }
}
