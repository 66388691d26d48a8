/** Markets and assets as the engine holds them. Scripts refuse rules of another version than theirs. */

import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import {
  type Asset,
  assetsOfSymbol,
  changeMarket,
  checkAsset,
  composeMarket,
  DEFAULT_SCALE,
  type Market,
  type MarketChange,
  type MarketSpec,
} from '../domain/market.ts';
import { readMarketRecord, writeMarketRecord } from '../domain/market-record.ts';
import type { EngineCore, Reply } from './core.ts';
import { bookKey, KEYS } from './keys.ts';

export class UnknownMarket extends Error {
  override readonly name = 'UnknownMarket';
}

export class EngineMarkets {
  readonly #core: EngineCore;
  #bySymbol = new Map<string, Market>();
  #byNumber = new Map<number, Market>();
  /** As they were read last: to parse fifty of them takes 300 µs. */
  #records: readonly string[] = [];
  /** Undefined: to be listed anew. */
  #all: readonly Market[] | undefined;

  constructor(core: EngineCore) {
    this.#core = core;
  }

  /** Every market as it is now, in the order of creation; the same list for as long as nothing has changed. */
  async all(): Promise<readonly Market[]> {
    await this.refresh();
    this.#all ??= [...this.#byNumber.values()].sort((a, b) => a.number - b.number);
    return this.#all;
  }

  /** A market by its symbol: the last record read, which scripts hold against the one in force. */
  async bySymbol(symbol: string): Promise<Market | undefined> {
    if (!this.#bySymbol.has(symbol)) {
      const record = await this.#core.call(() => this.#core.redis.hget(KEYS.markets, symbol));
      if (record !== null) this.#keep(readMarketRecord(record));
    }
    return this.#bySymbol.get(symbol);
  }

  /** A market by its number; its unchanging parts (symbol, assets, grid) may be relied on. */
  async byNumber(number: number): Promise<Market | undefined> {
    if (!this.#byNumber.has(number)) await this.refresh();
    return this.#byNumber.get(number);
  }

  /** A market whose record has been read; throws UnknownMarket for another. */
  knownByNumber = (number: number): Market => {
    const market = this.#byNumber.get(number);
    if (market === undefined) throw new UnknownMarket(`no market has the number ${number}`);
    return market;
  };

  async refresh(): Promise<void> {
    const records = await this.#core.call(() => this.#core.redis.hvals(KEYS.markets));
    const same = records.length === this.#records.length;
    if (same && records.every((record, index) => record === this.#records[index])) return;
    for (const record of records) this.#keep(readMarketRecord(record));
    this.#records = records;
  }

  async assets(): Promise<Asset[]> {
    const fields = await this.#core.call(() => this.#core.redis.hgetall(KEYS.assets));
    return Object.entries(fields)
      .filter(([symbol]) => !symbol.endsWith(' used'))
      .map(([symbol, scale]) => ({ symbol, scale: Number(scale) }))
      .sort((a, b) => (a.symbol < b.symbol ? -1 : 1));
  }

  /** @throws OperatorRefusal INVALID_MARKET | MARKET_EXISTS */
  async create(spec: MarketSpec): Promise<Market> {
    const { base, quote } = assetsOfSymbol(spec.symbol);
    let market: Market | undefined;
    const compose = async (): Promise<Reply> => {
      const [markets, assets] = await Promise.all([this.all(), this.assets()]);
      if (markets.some((known) => known.symbol === spec.symbol)) {
        throw new OperatorRefusal(
          'MARKET_EXISTS',
          `${spec.symbol} exists already: change it with market set`,
        );
      }
      const assetOf = (symbol: string): Asset =>
        assets.find((known) => known.symbol === symbol) ?? { symbol, scale: DEFAULT_SCALE };
      market = composeMarket(spec, markets.length, assetOf(base), assetOf(quote));
      return this.#write(market, 0);
    };
    await this.#core.settle(compose, () => this.refresh());
    this.#keep(market!);
    return market!;
  }

  /** @throws OperatorRefusal INVALID_MARKET | BOOK_NOT_EMPTY; Refusal MARKET_NOT_FOUND */
  async change(symbol: string, change: MarketChange): Promise<Market> {
    let market: Market | undefined;
    const replace = async (): Promise<Reply> => {
      await this.refresh();
      const known = this.#bySymbol.get(symbol);
      if (known === undefined) throw new Refusal('MARKET_NOT_FOUND');
      market = changeMarket(known, change);
      return this.#write(market, known.version);
    };
    await this.#core.settle(replace, () => this.refresh());
    this.#keep(market!);
    return market!;
  }

  /** @throws OperatorRefusal INVALID_ASSET | ASSET_IN_USE */
  async setAsset(asset: Asset): Promise<Asset> {
    const { symbol, scale } = checkAsset(asset);
    const keys = [KEYS.engine, KEYS.events, KEYS.assets, ...KEYS.unsettled];
    await this.#core.settle(
      async () => (await this.#core.run('set_asset', keys, [this.#core.epoch, symbol, scale])) as Reply,
      () => this.refresh(),
    );
    return asset;
  }

  #write(market: Market, replacedVersion: number): Promise<Reply> {
    const { symbol, number, version, base, quote } = market;
    const keys = [
      ...[KEYS.engine, KEYS.events, KEYS.markets, KEYS.assets],
      ...[bookKey(symbol, 'bids'), bookKey(symbol, 'asks'), ...KEYS.unsettled],
    ];
    return this.#core.run('set_market', keys, [
      ...[this.#core.epoch, symbol, number, replacedVersion, version, writeMarketRecord(market)],
      ...[base.symbol, base.scale, quote.symbol, quote.scale, market.status === 'delisted' ? 1 : 0],
    ]) as Promise<Reply>;
  }

  /** A record read late must not replace a newer one. */
  #keep(market: Market): void {
    const known = this.#bySymbol.get(market.symbol);
    if (known !== undefined && known.version >= market.version) return;
    this.#bySymbol.set(market.symbol, market);
    this.#byNumber.set(market.number, market);
    this.#all = undefined;
  }
}
