/** A run: its plan, its rounds, its checkpoints, and its progress, from which a run that was killed goes on. */

import { statfsSync } from 'node:fs';
import { type Checkpoint, type Grown, takeCheckpoint } from './checkpoint.ts';
import { ordersAfter, ROUNDS_A_STEP, type Shape } from './rounds.ts';

export interface Plan {
  readonly orders: number;
  readonly shape: Shape;
  /** Bytes of the claim filter. */
  readonly filterBytes: number;
  /** Rounds after which a checkpoint is taken, rising. */
  readonly stops: readonly number[];
  /** The stops at a power of ten of orders, where reads are measured too. */
  readonly powers: ReadonlySet<number>;
  /** Bytes of disk that the whole run needs. */
  readonly diskBytes: number;
}

const MIB = 1024 * 1024;
export const GIB = 1024 * MIB;

const MARKETS = 4;
const WALLETS = 1_000;
const LIVE_ORDERS = 20_000;
/** The first measurement of reads. */
const FIRST_POWER = 10_000;
/** Checkpoints beside those at powers of ten. */
const STOPS = 10;
/** Two bytes an id give one false "maybe" in a hundred, as 16 MiB do for eight million. */
const FILTER_BYTES_AN_ID = 2;
/**
 * Bytes of an order in Postgres with its trades, ledger entries and indexes: half as much again as this command measured
 * at a million orders (docs/scaling.md), because indexes that are not filled in their order grow with gaps.
 */
const LEDGER_BYTES_AN_ORDER = 2_600;
/** Write-ahead log of Postgres, the engine's append-only file while it is rewritten, logs. */
const FIXED_DISK_BYTES = 3 * GIB;
/** A run stops before less than this is free. */
export const KEPT_FREE_BYTES = 3 * GIB;

const powerOfTwo = (least: number): number => 2 ** Math.ceil(Math.log2(least));

/** @param lag number of further events that are made at the end, while nothing is settled */
export function planOf(orders: number, seed: number, lag: number): Plan {
  const live = Math.min(LIVE_ORDERS, Math.floor(orders / 5));
  const depth = Math.max(ROUNDS_A_STEP, Math.floor(live / MARKETS / 2));
  const shape: Shape = { seed, markets: MARKETS, wallets: WALLETS, depth };
  const roundsOf = (count: number): number =>
    Math.ceil(count / ordersAfter(shape, ROUNDS_A_STEP)) * ROUNDS_A_STEP;
  const powers: number[] = [];
  for (let power = FIRST_POWER; power <= orders; power *= 10) powers.push(roundsOf(power));
  const even = Array.from({ length: STOPS }, (_, at) => roundsOf((orders * (at + 1)) / STOPS));
  return {
    orders,
    shape,
    filterBytes: Math.max(MIB, powerOfTwo((orders + lag) * FILTER_BYTES_AN_ID)),
    stops: [...new Set([...powers, ...even])].sort((one, other) => one - other),
    powers: new Set(powers),
    diskBytes: (orders + lag) * LEDGER_BYTES_AN_ORDER + FIXED_DISK_BYTES,
  };
}

/** Bytes that are free on the file system of a folder. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Progress of a run. */
export interface Progress {
  /** Rounds that were made. */
  readonly rounds: number;
  /** Rounds of which some orders may have been placed. */
  readonly begunRounds: number;
  readonly checkpoints: readonly Checkpoint[];
}

export const BEGINNING: Progress = { rounds: 0, begunRounds: 0, checkpoints: [] };

/** Rounds between two writes of the progress. */
const ROUNDS_A_STRETCH = 8 * ROUNDS_A_STEP;

export class Growth {
  readonly #grown: Grown;
  readonly #keep: (progress: Progress) => Promise<void>;
  #progress: Progress;

  /** @param keep writes the progress where a kill leaves it */
  constructor(grown: Grown, from: Progress, keep: (progress: Progress) => Promise<void>) {
    this.#grown = grown;
    this.#progress = from;
    this.#keep = keep;
  }

  get progress(): Progress {
    return this.#progress;
  }

  /** Makes the rounds up to a number, a multiple of a step's. */
  async advance(to: number): Promise<void> {
    const { driver } = this.#grown;
    while (this.#progress.rounds < to) {
      const { rounds, begunRounds } = this.#progress;
      const end = Math.min(to, rounds + ROUNDS_A_STRETCH);
      await this.#go({ begunRounds: Math.max(begunRounds, end) });
      for (let round = rounds; round < end; round += ROUNDS_A_STEP)
        await driver.step(round, round < begunRounds);
      await this.#go({ rounds: end });
    }
  }

  async checkpoint(): Promise<Checkpoint> {
    const { rounds, checkpoints } = this.#progress;
    const taken = await takeCheckpoint(this.#grown, rounds, checkpoints);
    await this.#go({ checkpoints: [...checkpoints, taken] });
    return taken;
  }

  /** Makes the rounds up to each stop, with a checkpoint after each. A stop that has its checkpoint is left out. */
  async run(
    stops: readonly number[],
    onCheckpoint: (checkpoint: Checkpoint) => Promise<void> = async () => undefined,
  ): Promise<void> {
    await this.#grown.driver.prepare();
    const last = this.#progress.checkpoints.at(-1)?.rounds ?? 0;
    for (const stop of stops.filter((rounds) => rounds > last)) {
      await this.advance(stop);
      await onCheckpoint(await this.checkpoint());
    }
  }

  async #go(change: Partial<Progress>): Promise<void> {
    this.#progress = { ...this.#progress, ...change };
    await this.#keep(this.#progress);
  }
}
