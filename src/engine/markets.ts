/** Markets as the engine holds them. Scripts refuse a command made for another version of the rules. */

import type { Act } from '../domain/act.ts';
import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import type { Asset, Market } from '../domain/market.ts';
import { readMarketRecord, writeMarketRecord } from '../domain/market-record.ts';
import {
  assetsOfSymbol,
  changeMarket,
  composeMarket,
  DEFAULT_SCALE,
  type MarketChange,
  type MarketSpec,
} from '../domain/market-rules.ts';
import type { ReplyOf } from '../redis/script-call.ts';
import type { EngineAssets } from './assets.ts';
import type { EngineCore } from './core.ts';
import { actText } from './event-codec.ts';
import { bookKey, KEYS } from './keys.ts';
import { SET_MARKET } from './scripts.ts';

/** Every market at one moment. The listing is replaced as a whole, so nothing of a lost engine stays in it. */
interface Listing {
  /** Tenure of the engine that it was read from. */
  readonly tenure: number;
  /** Epoch at the read. In events of later epochs, a market number may mean another market. */
  readonly epoch: number;
  readonly byRecord: ReadonlyMap<string, Market>;
  readonly bySymbol: ReadonlyMap<string, Market>;
  readonly byNumber: ReadonlyMap<number, Market>;
  /** In the order of creation. */
  readonly all: readonly Market[];
}

const NOTHING_LISTED: Listing = {
  tenure: -1,
  epoch: -1,
  byRecord: new Map(),
  bySymbol: new Map(),
  byNumber: new Map(),
  all: [],
};

export class EngineMarkets {
  readonly #core: EngineCore;
  readonly #assets: EngineAssets;
  #listing = NOTHING_LISTED;

  constructor(core: EngineCore, assets: EngineAssets) {
    this.#core = core;
    this.#assets = assets;
  }

  /** Returns every current market, in the order of creation. The list stays the same object until something changes. */
  async all(): Promise<readonly Market[]> {
    return (await this.refresh()).all;
  }

  /** Returns a market of the last read; undefined if that read does not have it. */
  knownBySymbol(symbol: string): Market | undefined {
    return this.#known().bySymbol.get(symbol);
  }

  /** Like `knownBySymbol`. */
  knownByNumber(number: number): Market | undefined {
    return this.#known().byNumber.get(number);
  }

  /** Returns the market from the last read. Scripts check a command that uses it against the rules in force. */
  async bySymbol(symbol: string): Promise<Market | undefined> {
    const known = this.knownBySymbol(symbol);
    if (known !== undefined) return known;
    // An unknown symbol must not cost a read of all markets.
    const exists = await this.#core.lifecycle.notOfEmptied(
      () => this.exists(symbol),
      (found) => !found,
    );
    return exists ? (await this.refresh()).bySymbol.get(symbol) : undefined;
  }

  /** Asks the engine and bypasses the cache; works before the engine is open. */
  async exists(symbol: string): Promise<boolean> {
    return (await this.#core.scripts.call(() => this.#core.redis.hget(KEYS.markets, symbol))) !== null;
  }

  /** Returns a market by its number, from the last read. Scripts check it against the record in force. */
  async byNumber(number: number): Promise<Market | undefined> {
    return this.knownByNumber(number) ?? (await this.refresh()).byNumber.get(number);
  }

  /**
   * Returns a lookup of markets by number, for reading events. An engine never reuses a number. A rebuilt engine may
   * give a number that the lost engine gave, but its events carry a later epoch.
   * @param epoch latest epoch of the events, which have been read
   */
  async byNumberAt(epoch: number): Promise<(number: number) => Market | undefined> {
    let listing = this.#known();
    if (listing.epoch < epoch) {
      listing = await this.refresh();
      if (listing.epoch < epoch) {
        listing = { ...listing, epoch };
        this.#listing = listing;
      }
    }
    return (number) => listing.byNumber.get(number);
  }

  /**
   * Reads all markets again.
   * @throws Refusal SERVICE_UNAVAILABLE on an engine that was emptied
   */
  async refresh(): Promise<Listing> {
    const { tenure } = this.#core.lifecycle;
    const epoch = this.#core.lifecycle.isOpen() ? this.#core.lifecycle.epoch : 0;
    const records = await this.#core.lifecycle.notOfEmptied(
      () => this.#core.scripts.call(() => this.#core.redis.hvals(KEYS.markets)),
      (found) => found.length === 0,
    );
    if (tenure !== this.#core.lifecycle.tenure) return this.refresh();
    const known = this.#listing;
    const isSame =
      records.length === known.all.length && records.every((record) => known.byRecord.has(record));
    const listing = isSame ? known : listingOf(records, known.byRecord);
    this.#listing = {
      ...listing,
      tenure,
      epoch: known.tenure === tenure ? Math.max(epoch, known.epoch) : epoch,
    };
    return this.#listing;
  }

  #known(): Listing {
    return this.#listing.tenure === this.#core.lifecycle.tenure ? this.#listing : NOTHING_LISTED;
  }

  /** @throws OperatorRefusal INVALID_MARKET | MARKET_EXISTS */
  async create(spec: MarketSpec, act?: Act): Promise<Market> {
    const { base, quote } = assetsOfSymbol(spec.symbol);
    return this.#publish(async () => {
      const [markets, assets] = await Promise.all([this.all(), this.#assets.all()]);
      if (markets.some((known) => known.symbol === spec.symbol)) {
        throw new OperatorRefusal(
          'MARKET_EXISTS',
          `${spec.symbol} exists already: change it with market set`,
        );
      }
      const assetOf = (symbol: string): Asset =>
        assets.find((known) => known.symbol === symbol) ?? { symbol, scale: DEFAULT_SCALE };
      return composeMarket(spec, markets.length, assetOf(base), assetOf(quote));
    }, act);
  }

  /** @throws OperatorRefusal INVALID_MARKET | BOOK_NOT_EMPTY; Refusal MARKET_NOT_FOUND */
  change(symbol: string, change: MarketChange, act?: Act): Promise<Market> {
    return this.#publish(async () => {
      const known = (await this.refresh()).bySymbol.get(symbol);
      if (known === undefined) throw new Refusal('MARKET_NOT_FOUND');
      return changeMarket(known, change);
    }, act);
  }

  /** @param compose makes the record; called again when another command has changed what the record is made of */
  async #publish(compose: () => Promise<Market>, act: Act | undefined): Promise<Market> {
    let market: Market | undefined;
    const { version } = await this.#core.whileCurrent(async () => {
      market = await compose();
      return this.#write(market, act);
    });
    await this.refresh();
    return { ...market!, version };
  }

  /** Replaces the market's version if it is still in force; the script assigns the next one. */
  #write(market: Market, act: Act | undefined): Promise<ReplyOf<typeof SET_MARKET>> {
    const { symbol, number, version, base, quote } = market;
    return this.#core.scripts.run(SET_MARKET, {
      bids: bookKey(symbol, 'bids'),
      asks: bookKey(symbol, 'asks'),
      epoch: this.#core.lifecycle.epoch,
      symbol,
      number,
      version,
      record: writeMarketRecord(market),
      base: base.symbol,
      baseScale: base.scale,
      quote: quote.symbol,
      quoteScale: quote.scale,
      mustBeEmpty: market.status === 'delisted' ? 1 : 0,
      act: actText(act),
    });
  }
}

/** Reuses the objects of unchanged records, because their grids are cached with them. */
function listingOf(
  records: readonly string[],
  known: ReadonlyMap<string, Market>,
): Omit<Listing, 'tenure' | 'epoch'> {
  const byRecord = new Map(records.map((record) => [record, known.get(record) ?? readMarketRecord(record)]));
  const all = [...byRecord.values()].sort((a, b) => a.number - b.number);
  return {
    byRecord,
    all,
    bySymbol: new Map(all.map((market) => [market.symbol, market])),
    byNumber: new Map(all.map((market) => [market.number, market])),
  };
}
