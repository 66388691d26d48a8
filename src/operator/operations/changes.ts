/** Tells custody systems and finance of deposits, withdrawals, their steps and takes as they are settled. */

import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { scaleFinder } from '../../books/withdrawals.ts';
import { placeCursor } from '../../contract/cursor.ts';
import { readCursor, writeCursor } from '../../contract/list-cursor.ts';
import { receivable } from '../../contract/operator.ts';
import { changesRequest } from '../../contract/requests.ts';
import { assetSymbol, decimalText, timestamp, wallet } from '../../contract/values.ts';
import { Bound } from '../../domain/bound.ts';
import { WAITS } from '../../domain/bounds.ts';
import { Refusal } from '../../domain/errors.ts';
import { formatScaled } from '../../domain/units.ts';
import { CHANGE_NAMES } from '../../ledger/index.ts';
import { isoTime } from '../../statements/amounts.ts';
import { operation, replyNames } from '../operation.ts';

const LOOK_EVERY_MS = 250;
const SCOPE = { list: 'movements' };

const change = z.strictObject({
  at: timestamp,
  kind: z.enum(Object.values(CHANGE_NAMES)),
  reference: z.string(),
  wallet,
  asset: assetSymbol,
  amount: decimalText,
  reverses: z.string().nullable().describe('reference of the movement that this corrects'),
  txid: z.string().nullable().describe('transaction that paid a confirmed withdrawal'),
  receivable,
  takenBy: z.string().nullable().describe('name of who took a withdrawal'),
});

const waits = new Bound(WAITS);

/**
 * Reads until there is something, or until the time is over.
 * @throws Refusal SERVICE_UNAVAILABLE if the holder or all have too many requests that wait
 */
async function waitFor<Row>(
  read: () => Promise<Row[]>,
  ms: number,
  holder: string,
  stopping: AbortSignal | undefined,
): Promise<Row[]> {
  if (waits.isFull(holder)) throw new Refusal('SERVICE_UNAVAILABLE', 'the key waits too often already');
  let hasPlace = true;
  const giveWay = (): void => {
    hasPlace = false;
  };
  const place = waits.take(holder, 1, { giveWay });
  if (place === undefined) throw new Refusal('SERVICE_UNAVAILABLE', 'too many requests wait');
  const untilMs = performance.now() + ms;
  try {
    for (;;) {
      const found = await read();
      const leftMs = untilMs - performance.now();
      if (found.length > 0 || leftMs <= 0 || !hasPlace || stopping?.aborted) return found;
      await sleep(Math.min(LOOK_EVERY_MS, leftMs));
    }
  } finally {
    place.giveBack();
  }
}

export const getMovementChanges = operation({
  id: 'listMovementChanges',
  tag: 'Money',
  summary: 'Returns deposits, withdrawals, their steps and who takes them as they are settled',
  description:
    'Returns what came after a cursor, oldest first. Each change is told once, as long as each request sends the `cursor` of the reply before. Where there is none, the reply waits up to `wait` seconds for the next one. Without `after`, it has no changes and the present cursor.',
  method: 'GET',
  path: '/changes',
  rights: ['read', 'credit', 'debit', 'pay'],
  query: changesRequest,
  reply: z
    .strictObject({
      changes: z.array(change).describe('oldest first'),
      cursor: placeCursor,
      more: z.boolean().describe('true if further changes follow at once'),
    })
    .register(replyNames, { id: 'MovementChanges' }),
  async run(services, { after, wait, limit }, { key }) {
    const { sequence: settled } = await services.ledger.settlement.cursor();
    if (after === undefined)
      return { reply: { changes: [], cursor: writeCursor(SCOPE, settled)!, more: false } };
    const from = readCursor(SCOPE, after, 'after');
    // Postgres was put back: what came in between would be left out.
    if (from > settled) throw new Refusal('VALIDATION_ERROR', 'after: the ledger is older than this cursor');
    // One movement more than the page tells that further ones follow.
    const read = () => services.ledger.journal.changesAfter(from, limit + 1);
    const found =
      wait === 0 ? await read() : await waitFor(read, wait * 1_000, key?.name ?? '', services.stopping);
    const page = found.slice(0, limit);
    const scaleOf = await scaleFinder(services);
    const changes = page.map(({ timeMs, amountAtoms, owedAtoms, sequence: _, ...movement }) => ({
      at: isoTime(timeMs),
      ...movement,
      amount: formatScaled(amountAtoms, scaleOf(movement.asset)),
      receivable: formatScaled(owedAtoms, scaleOf(movement.asset)),
    }));
    const cursor = writeCursor(SCOPE, page.at(-1)?.sequence ?? from)!;
    return { reply: { changes, cursor, more: found.length > limit } };
  },
});
