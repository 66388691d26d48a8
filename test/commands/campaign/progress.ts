/**
 * Rounds that held, in a file of the campaign's folder, so that a run that was killed goes on where it was. Each entry is
 * one write to a file that is open for appending.
 */

import { join } from 'node:path';
import { openLines, readLines } from './lines.ts';

/** Figures of rounds of a fault. */
export interface Figures {
  readonly requests: number;
  readonly unknowns: number;
  /** Milliseconds from the end of the fault until all was ready again: of each round. */
  readonly healedMs: readonly number[];
  /** Milliseconds of all rounds with their rests. */
  readonly tookMs: number;
  /** Milliseconds of the longest answer. */
  readonly longestMs: number;
  readonly notes: readonly string[];
}

/** Rounds up to a rest at which everything held. */
export interface Held extends Figures {
  readonly entry: 'held';
  readonly fault: string;
  readonly rounds: readonly number[];
}

/** A round that may lose acknowledged work has begun on the cluster in a folder. */
interface Begun {
  readonly entry: 'begun';
  readonly fault: string;
  readonly round: number;
  readonly place: string;
}

export interface Progress {
  held(fault: string): readonly Held[];
  /** True when a run was killed in a round that may have lost work on the cluster in the folder. */
  isAbandoned(place: string): boolean;
  note(entry: Omit<Held, 'entry'>): void;
  begin(entry: Omit<Begun, 'entry'>): void;
  close(): void;
}

export function openProgress(folder: string): Progress {
  const file = join(folder, 'progress.jsonl');
  const entries = readLines<Held | Begun>(file);
  const held = entries.filter((entry) => entry.entry === 'held');
  const abandoned = entries
    .filter((entry) => entry.entry === 'begun')
    .filter(({ fault, round }) => !held.some((one) => one.fault === fault && one.rounds.includes(round)));
  const { write, close } = openLines<Held | Begun>(file);
  return {
    held: (fault) => held.filter((one) => one.fault === fault),
    isAbandoned: (place) => abandoned.some((one) => one.place === place),
    note: (entry) => write({ entry: 'held', ...entry }),
    begin: (entry) => write({ entry: 'begun', ...entry }),
    close,
  };
}

/** Adds figures up. */
export const sumOf = (figures: readonly Figures[]): Figures => ({
  requests: figures.reduce((sum, { requests }) => sum + requests, 0),
  unknowns: figures.reduce((sum, { unknowns }) => sum + unknowns, 0),
  healedMs: figures.flatMap(({ healedMs }) => healedMs),
  tookMs: figures.reduce((sum, { tookMs }) => sum + tookMs, 0),
  longestMs: Math.max(0, ...figures.map(({ longestMs }) => longestMs)),
  notes: figures.flatMap(({ notes }) => notes),
});
