/** Commands on the books: reconcile, export and rebuild. */

import { type Command, Option } from 'commander';
import { rebuildEngine } from '../books/rebuild.ts';
import { type CheckResult, type Reconciliation, reconcile } from '../books/reconcile/index.ts';
import { OperatorRefusal } from '../domain/errors.ts';
import type { EntriesFilter } from '../ledger/index.ts';
import { readEntryId, readTimeMs, readWholeNumber } from './arguments.ts';
import { EXPORT_FORMATS, type ExportFormat, exportText } from './ledger-export.ts';
import { withProgress } from './progress.ts';
import { column, formatCounted, renderTable, shown } from './table.ts';
import { type Paint, write } from './terminal.ts';
import { addNoun, type CommandResult, type RunCommand, shortResult } from './verb.ts';

export function addLedgerCommands(program: Command, perform: RunCommand): void {
  const ledger = addNoun(program, 'ledger', 'check, export and rebuild the ledger');
  addReconcile(ledger, perform);
  addExport(ledger, perform);
  addRebuild(ledger, perform);
}

function addReconcile(ledger: Command, perform: RunCommand): void {
  ledger
    .command('reconcile')
    .option('--patience <seconds>', 'maximum time without progress of settlement', readWholeNumber, 30)
    .addHelpText(
      'after',
      `
The exit status is 0 only if everything holds. Trading continues meanwhile.
Without --json, a long reconcile prints its step on stderr every 15 seconds.`,
    )
    .description('check every invariant of the engine and the ledger')
    .action(({ patience }: { patience: number }) =>
      perform(async (services, invocation) =>
        reconciled(
          await withProgress(invocation, (onStep) =>
            reconcile(services, { patienceMs: patience * 1_000, onStep }),
          ),
        ),
      ),
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

const CHECK_COLUMNS = [column('CHECK'), column('ASSET'), column('COMPARED'), column('RESULT')];

const resultOf = ({ count }: CheckResult): string =>
  count === 0 ? 'holds' : `${formatCounted(count)} ${count === 1 ? 'difference' : 'differences'}`;

export function renderReconciliation({ holds, checks, sequence }: Reconciliation, paint: Paint): string {
  const table = renderTable(
    CHECK_COLUMNS,
    checks.map((check) => [check.name, check.asset ?? '', check.compared, resultOf(check)]),
    paint,
  );
  const details = checks.filter(({ count }) => count > 0).map((check) => renderDifferences(check, paint));
  const verdict = holds
    ? paint('green', `everything holds: ${checks.length} checks, up to event ${sequence}`)
    : paint('red', 'not everything holds');
  return `${[table, ...details].join('\n')}\n${verdict}\n`;
}

function renderDifferences(check: CheckResult, paint: Paint): string {
  const lines = check.differences.map(
    ({ subject, expected, found }) =>
      `  ${shown(subject)}\n    expected ${shown(expected)}\n    found    ${shown(found)}\n`,
  );
  const more = check.count - check.differences.length;
  const rest = more > 0 ? `  … and ${formatCounted(more)} more\n` : '';
  const title = `${check.name}${check.asset === null ? '' : ` of ${check.asset}`}`;
  return `${paint('bold', title)}: ${check.meaning}\n${lines.join('')}${rest}`;
}

interface ExportOptions {
  from: number;
  to: number;
  asset?: string;
  format: ExportFormat;
  after?: string;
}

function addExport(ledger: Command, perform: RunCommand): void {
  ledger
    .command('export')
    .requiredOption(
      '--from <time>',
      'start time, inclusive, like 2026-01-01 (UTC) or 2026-01-01T12:00:00Z',
      readTimeMs,
    )
    .requiredOption('--to <time>', 'end time, exclusive', readTimeMs)
    .option('--asset <symbol>', 'export only entries in this asset')
    .addOption(new Option('--format <format>', 'output format').choices(EXPORT_FORMATS).default('csv'))
    .option('--after <entry>', 'continue after this entry id, without a header row', readEntryId)
    .addHelpText(
      'after',
      `
The entries of a transaction sum to zero in each asset. A positive amount is received by the account.
With --json, the entries are one document, whatever the format.
In CSV, a text that a spreadsheet would run as a formula (it begins with = + - @, a TAB or a line break) has an
apostrophe in front. An importer drops one apostrophe where such a character, or more apostrophes and then such a
character, follow it. Amounts are never changed; jsonl and --json have every text as it is.
To continue an interrupted export, pass the entry id of its last whole line to --after.`,
    )
    .description('export the double-entry ledger in the order of its entries')
    .action((options: ExportOptions) =>
      perform(async ({ ledger }, { terminal, json }) => {
        const { from, to, asset, after } = options;
        const filter: EntriesFilter = {
          fromMs: from,
          toMs: to,
          ...(asset === undefined ? {} : { asset }),
          ...(after === undefined ? {} : { after }),
        };
        const text = exportText(
          ledger.journal.entries(filter),
          json ? 'json' : options.format,
          after !== undefined,
        );
        for await (const chunk of text) await write(terminal.out, chunk);
        return undefined;
      }),
    );
}

function addRebuild(ledger: Command, perform: RunCommand): void {
  ledger
    .command('rebuild')
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
    .action(() =>
      perform(async (services) => {
        const rebuilt = await rebuildEngine(services);
        const { sequence, markets, accounts, liveOrders, keepsSwitches } = rebuilt;
        const parts = [`${markets} markets`, `${accounts} balances`, `${liveOrders} live orders`];
        const state = `the engine is as it was after event ${sequence}: ${parts.join(', ')}`;
        const switches = keepsSwitches
          ? 'dead-man switches are as they were: those that are due fire when a process opens the engine'
          : 'dead-man switches are lost: clients must set theirs again';
        return shortResult(`${state}\n${switches}`, rebuilt);
      }),
    );
}
