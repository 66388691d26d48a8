/**
 * The log of a campaign: each request before it is sent, and its outcome after it. Each entry is one write to a file
 * that is open for appending, so a kill of the campaign loses no entry that it acted on.
 */

import { openLines, readLines } from './lines.ts';

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
  readonly clientOrderId: string;
}

export interface Movement {
  readonly kind: 'credit' | 'debit';
  readonly asset: string;
  /** Decimal text. */
  readonly amount: string;
  readonly reference: string;
}

/** A request that changes something, by the index of its wallet. */
export type Intent = { readonly entry: 'intent'; readonly n: number; readonly wallet: number } & (
  | { readonly does: 'place'; readonly order: OrderBody }
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
} /** `shown`: the order that was placed, or the orders that were cancelled. */ & (
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
