/** Commands of finance on the ledger: balances at a time, statements, fees, volumes, movements, entries, closings. */

import { type Command, Option } from 'commander';
import { closeMonth } from '../books/closing.ts';
import type { Dimension } from '../ledger/index.ts';
import {
  balancesReport,
  closingDocument,
  entriesReport,
  feesReport,
  movementsReport,
  volumesReport,
} from '../statements/books.ts';
import type { ReportFormat } from '../statements/report.ts';
import { statementReport } from '../statements/statement.ts';
import { type ActOptions, actOf, withAct } from './act-options.ts';
import {
  readDimensions,
  readEntryId,
  readMonth,
  readTimeMs,
  readWallet,
  readWholeNumber,
} from './arguments.ts';
import { checkpointLine } from './checkpoints.ts';
import { addOperation } from './operation.ts';
import { listClosings } from './operations/service.ts';
import { addReport, CSV_HELP, printReport } from './print-report.ts';
import { type RunCommand, shortResult } from './verb.ts';

const WALLET_OPTION = ['--wallet <address>', 'only this wallet', readWallet] as const;
const ASSET_OPTION = ['--asset <symbol>', 'only this asset'] as const;

const withSpan = (command: Command): Command =>
  command
    .requiredOption(
      '--from <time>',
      'start time, inclusive, like 2026-01-01 (UTC) or 2026-01-01T12:00:00Z',
      readTimeMs,
    )
    .requiredOption('--to <time>', 'end time, exclusive', readTimeMs)
    .hook('preAction', (_, asked) => {
      const { from, to } = asked.opts<Span>();
      if (to < from) asked.error('error: --to must not be before --from');
    });

interface Span {
  from: number;
  to: number;
}
const spanOf = ({ from, to }: Span) => ({ fromMs: from, toMs: to });

export function addStatementCommands(ledger: Command, perform: RunCommand): void {
  addBalances(ledger, perform);
  addStatement(ledger, perform);
  addTurnover(ledger, perform);
  addMovements(ledger, perform);
  addExport(ledger, perform);
  addClosings(ledger, perform);
}

function addBalances(ledger: Command, perform: RunCommand): void {
  const balances = ledger
    .command('balances')
    .requiredOption('--as-of <time>', 'time; events at it or after it do not count', readTimeMs)
    .option(...WALLET_OPTION)
    .option(...ASSET_OPTION)
    .description('show total, reserved and available balances of all accounts at a time');
  addReport<{ asOf: number; wallet?: string; asset?: string }>(balances, perform, ({ ledger }, options) =>
    balancesReport(ledger, options.asOf, { account: options.wallet, asset: options.asset }),
  );
}

function addStatement(ledger: Command, perform: RunCommand): void {
  const statement = withSpan(ledger.command('statement'))
    .requiredOption('--wallet <address>', 'wallet', readWallet)
    .description('show opening balances, every change and closing balances of a wallet');
  addReport<Span & { wallet: string }>(statement, perform, async ({ ledger }, { wallet, ...span }) =>
    statementReport(ledger.statements.longPage, { wallet, ...spanOf(span) }),
  );
}

const TURNOVER = [
  ['fees', 'show the fees that the house earned', feesReport],
  ['volumes', 'show the volumes of trades', volumesReport],
] as const;

function addTurnover(ledger: Command, perform: RunCommand): void {
  for (const [name, description, report] of TURNOVER) {
    const command = withSpan(ledger.command(name))
      .requiredOption(
        '--by <list>',
        'sums by day, month, market or wallet (taker), like day,market',
        readDimensions,
      )
      .description(description);
    addReport<Span & { by: Dimension[] }>(command, perform, ({ ledger }, options) =>
      report(ledger, spanOf(options), options.by),
    );
  }
}

function addMovements(ledger: Command, perform: RunCommand): void {
  const movements = withSpan(ledger.command('movements'))
    .option(...WALLET_OPTION)
    .option(...ASSET_OPTION)
    .description('list deposits and withdrawals');
  addReport<Span & { wallet?: string; asset?: string }>(movements, perform, ({ ledger }, options) =>
    movementsReport(ledger, { ...spanOf(options), wallet: options.wallet, asset: options.asset }),
  );
}

interface ExportOptions extends Span {
  asset?: string;
  wallet?: string;
  format: ReportFormat;
  after?: string;
}

function addExport(ledger: Command, perform: RunCommand): void {
  withSpan(ledger.command('export'))
    .option(...ASSET_OPTION)
    .option(...WALLET_OPTION)
    .addOption(new Option('--format <format>', 'output format').choices(['csv', 'jsonl']).default('csv'))
    .option('--after <entry>', 'continue after this entry id, without a header row', readEntryId)
    .addHelpText(
      'after',
      `
The entries of a transaction sum to zero in each asset. A positive amount is received by the account.
With --json, the entries are one document, whatever the format. To continue an interrupted export, pass the entry id
of its last whole line to --after.
${CSV_HELP}`,
    )
    .description('export the double-entry ledger in the order of its entries')
    .action((options: ExportOptions) =>
      perform(async ({ ledger }, { terminal, json }) => {
        const { asset, after, wallet } = options;
        const report = await entriesReport(ledger, { ...spanOf(options), asset, account: wallet, after });
        await printReport(report, json ? 'json' : options.format, terminal, after !== undefined);
        return undefined;
      }),
    );
}

function addClosings(ledger: Command, perform: RunCommand): void {
  withAct(ledger.command('close'))
    .argument('<month>', 'month like 2026-11 (UTC)', readMonth)
    .option('--patience <seconds>', 'maximum time without progress of settlement', readWholeNumber, 30)
    .option('--key <file>', 'Ed25519 private key in PEM, which signs the checkpoint of the closing')
    .addHelpText(
      'after',
      '\nA month that is closed already stays as it is. The line of JSON is a checkpoint, which contains the closing: keep it\nwhere nobody who may write to the database can write.',
    )
    .description('keep the balances of all accounts at the end of a month')
    .action((month: string, { patience, key, ...options }: ActOptions & { patience: number; key?: string }) =>
      perform(async (services) => {
        const { isNew, ...closing } = await closeMonth(services, month, patience * 1_000, actOf(options));
        const checkpoint = await checkpointLine(services, key);
        const document = { ...closingDocument(closing), isNew, checkpoint: JSON.parse(checkpoint) };
        const figures = `${closing.balances} balances after event ${closing.sequence}, digest ${closing.digest}`;
        return shortResult(
          `${month} ${isNew ? 'is closed' : 'was closed before: nothing changed'}: ${figures}\n${checkpoint}`,
          document,
        );
      }),
    );
  addOperation(ledger, perform, listClosings);
}
