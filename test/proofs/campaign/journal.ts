/**
 * The files of a campaign, whose entries are one write each to a file that is open for appending, so a kill loses no
 * entry that was acted on. The journal has each request before it is sent, and its outcome after it. The progress has
 * the rounds that held.
 */

import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

interface Lines<Line> {
  /** Each line is one write to a file that is open for appending. */
  write(line: Line): void;
  close(): void;
}

/** Opens a file for appending. A last line that a kill left unfinished is cut off; nobody acted on it. */
function openLines<Line>(file: string): Lines<Line> {
  const descriptor = openSync(file, 'a');
  ftruncateSync(descriptor, readFileSync(file).lastIndexOf('\n') + 1);
  return {
    write: (line) => {
      writeSync(descriptor, `${JSON.stringify(line)}\n`);
    },
    close: () => closeSync(descriptor),
  };
}

/** Reads the whole lines of a file, which may be missing. */
function readLines<Line>(file: string): Line[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Line);
}

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

/** Name of the file, in the folder of its cluster. */
export const JOURNAL = 'journal.jsonl';

export interface OrderBody {
  readonly market: string;
  readonly side: 'buy' | 'sell';
  readonly type: 'limit' | 'market';
  readonly price?: number;
  readonly size?: number;
  readonly quoteAmount?: number;
  readonly timeInForce?: 'GTC' | 'IOC' | 'FOK';
  readonly postOnly?: boolean;
  /** Unix milliseconds. */
  readonly expiresAfter?: number;
  readonly clientOrderId: string;
}

export interface Movement {
  /** Steps of a withdrawal share its reference: `request`, `confirm`, `return`. So do those of a deposit, the last three. */
  readonly kind: 'credit' | 'debit' | 'request' | 'confirm' | 'return' | 'announce' | 'arrive' | 'drop';
  readonly asset: string;
  /** Decimal text. */
  readonly amount: string;
  readonly reference: string;
  /** Name of the operators' key that asks for it; undefined: the command line does. */
  readonly key?: string;
  /** Who took the withdrawal that is confirmed; undefined: nobody did. */
  readonly by?: string | undefined;
}

/** Names a movement. */
export const nameOf = ({ kind, reference }: Movement): string => `${kind} ${reference}`;

/** The order that another one replaces, and what the wallet says it has filled. */
export interface Replaces {
  readonly id: string;
  readonly filledSize?: 0 | undefined;
}

/** A request that changes something, by the index of its wallet. */
export type Intent = {
  readonly entry: 'intent';
  readonly n: number;
  readonly wallet: number;
} & (
  | { readonly does: 'place'; readonly order: OrderBody; readonly replaces?: Replaces | undefined }
  | { readonly does: 'cancel'; readonly id: string }
  | { readonly does: 'cancel all' }
  | { readonly does: 'move'; readonly movement: Movement }
);

/** An order as a reply shows it. */
export interface Shown {
  readonly id: string;
  readonly status: string;
}

export type Outcome = {
  readonly entry: 'outcome';
  readonly n: number;
} /** `shown`: the order that was placed and then the one that it replaced, or the orders that were cancelled. */ & (
  | { readonly is: 'ok'; readonly shown: readonly Shown[] }
  | { readonly is: 'refused'; readonly code: string }
  /** No answer, 503 or 500: it may have happened. */
  | { readonly is: 'unknown'; readonly why: string }
);

/** Marks of the run: rounds, and losses that a fault may honestly cause. */
type Mark =
  | { readonly entry: 'round'; readonly fault: string; readonly round: number }
  /** The engine lost the events after this one. */
  | { readonly entry: 'lost'; readonly afterSequence: number; readonly sinceIntent: number };

export type Entry = Intent | Outcome | Mark;

export interface Journal {
  write(entry: Entry): void;
  close(): void;
}

export function openJournal(file: string): Journal {
  const { write, close } = openLines<Entry & { at: number }>(file);
  return { close, write: (entry) => write({ at: Date.now(), ...entry }) };
}

/** Reads the entries of a file. A kill may leave a last line that is not whole; it was never acted on. */
export const readJournal = (file: string): Entry[] => readLines<Entry>(file);
