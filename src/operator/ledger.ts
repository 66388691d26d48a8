/** Commands on the books: reconcile, rebuild, and those of finance. */

import type { Command } from 'commander';
import { adoptEngine, type Seam } from '../books/adopt/index.ts';
import { rebuildEngine } from '../books/rebuild.ts';
import { type Reconciliation, reconcile } from '../books/reconcile/index.ts';
import { renderReconciliation } from '../books/reconcile/text.ts';
import type { Act } from '../domain/act.ts';
import { OperatorRefusal } from '../domain/errors.ts';
import { decimalOf } from '../statements/amounts.ts';
import type { Paint } from '../terminal/paint.ts';
import { column, formatCounted, renderTable } from '../terminal/table.ts';
import { type ActOptions, actOf, withAct } from './act-options.ts';
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
  addAdopt(ledger, perform);
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

interface AdoptOptions extends ActOptions {
  confirm?: number;
}

/** Balances that are listed on the terminal; --json has them all. */
const LISTED_BALANCES = 100;

function seamText({ balances, orders, scales, ...seam }: Seam): (paint: Paint) => string {
  const { afterSequence, sequence, lastSequence, settings, pendingWithdrawals } = seam;
  const counts = [
    `${formatCounted(orders.placed)} live orders are new, ${formatCounted(orders.filled)} were filled further`,
    `${formatCounted(orders.ended)} have ended, ${formatCounted(settings)} settings changed`,
  ].join(', ');
  const facts = [
    `events ${afterSequence + 1} to ${sequence} are lost: Postgres has none of them, and the engine only what they left`,
    sequence === lastSequence
      ? 'no event follows them'
      : `events ${sequence + 1} to ${lastSequence} follow, and settlement writes them`,
    counts,
    `${formatCounted(balances.length)} balances differ${balances.length > LISTED_BALANCES ? '; the first ones:' : ''}`,
  ];
  const rows = balances
    .slice(0, LISTED_BALANCES)
    .map(({ account, asset, atoms }) => [account, asset, String(decimalOf(scales, asset, atoms))]);
  const pending = `${formatCounted(pendingWithdrawals)} withdrawals are pending by Postgres: ask custody which of them have ended`;
  return (paint) =>
    [
      ...facts,
      ...(rows.length > 0
        ? [
            renderTable(
              [column('ACCOUNT'), column('ASSET'), column('CHANGE', 'point')],
              rows,
              paint,
            ).trimEnd(),
          ]
        : []),
      ...(pendingWithdrawals > 0 ? [pending] : []),
      seam.isWritten ? `adopted: the ledger continues after event ${sequence}` : '',
    ].join('\n');
}

function addAdopt(ledger: Command, perform: RunCommand): void {
  withAct(ledger.command('adopt'))
    .option('--confirm <event>', 'the last lost event, as the command has named it', readWholeNumber)
    .addHelpText(
      'after',
      `
For a Postgres that was restored to before the events that the engine still has. Stop all processes but Redis and
Postgres first. Without --confirm it lists what the lost events changed, and changes nothing. With --confirm the ledger
gets the engine's balances, live orders, markets and settings; start settlement again afterwards. The trades, deposits
and withdrawals of the lost events stay lost, and so do their references and client order ids.`,
    )
    .description(
      'write the state of the engine into a Postgres that lacks events which the engine has dropped',
    )
    .action(({ confirm, ...options }: AdoptOptions) =>
      perform(async (services) => {
        const seam = await adoptEngine(services, { act: actOf(options), confirmed: confirm });
        const { scales, ...shown } = seam;
        const balances = seam.balances.map(({ account, asset, atoms }) => ({
          account,
          asset,
          change: decimalOf(scales, asset, atoms),
        }));
        return {
          document: { ...shown, balances },
          text: (paint) => `${seamText(seam)(paint).trimEnd()}\n`,
          failure: seam.isWritten
            ? undefined
            : new OperatorRefusal(
                'CONFIRM',
                `nothing was changed. To adopt the engine, repeat the command with --confirm ${seam.sequence}`,
              ),
        };
      }),
    );
}
