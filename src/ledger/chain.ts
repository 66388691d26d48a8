/** The chain of events: each head is a digest of the head before it and of the rows that an event wrote. */

import { hash } from 'node:crypto';

/** Events between two heads that are kept. */
const HEADS_KEPT_EVERY = 10_000;
/** Characters of each head that tell which event is the first that differs. */
export const LINK_CHARACTERS = 4;

/** Returns the head after an event. */
export const headAfter = (head: string, sequence: number, text: string): string =>
  hash('sha256', `${head}\t${sequence}\n${text}`, 'base64');

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
} as const;

interface PlacedOrder {
  readonly digest: string;
}

/** Collects the texts of the events of a batch. */
export class EventTexts {
  readonly #texts: string[] = [];
  /** The order that each event placed. Its digest is made with its row, after the event. */
  readonly #placed: (PlacedOrder | null)[] = [];
  #order: PlacedOrder | null = null;
  #text = '';
  #closed: string[] = [];

  add(line: keyof typeof LINES, content: string): void {
    this.#text += `${LINES[line]}${content}\n`;
  }

  /** Adds the order that the event placed. */
  place(order: PlacedOrder): void {
    this.#order = order;
  }

  /** Adds an order that the event ended; several stand in the order of their ids, with which each content begins. */
  close(content: string): void {
    this.#closed.push(content);
  }

  /** Ends the text of an event. */
  end(): void {
    if (this.#closed.length > 0) {
      if (this.#closed.length > 1) this.#closed.sort();
      for (const content of this.#closed) this.add('closed', content);
      this.#closed = [];
    }
    this.#texts.push(this.#text);
    this.#placed.push(this.#order);
    this.#text = '';
    this.#order = null;
  }

  /**
   * Continues the chain.
   * @param head after the event before the first one
   */
  continue(head: string, firstSequence: number): ChainPart {
    const kept: [sequence: number, head: string][] = [];
    let [last, links] = [head, ''];
    this.#texts.forEach((text, at) => {
      const sequence = firstSequence + at;
      const order = this.#placed[at];
      last = headAfter(last, sequence, order ? `${LINES.order}${order.digest}\n${text}` : text);
      links += last.slice(0, LINK_CHARACTERS);
      if (sequence % HEADS_KEPT_EVERY === 0) kept.push([sequence, last]);
    });
    return { head: last, links, kept };
  }
}

export interface ChainPart {
  /** After the last event. */
  readonly head: string;
  /** The beginnings of all heads, in a row. */
  readonly links: string;
  /** Heads that are kept whole. */
  readonly kept: readonly (readonly [sequence: number, head: string])[];
}
