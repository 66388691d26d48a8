/** Holds the format of the chain: an event of a kept ledger must always make the same link and the same head. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { fold, ordersOfEarlierBatches } from '../../src/ledger/fold.ts';
import { writeBatch } from '../../src/ledger/write-batch.ts';
import type { Progress } from '../../src/order/fields.ts';
import { seededEvents } from '../support/seeded-events.ts';

/** Heads, and digests of the links, that follow from the seed of the events. */
const KNOWN = [
  [1, 'jdHRtT5X703HN7VEZEOsI1ZEyjj1PzgZw/JVqaeOMTU=', '1a2968e41ced250b'],
  [400, 'Yz0Bv60BDiSVT8Hu169qDoTBhRi7zzjNB+5OwAb8+Fg=', 'eae9ad0700f75294'],
  [600, 'bapJ0w0GCSTWuQnY3TsyOm3qGLX59DRrS4qE7x5n8Os=', '4a521b16e4867074'],
] as const;
const EVENTS = 600;

describe('ledger: the chain of events', () => {
  it('has the known heads and links after the same events in the same batches', () => {
    const events = seededEvents(2811).next(EVENTS);
    const orders = new Map<string, Progress>();
    let from = 0;
    let head = '';
    for (const [to, ...known] of KNOWN) {
      const batch = events.slice(from, to);
      const folded = fold(batch, new Map(ordersOfEarlierBatches(batch).map((id) => [id, orders.get(id)!])));
      for (const { terms, progress } of folded.newOrders) orders.set(terms.id, progress);
      const statements = writeBatch(folded, from + 1, batch.at(-1)!).after(
        { epoch: 0, sequence: from },
        head,
        [],
      );
      const [links, next] = statements.find(({ name }) => name === 'move cursor')!.values!.slice(-2);
      const digest = createHash('sha256').update(links!).digest('hex').slice(0, 16);
      expect([next, digest]).to.deep.equal(known);
      [from, head] = [to, next!];
    }
  });
});
