/** Keeps the last events of wallets that wait for changes, so that one decoder tells all of them. */

import type { EngineEvent } from '../domain/event.ts';
import type { EnginePosition } from '../engine/index.ts';
import { partsOf } from './unsettled.ts';

/** Maximum events of a wallet: a change of an order that was placed before them is read from the stores. */
const MAX_OF_WALLET = 32;
/**
 * Maximum placements, fills and closed orders of all wallets, of some 300 bytes. All are forgotten when there are more.
 */
const MAX_PARTS = 100_000;
/** A client waits again after each answer. */
const STAYS_MS = 3_000;

/** Every event of a wallet after `since`, up to `position`. */
export interface ChangeTail {
  readonly position: Omit<EnginePosition, 'settled'>;
  readonly since: number;
  /** Oldest first. They may tell of other wallets, too. */
  readonly events: readonly EngineEvent[];
}

interface Kept {
  since: number;
  readonly events: EngineEvent[];
  /** Time at which the last request of the wallet left; undefined while one waits. */
  leftMs: number | undefined;
}

export class ChangeTails {
  readonly #kept = new Map<string, Kept>();
  #parts = 0;

  /** Keeps the events of a wallet after a sequence from now on. */
  keep(wallet: string, since: number): void {
    const kept = this.#kept.get(wallet);
    if (kept === undefined) this.#kept.set(wallet, { since, events: [], leftMs: undefined });
    else kept.leftMs = undefined;
  }

  /** Keeps the events of a wallet, of which no request waits, for some seconds more. */
  leave(wallet: string, nowMs: number): void {
    const kept = this.#kept.get(wallet);
    if (kept !== undefined) kept.leftMs = nowMs;
  }

  /** Adds an event that changes orders of the wallet. */
  add(wallet: string, event: EngineEvent): void {
    const kept = this.#kept.get(wallet);
    // An order may match several of a wallet in one event.
    if (kept === undefined || kept.events.at(-1) === event) return;
    kept.events.push(event);
    this.#parts += partsOf(event);
    if (kept.events.length > MAX_OF_WALLET) {
      const oldest = kept.events.shift()!;
      kept.since = oldest.sequence;
      this.#parts -= partsOf(oldest);
    }
    if (this.#parts > MAX_PARTS) this.clear();
  }

  of(wallet: string, position: ChangeTail['position']): ChangeTail | undefined {
    const kept = this.#kept.get(wallet);
    return kept && { position, since: kept.since, events: kept.events };
  }

  /** Forgets wallets of which no request has waited for some seconds. */
  forgetLeft(nowMs: number): void {
    for (const [wallet, { leftMs, events }] of this.#kept) {
      if (leftMs === undefined || nowMs - leftMs < STAYS_MS) continue;
      this.#kept.delete(wallet);
      for (const event of events) this.#parts -= partsOf(event);
    }
  }

  clear(): void {
    this.#kept.clear();
    this.#parts = 0;
  }
}
