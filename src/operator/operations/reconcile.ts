/** Checks every invariant, and returns the results of the last check. */

import { z } from 'zod';
import { type Reconciliation, reconcile } from '../../books/reconcile/index.ts';
import { renderReconciliation } from '../../books/reconcile/text.ts';
import { reconciledDocument } from '../../books/status.ts';
import { timestamp } from '../../contract/values.ts';
import { OperatorRefusal, Refusal } from '../../domain/errors.ts';
import { readWholeNumber } from '../arguments.ts';
import { readCheckpointFile } from '../checkpoints.ts';
import { operation, replyNames } from '../operation.ts';
import { withProgress } from '../progress.ts';
import type { CommandResult, WorkingVerb } from '../verb.ts';

export const lastReconcileSchema = z
  .strictObject({
    at: timestamp,
    holds: z.boolean(),
    differences: z.int().min(0),
    sequence: z.int().min(0),
    checks: z.int().min(0),
    failedChecks: z.array(z.string()),
  })
  .register(replyNames, { id: 'LastReconcile' });

const reconciled = (result: Reconciliation): CommandResult => {
  const failed = result.checks.filter(({ count }) => count > 0);
  return {
    document: result,
    text: (paint) => renderReconciliation(result, paint),
    failure: result.holds
      ? undefined
      : new OperatorRefusal(
          'NOT_RECONCILED',
          `${failed.length} of ${result.checks.length} checks do not hold`,
        ),
  };
};

interface ReconcileOptions {
  patience: number;
  since?: string;
  key?: string;
  weekly?: true;
  all?: true;
}

const reconcileVerb: WorkingVerb = {
  verb: 'reconcile',
  describe: (command) =>
    command
      .option('--patience <seconds>', 'maximum time without progress of settlement', readWholeNumber, 30)
      .option(
        '--since <file>',
        'checkpoints that were kept elsewhere, one a line, to compare the ledger with',
      )
      .option('--key <file>', 'key that must have signed these checkpoints, in PEM')
      .option('--weekly', 'also run all checks of one sealed segment, drawn at random')
      .addOption(
        command
          .createOption('--all', 'run all checks of all segments, and compare each with its seal')
          .conflicts('weekly'),
      )
      .addHelpText(
        'after',
        `
All checks run on what has no seal. Of the sealed segments, a share is compared with its seals, so that each is read within
SCRUB_DAYS days. Segments that can no longer change are sealed if everything holds.

The exit status is 0 only if everything holds. Trading continues meanwhile.
Without --json, a long reconcile prints its step on stderr every 15 seconds.`,
      )
      .description('check every invariant of the engine and the ledger'),
  work:
    ({ patience, since, key, weekly, all }: ReconcileOptions) =>
    async (services, invocation) => {
      const extent = all ? 'all' : weekly ? 'week' : 'night';
      const { scrubDays } = services;
      const checkpoints = since === undefined ? [] : await readCheckpointFile(since, key);
      return reconciled(
        await withProgress(invocation, (onStep) =>
          reconcile(services, { patienceMs: patience * 1_000, onStep, checkpoints, extent, scrubDays }),
        ),
      );
    },
};

export const getReconcile = operation({
  id: 'getLastReconcile',
  tag: 'Service',
  summary: 'Returns the last reconcile, and each of its checks with its result',
  method: 'GET',
  path: '/reconcile',
  rights: ['read'],
  reply: lastReconcileSchema
    .extend({
      results: z
        .array(
          z.strictObject({
            name: z.string(),
            asset: z.string().nullable().describe('asset that was checked; null if the check is of all'),
            compared: z.string().describe('number and kind of the compared things'),
            differences: z.int().min(0).describe('0 if the check holds'),
          }),
        )
        .nullable()
        .describe(
          'each check with its result; those with the most differences if there are more than 1,000. Null if an older release ' +
            'reconciled.',
        ),
    })
    .register(replyNames, { id: 'ReconcileResults' }),
  codes: ['NOT_FOUND'],
  async run({ ledger }) {
    const last = await ledger.checks.lastResults();
    if (last === null) throw new Refusal('NOT_FOUND', 'the books were never reconciled');
    return { reply: reconciledDocument(last) };
  },
  verbs: [reconcileVerb],
});
