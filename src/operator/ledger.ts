/** Commands on the books: reconcile, rebuild, and those of finance. */

import type { Command } from 'commander';
import { rebuildEngine } from '../books/rebuild.ts';
import { type Reconciliation, reconcile } from '../books/reconcile/index.ts';
import { renderReconciliation } from '../books/reconcile/text.ts';
import type { Act } from '../domain/act.ts';
import { OperatorRefusal } from '../domain/errors.ts';
import { type ActOptions, actOf, withAct } from './acts.ts';
import { readWholeNumber } from './arguments.ts';
import { addCheckpoint, readCheckpointFile } from './checkpoints.ts';
import { withProgress } from './progress.ts';
import type { OperatorServices } from './services.ts';
import { addStatementCommands } from './statements.ts';
import { addNoun, type CommandResult, type RunCommand, shortResult } from './verb.ts';

export function addLedgerCommands(program: Command, perform: RunCommand): void {
  const ledger = addNoun(program, 'ledger', 'check, read, close and rebuild the ledger');
  addReconcile(ledger, perform);
  addStatementCommands(ledger, perform);
  addCheckpoint(ledger, perform);
  addRebuild(ledger, perform);
}

function addReconcile(ledger: Command, perform: RunCommand): void {
  ledger
    .command('reconcile')
    .option('--patience <seconds>', 'maximum time without progress of settlement', readWholeNumber, 30)
    .option('--since <file>', 'checkpoints that were kept elsewhere, one a line, to compare the ledger with')
    .option('--key <file>', 'key that must have signed these checkpoints, in PEM')
    .addHelpText(
      'after',
      `
The exit status is 0 only if everything holds. Trading continues meanwhile.
Without --json, a long reconcile prints its step on stderr every 15 seconds.`,
    )
    .description('check every invariant of the engine and the ledger')
    .action(({ patience, since, key }: { patience: number; since?: string; key?: string }) =>
      perform(async (services, invocation) => {
        const checkpoints = since === undefined ? [] : await readCheckpointFile(since, key);
        return reconciled(
          await withProgress(invocation, (onStep) =>
            reconcile(services, { patienceMs: patience * 1_000, onStep, checkpoints }),
          ),
        );
      }),
    );
}

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

/** Notes a rebuild in the engine that it made. Returns false when the engine does not open. */
async function noteRebuild({ engine, reopened }: OperatorServices, act: Act): Promise<boolean> {
  if (!(await reopened?.())) return false;
  await engine.acts.note({ name: 'ledger rebuild' }, act);
  return true;
}

function addRebuild(ledger: Command, perform: RunCommand): void {
  withAct(ledger.command('rebuild'))
    .addHelpText(
      'after',
      `
For a lost engine, in an empty Redis: events that were not settled stay lost, and so do dead-man switches
(cancel-after). Clients must set theirs again.
For an engine of another format, which releases before or after this one wrote: nothing is lost. It is refused until
that release has settled every event. Dead-man switches are kept.
Running processes open the engine when it is complete. An interrupted rebuild begins anew.`,
    )
    .description(
      'rebuild the engine from Postgres; refuses to replace one that has the format of this release',
    )
    .action((options: ActOptions) =>
      perform(async (services) => {
        const rebuilt = await rebuildEngine(services);
        const isNoted = await noteRebuild(services, actOf(options));
        const { sequence, markets, accounts, liveOrders, keepsSwitches } = rebuilt;
        const parts = [`${markets} markets`, `${accounts} balances`, `${liveOrders} live orders`];
        const state = `the engine is as it was after event ${sequence}: ${parts.join(', ')}`;
        const switches = keepsSwitches
          ? 'dead-man switches are as they were: those that are due fire when a process opens the engine'
          : 'dead-man switches are lost: clients must set theirs again';
        const notes = isNoted ? [] : ['the engine has not opened yet, so acts do not show this rebuild'];
        return shortResult([state, switches, ...notes].join('\n'), rebuilt);
      }),
    );
}
