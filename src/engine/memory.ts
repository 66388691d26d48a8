/**
 * Bounds the live orders of a wallet by the memory that the engine's Redis has left. From 90 % of `maxmemory` on, a
 * wallet may have fewer of them the less is left, so that orders are refused first to the wallets with the most live
 * ones.
 */

import type { Redis } from 'ioredis';

/** Share of `maxmemory` from which on wallets may have fewer live orders. */
const BEGINS_AT = 0.9;
/** Live orders that a wallet may have until the last byte. */
const FEW = 10;

/**
 * Returns the maximum live orders of a wallet at a share of the memory: `max` at 90 %, then by the same factor each
 * step.
 */
export function liveOrdersAt(share: number, max: number): number {
  if (share <= BEGINS_AT || max <= FEW) return max;
  const left = Math.max(0, 1 - share) / (1 - BEGINS_AT);
  return Math.floor(FEW * (max / FEW) ** left);
}

export class EngineMemory {
  readonly #redis: Redis;
  #share = 0;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /** Reads how much of its memory the server uses. */
  async read(): Promise<void> {
    const info = await this.#redis.info('memory');
    const bytes = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
    const limit = bytes('maxmemory');
    // Redis does not refuse commands because of its buffers for copies and its file.
    const counted = bytes('used_memory') - bytes('mem_not_counted_for_evict');
    this.#share = limit === 0 ? 0 : counted / limit;
  }

  /** @param max maximum live orders of a wallet while memory is plenty */
  liveOrders(max: number): number {
    return liveOrdersAt(this.#share, max);
  }
}
