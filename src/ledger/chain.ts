/**
 * The chain of events: the head after a batch is a digest of the head before it and of the rows that its events wrote. A
 * digest for each event would cost settlement a tenth of its time. Each event has a short link instead, which only tells
 * the first event that differs.
 */

import { createHash, hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Progress } from '../order/fields.ts';
import { reasonOf } from './order-rows.ts';

/** Least events between two heads that are kept whole. */
const HEADS_KEPT_EVERY = 10_000;
/** Half a link is of the order that the event placed, half of its other rows. */
const HALF_LINK = 4;
export const LINK_CHARACTERS = 2 * HALF_LINK;
const NO_ROWS = '-'.repeat(HALF_LINK);
/** Leaves 20 bits of a checksum, four characters of five bits. */
const CHECKSUM_SHIFT = 12;
const HALF_OF_CHECKSUM = 10;
/** Each half of a checksum in base 32, which costs less than to format it. */
const DIGITS = Array.from({ length: 2 ** HALF_OF_CHECKSUM }, (_, half) => half.toString(32).padStart(2, '0'));

/** Returns the head after an event. */
export const headAfter = (head: string, sequence: number, content: string): string =>
  hash('sha256', `${head}\t${sequence}\n${content}`, 'base64');

function linkOf(order: string | undefined, trades: Buffer | undefined, text: string): string {
  const placed = order === undefined ? NO_ROWS : order.slice(0, HALF_LINK);
  if (trades === undefined && text === '') return placed + NO_ROWS;
  const ofTrades = trades === undefined ? 0 : crc32(trades);
  const bits = (text === '' ? ofTrades : crc32(text, ofTrades)) >>> CHECKSUM_SHIFT;
  return placed + DIGITS[bits >>> HALF_OF_CHECKSUM]! + DIGITS[bits & (DIGITS.length - 1)]!;
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

/** Letters that begin the lines of an event's text, in their order. A movement begins with a digit, so `dt` is no other line. */
export const LINES = {
  order: 'a',
  trade: 'b',
  closed: 'c',
  movement: 'd',
  payment: 'dt',
  market: 'e',
  setting: 'f',
  reversal: 'g',
  act: 'h',
  adoption: 'i',
  adopted: 'j',
} as const;

/** Returns the content of an order that an event ended before it was filled: the end of a filled one follows from trades. */
export const closedText = (
  id: string,
  status: string,
  timeMs: number | string,
  reason: string | null | undefined,
): string => `${id}/${status}/${timeMs}/${reason ?? ''}`;

interface PlacedOrder {
  readonly digest: string;
}

/** Collects the texts of the events of a batch. */
export class EventTexts {
  readonly #texts: string[] = [];
  /** The order that each event placed. Its digest is made with its row, after the event. */
  readonly #placed: (PlacedOrder | undefined)[] = [];
  /** Characters of all rows of trades up to each event. */
  readonly #tradesUpTo: number[] = [];
  #order: PlacedOrder | undefined;
  #text = '';
  #closed: string[] = [];

  add(line: Exclude<keyof typeof LINES, 'order' | 'trade'>, content: string): void {
    this.#text += `${LINES[line]}${content}\n`;
  }

  /** Adds the order that the event placed. */
  place(order: PlacedOrder): void {
    this.#order = order;
  }

  /** Adds an order that the event ended. Several stand in the order of their ids. */
  close(id: string, progress: Progress): void {
    if (progress.status !== 'filled')
      this.#closed.push(closedText(id, progress.status, progress.updatedAtMs, reasonOf(progress)));
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
   * Makes the part of the chain before it is known which head it follows, once the rows of the orders are made.
   * @param rows of all trades; their characters are bytes, because no symbol has others
   */
  part(rows: readonly Buffer[], first: number): (head: string) => ChainPart {
    const trades = rows.length === 1 ? rows[0]! : Buffer.concat(rows);
    const content = new BatchContent();
    let from = 0;
    for (let at = 0; at < this.#texts.length; at += 1) {
      const to = this.#tradesUpTo[at]!;
      content.add(
        this.#placed[at]?.digest,
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
