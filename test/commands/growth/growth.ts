/** A run: its rounds, its checkpoints, and its progress, from which a run that was killed goes on. */

import { type Checkpoint, type Grown, takeCheckpoint } from './checkpoint.ts';
import { ROUNDS_A_STEP } from './rounds.ts';

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
