/**
 * The chain of events: the head after a batch is a digest of the head before it and of the rows that its events wrote. A
 * digest for each event would cost settlement a tenth of its time. Each event has a short link instead, a checksum of its
 * rows, which only tells which events differ.
 */

import { createHash, hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Progress } from '../order/fields.ts';
import { type NewOrderRow, placedInChain, progressText } from './order-rows.ts';

/** Least events between two heads that are kept whole. */
const HEADS_KEPT_EVERY = 10_000;
/** Half a link is of the order that the event placed, half of its other rows. */
export const HALF_LINK = 4;
export const LINK_CHARACTERS = 2 * HALF_LINK;
const NO_ROWS = '-'.repeat(HALF_LINK);
/** Leaves 20 bits of a checksum, four characters of five bits. */
const CHECKSUM_SHIFT = 12;
const HALF_OF_CHECKSUM = 10;
/** Each half of a checksum in base 32, which costs less than to format it. */
const DIGITS = Array.from({ length: 2 ** HALF_OF_CHECKSUM }, (_, half) => half.toString(32).padStart(2, '0'));

function digitsOf(checksum: number): string {
  const bits = checksum >>> CHECKSUM_SHIFT;
  return DIGITS[bits >>> HALF_OF_CHECKSUM]! + DIGITS[bits & (DIGITS.length - 1)]!;
}

/** Returns the head after an event. */
export const headAfter = (head: string, sequence: number, content: string): string =>
  hash('sha256', `${head}\t${sequence}\n${content}`, 'base64');

function linkOf(order: string | undefined, trades: Buffer | undefined, text: string): string {
  const placed = order === undefined ? NO_ROWS : digitsOf(crc32(order));
  if (trades === undefined && text === '') return placed + NO_ROWS;
  const ofTrades = trades === undefined ? 0 : crc32(trades);
  return placed + digitsOf(text === '' ? ofTrades : crc32(text, ofTrades));
}

/** Collects the contents of the events of a batch. */
export class BatchContent {
  #links = '';
  #text = '';

  /** The links of all events, in a row. */
  get links(): string {
    return this.#links;
  }

  /** Adds the next event, and returns its link. The trades are hashed at the end. */
  add(order: string | undefined, trades: Buffer | undefined, text: string): string {
    const link = linkOf(order, trades, text);
    this.#links += link;
    this.#text += order === undefined ? `${text}\n` : `${LINES.order}${order}\n${text}\n`;
    return link;
  }

  /** Returns what the head of the batch takes. @param trades rows of the trades of all events */
  digest(trades: readonly Buffer[]): string {
    const digest = createHash('sha256').update(this.#text);
    for (const rows of trades) digest.update(rows);
    return digest.digest('base64');
  }
}

/**
 * Letters that begin the lines of an event's text, in their order. A row follows as `COPY` takes it. `closed` is the end
 * of an order that was not filled: the end of a filled one follows from its trades.
 */
export const LINES = {
  order: 'a',
  trade: 'b',
  closed: 'c',
  movement: 'd',
  market: 'e',
  setting: 'f',
  act: 'g',
  adoption: 'h',
  adopted: 'i',
} as const;

/** Collects the texts of the events of a batch. */
export class EventTexts {
  readonly #texts: string[] = [];
  /** The order that each event placed. */
  readonly #placed: (NewOrderRow | undefined)[] = [];
  /** Characters of all rows of trades up to each event. */
  readonly #tradesUpTo: number[] = [];
  #order: NewOrderRow | undefined;
  #text = '';
  #closed: string[] = [];

  add(line: Exclude<keyof typeof LINES, 'order' | 'trade'>, content: string): void {
    this.#text += `${LINES[line]}${content}\n`;
  }

  /** Adds the order that the event placed. */
  place(order: NewOrderRow): void {
    this.#order = order;
  }

  /** Adds an order that the event ended. Several stand in the order of their ids. */
  close(id: string, progress: Progress): void {
    if (progress.status !== 'filled') this.#closed.push(`${id}\t${progressText({ progress })}`);
  }

  /** Ends the text of an event. @param tradeCharacters characters of all rows of trades so far */
  end(tradeCharacters: number): void {
    if (this.#closed.length > 0) {
      if (this.#closed.length > 1) this.#closed.sort();
      for (const content of this.#closed) this.#text += `${LINES.closed}${content}\n`;
      this.#closed = [];
    }
    this.#texts.push(this.#text);
    this.#placed.push(this.#order);
    this.#tradesUpTo.push(tradeCharacters);
    this.#text = '';
    this.#order = undefined;
  }

  /**
   * Makes the part of the chain before it is known which head it follows.
   * @param rows of all trades; their characters are bytes, because no symbol has others
   */
  part(rows: readonly Buffer[], first: number): (head: string) => ChainPart {
    const trades = rows.length === 1 ? rows[0]! : Buffer.concat(rows);
    const content = new BatchContent();
    let from = 0;
    for (let at = 0; at < this.#texts.length; at += 1) {
      const to = this.#tradesUpTo[at]!;
      const placed = this.#placed[at];
      content.add(
        placed && placedInChain(placed),
        to === from ? undefined : trades.subarray(from, to),
        this.#texts[at]!,
      );
      from = to;
    }
    const last = first + this.#texts.length - 1;
    const digest = content.digest([trades]);
    const isKept = Math.floor(last / HEADS_KEPT_EVERY) > Math.floor((first - 1) / HEADS_KEPT_EVERY);
    return (head) => ({ head: headAfter(head, last, digest), links: content.links, isKept });
  }
}

/** The part of the chain that a batch adds. */
export interface ChainPart {
  /** After the last event. */
  readonly head: string;
  /** The links of all events, in a row. */
  readonly links: string;
  /** True if the head is kept whole. */
  readonly isKept: boolean;
}
