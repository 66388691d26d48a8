/** Schema of the exchange's status. */

import { z } from 'zod';
import { timestamp } from './values.ts';

const reconcileSchema = z.strictObject({
  at: timestamp.describe('when it ended'),
  event: z.int().min(0).describe('the last event that was checked'),
  checks: z.int().min(0).describe('number of checks'),
  differences: z.int().min(0).describe('number of differences found; 0: the books held'),
});

export const statusSchema = z
  .strictObject({
    time: timestamp.describe('the clock of the replica that answers'),
    trading: z.enum(['active', 'paused']).describe('paused: every market refuses orders; cancels work'),
    termsVersion: z
      .string()
      .nullable()
      .describe('the terms that a wallet must have accepted before it trades; null: none'),
    reconcile: reconcileSchema
      .nullable()
      .describe(
        'the last comparison of the engine with the ledger. While Postgres is away it is the last one that the ' +
          'replica has read. Null: there is none, or the replica has not read it yet.',
      ),
  })
  .meta({
    description: 'The status of the exchange, at most a second old.',
    examples: [
      {
        time: '2026-01-05T09:30:00.000Z',
        trading: 'active',
        termsVersion: null,
        reconcile: { at: '2026-01-05T04:00:12.345Z', event: 1204211, checks: 41, differences: 0 },
      },
    ],
  });
