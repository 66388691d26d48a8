/** Assets and their scales as the engine holds them. */

import type { Act } from '../domain/act.ts';
import type { Asset } from '../domain/market.ts';
import { checkAsset } from '../domain/market-rules.ts';
import type { EngineCore } from './core.ts';
import { actText } from './event-codec.ts';
import { KEYS } from './keys.ts';
import { SET_ASSET } from './scripts.ts';

export class EngineAssets {
  readonly #core: EngineCore;

  constructor(core: EngineCore) {
    this.#core = core;
  }

  /**
   * Returns every asset by name.
   * @throws Refusal SERVICE_UNAVAILABLE on an engine that was emptied
   */
  all(): Promise<Asset[]> {
    return this.#core.lifecycle.notOfEmptied(
      () => this.#read(),
      (found) => found.length === 0,
    );
  }

  /**
   * Returns an asset; undefined if there is none of the name.
   * @throws Refusal SERVICE_UNAVAILABLE on an engine that was emptied, or is being rebuilt
   */
  bySymbol(symbol: string): Promise<Asset | undefined> {
    return this.#core.lifecycle.notOfEmptied(
      async () => (await this.#read()).find((asset) => asset.symbol === symbol),
      (found) => found === undefined,
    );
  }

  async #read(): Promise<Asset[]> {
    const fields = await this.#core.scripts.call(() => this.#core.redis.hgetall(KEYS.assets));
    return Object.entries(fields)
      .filter(([symbol]) => !symbol.endsWith(' used'))
      .map(([symbol, scale]) => ({ symbol, scale: Number(scale) }))
      .sort((a, b) => (a.symbol < b.symbol ? -1 : 1));
  }

  /** @throws OperatorRefusal INVALID_ASSET | ASSET_IN_USE */
  async set(asset: Asset, act?: Act): Promise<Asset> {
    const { symbol, scale } = checkAsset(asset);
    await this.#core.whileCurrent(() =>
      this.#core.scripts.run(SET_ASSET, {
        epoch: this.#core.lifecycle.epoch,
        symbol,
        scale,
        act: actText(act),
      }),
    );
    return asset;
  }
}
