/** Schema of the exchange's status. */

import { z } from 'zod';
import { timestamp } from './values.ts';

const reconcileSchema = z.strictObject({
  at: timestamp.describe('time at which it ended'),
  event: z.int().min(0).describe('sequence of the last event that was checked'),
  checks: z.int().min(0).describe('number of checks'),
  differences: z.int().min(0).describe('number of differences found; 0 if the books agree'),
});

export const statusSchema = z
  .strictObject({
    time: timestamp.describe('clock of the replica that answers'),
    trading: z
      .enum(['active', 'paused'])
      .describe('`paused` if every market refuses orders; cancels still work'),
    termsVersion: z
      .string()
      .nullable()
      .describe('version of the terms that a wallet must accept before it trades; null if there are none'),
    reconcile: reconcileSchema
      .nullable()
      .describe(
        'last comparison of the engine with the ledger. While Postgres is away, the last result that the ' +
          'replica has read. Null if there is none, or if the replica has not read it yet.',
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
