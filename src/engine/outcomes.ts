/** Reads replies that begin with a word: the outcome of a command, or a refusal. */

import {
  ALL_ERRORS,
  ERRORS,
  type ErrorCode,
  OPERATOR_ERRORS,
  type OperatorCode,
  OperatorRefusal,
  Refusal,
} from '../domain/errors.ts';
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

const DEADLINE_PASSED =
  'expiresAfter: the engine came to the order later than that; nothing was recorded, and its clientOrderId is unused';

const FILLED_OTHERWISE =
  'filledSize: the order that was to be replaced has filled another amount; nothing changed, and the new clientOrderId is unused';

const NO_TIME_OF_TAKE = 'until: must be later than now, and at most 7 days later';

/** Returns the refusal for a script's code. */
export function refusalOf(code: string): Error {
  if (code === 'DEADLINE_PASSED') return new Refusal('BAD_REQUEST', DEADLINE_PASSED);
  if (code === 'FILLED_OTHERWISE') return new Refusal('CONFLICT', FILLED_OTHERWISE);
  if (code === 'NO_TIME_OF_TAKE') return new Refusal('VALIDATION_ERROR', NO_TIME_OF_TAKE);
  if (code in ERRORS) return new Refusal(code as ErrorCode);
  return new OperatorRefusal(code, code in OPERATOR_ERRORS ? ALL_ERRORS[code as OperatorCode].meaning : code);
}

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
