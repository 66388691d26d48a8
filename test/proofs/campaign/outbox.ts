/** Reads the engine's events as they come, as settlement does, and holds their numbers against each other. */

import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { KEYS } from '../../../src/engine/keys.ts';
import { readState } from '../../../src/engine/state.ts';

const PAGE = 500;
const EVERY_MS = 250;
/** Events that are kept with their digests. */
const KEPT = 10_000;
/** The first byte of an event is its kind. */
const ORDER_PLACED = 1;
const MOVEMENTS: readonly number[] = [3, 4, 14, 15, 16, 19, 20];

interface Tailed {
  /** Digest of the event as Postgres keeps it. */
  readonly digest: string;
  readonly kind: number;
}

interface Position {
  readonly epoch: number;
  readonly sequence: number;
}

export interface Outbox {
  /** Reads up to the last event. */
  read(): Promise<void>;
  /** The newest events by sequence, since the tail began or since the last loss. */
  readonly events: ReadonlyMap<number, Tailed>;
  first(): number | undefined;
  /** Sequence of the last event that was read. */
  last(): number | undefined;
  counts(): { readonly orders: number; readonly movements: number };
  /** Events after the sequence are lost, so the next event has the number that follows it. */
  forget(afterSequence: number): void;
  close(): void;
}

/**
 * @param upTo the last event that may be read: the engine's copies may lack later ones, and a server that they left has
 *   others, which nobody was told of
 */
export function openOutbox(
  redis: Redis,
  onViolation: (invariant: string, detail: string) => void,
  upTo: () => Promise<Position> = async () => ({ epoch: 0, sequence: Number.POSITIVE_INFINITY }),
): Outbox {
  const events = new Map<number, Tailed>();
  let first: number | undefined;
  let counts = { orders: 0, movements: 0 };
  let last: Position | undefined;
  let reading: Promise<void> | undefined;

  const count = (kind: number, by: number): void => {
    if (kind === ORDER_PLACED) counts.orders += by;
    else if (MOVEMENTS.includes(kind)) counts.movements += by;
  };
  const take = ([id, [, bytes]]: [Buffer, Buffer[]]): void => {
    const [epoch = 0, sequence = 0] = id.toString().split('-').map(Number);
    if (last !== undefined && (sequence !== last.sequence + 1 || epoch < last.epoch))
      onViolation('events', `event ${epoch}-${sequence} follows ${last.epoch}-${last.sequence}`);
    last = { epoch, sequence };
    const digest = createHash('sha256').update(id).update('\n').update(bytes!).digest('hex');
    const kind = bytes![0]!;
    events.set(sequence, { digest, kind });
    events.delete(sequence - KEPT);
    first ??= sequence;
    count(kind, 1);
  };
  const readAll = async (): Promise<void> => {
    const end = await upTo();
    for (;;) {
      const from = last === undefined ? '-' : `(${last.epoch}-${last.sequence}`;
      const asked = redis.pipeline().hgetBuffer(KEYS.engine, 'state');
      asked.xrangeBuffer(KEYS.events, from, '+', 'COUNT', PAGE);
      const [state, page] = (await asked.exec())!.map(([error, reply]) => {
        if (error !== null) throw error;
        return reply;
      }) as [Buffer | null, [Buffer, Buffer[]][]];
      if (readState(state).epoch < end.epoch) return;
      const allowed = page.filter(([id]) => Number(id.toString().split('-')[1]) <= end.sequence);
      for (const entry of allowed) take(entry);
      if (allowed.length < PAGE) return;
    }
  };
  const read = (): Promise<void> => {
    reading ??= readAll().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const beat = setInterval(() => read().catch(() => undefined), EVERY_MS);
  return {
    read,
    events,
    first: () => first,
    last: () => last?.sequence,
    counts: () => counts,
    forget(afterSequence) {
      const lost = [...events].filter(([sequence]) => sequence > afterSequence);
      // Without the events in between, the tail begins anew.
      if (last === undefined || first! > afterSequence || last.sequence !== afterSequence + lost.length) {
        events.clear();
        [first, last, counts] = [undefined, undefined, { orders: 0, movements: 0 }];
        return;
      }
      for (const [sequence, { kind }] of lost) {
        events.delete(sequence);
        count(kind, -1);
      }
      last = { epoch: last.epoch, sequence: afterSequence };
    },
    close: () => clearInterval(beat),
  };
}
