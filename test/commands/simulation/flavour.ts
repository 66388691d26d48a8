/** Emphasis of a history, drawn at its beginning, so that rare events meet each other. */

import type { Random } from '../../support/seed.ts';

/** Numbers are weights of the scheduler. */
export interface Flavour {
  /** Dead-man switches are set, and fire. */
  readonly switches: boolean;
  /** The engine's Redis may be lost, and is rebuilt. */
  readonly losses: boolean;
  /** A replica that lags becomes the engine's server. */
  readonly failovers: boolean;
  /** The server's clock and those of processes step, and minutes pass. */
  readonly clocks: boolean;
  readonly faults: number;
  /** Passes of settlement: few of them leave a backlog. */
  readonly settlement: number;
  /** Tens of seconds that pass, after which settled events are trimmed. */
  readonly waits: number;
  /** Rebuilds of the claim filter. */
  readonly filters: number;
  /** Number of client order ids. They are few, so that many requests repeat one. */
  readonly ids: number;
  /** Share of the claim filter's blocks whose ids all look used, so that only Postgres can tell. */
  readonly marked: number;
}

export const flavourOf = (dice: Random): Flavour => ({
  switches: dice.chance(0.3),
  losses: dice.chance(0.4),
  failovers: dice.chance(0.15),
  clocks: dice.chance(0.4),
  faults: dice.pick([0, 1, 1, 3]),
  settlement: dice.pick([0.2, 0.4, 1, 2.5]),
  waits: dice.pick([0, 0.3, 1.5, 4]),
  filters: dice.pick([0, 0, 0.6]),
  ids: dice.pick([2, 12, 12]),
  marked: dice.pick([0, 0, 0.5, 1]),
});
