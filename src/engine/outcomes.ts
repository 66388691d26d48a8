/** Reads replies that begin with a word: the outcome of a command, or a refusal. */

import { ERRORS, type ErrorCode, OperatorRefusal, Refusal } from '../domain/errors.ts';
import { u48 } from '../redis/layout.ts';

/** Reports that a command was made for an epoch, a filter or market rules that are no longer in force. */
export class Stale {
  readonly what: string;

  constructor(what: string) {
    this.what = what;
  }
}

/** Returns the sequence of the event of a placed order or of closed orders; it follows the code of their outcome. */
export const sequenceIn = (outcome: Buffer): number => u48.read(outcome, 1);

/** Refusals that only an operator's command meets. */
const OPERATOR_MEANINGS: Record<string, string> = {
  ALREADY_REVERSED: 'the movement was reversed before: nothing was moved',
  SUPPLY_LIMIT: 'the total supply of the asset would pass 2^62 atoms',
  BOOK_NOT_EMPTY: 'the market still has resting orders: halt it and clear it first',
  ASSET_IN_USE: 'the asset is already in use: its scale cannot change any more',
  SCALE_CHANGED: 'the scale of the asset changed while the command ran: nothing was moved; try again',
  UNKNOWN_ASSET: 'there is no such asset any more: nothing was moved',
};

const DEADLINE_PASSED =
  'expiresAfter: the engine came to the order later than that; nothing was recorded, and its clientOrderId is unused';

/** Returns the refusal for a script's code. */
export const refusalOf = (code: string): Error =>
  code === 'DEADLINE_PASSED'
    ? new Refusal('BAD_REQUEST', DEADLINE_PASSED)
    : code in ERRORS
      ? new Refusal(code as ErrorCode)
      : new OperatorRefusal(code, OPERATOR_MEANINGS[code] ?? code);

/** Readers of the values that follow each word, by word. */
type Readers = Readonly<Record<string, (rest: never) => unknown>>;
type Read<R extends Readers> = ReturnType<R[keyof R]>;

/** Makes a reader of replies that begin with one of these words. */
export const outcomes =
  <R extends Readers>(readers: R) =>
  (reply: unknown): Read<R> => {
    const [word, ...rest] = reply as readonly [Buffer, ...unknown[]];
    const reader = readers[word.toString()];
    if (reader === undefined) throw new Error(`a script replied ${word}`);
    return reader(rest as never) as Read<R>;
  };

/** Like `outcomes`, for commands that may be stale or refused. The reader throws the refusal. */
export const currentOutcomes = <R extends Readers>(readers: R): ((reply: unknown) => Read<R> | Stale) =>
  outcomes<R & { stale: (rest: [Buffer]) => Stale; refused: (rest: [Buffer]) => never }>({
    ...readers,
    stale: ([what]) => new Stale(`${what}`),
    refused: ([code]) => {
      throw refusalOf(`${code}`);
    },
  });
