/** Reports for finance: balances at a time, statements, fees, volumes, movements and entries. */

import { type Command, Option } from 'commander';
import { z } from 'zod';
import { cursorText, nextCursor } from '../../contract/cursor.ts';
import { oneOf, queryText } from '../../contract/fields.ts';
import { readCursor, writeCursor } from '../../contract/list-cursor.ts';
import { inLowerCase, optionalLimit, order, receivable, walletRequest } from '../../contract/operator.ts';
import {
  bom,
  format,
  inOrder,
  moment,
  ofSpan,
  operatorStatementRequest,
  STATEMENT_TEXTS,
  type StatementTextFormat,
} from '../../contract/requests.ts';
import { statementJournal, statementSchema, statementText } from '../../contract/statement.ts';
import { assetSymbol, decimalText, marketSymbol, timestamp, wallet } from '../../contract/values.ts';
import type { Plain } from '../../contract/written.ts';
import type { OperatorCode } from '../../domain/errors.ts';
import { MOVEMENT_SIDES, type MovementSide } from '../../domain/event.ts';
import { type Dimension, TURNOVER_DIMENSIONS } from '../../ledger/index.ts';
import { isoTime } from '../../statements/amounts.ts';
import {
  balancesReport,
  entriesReport,
  feesReport,
  movementsReport,
  volumesReport,
} from '../../statements/books.ts';
import { statementPage } from '../../statements/page.ts';
import { fileName, type Report, recordOf } from '../../statements/report.ts';
import { statementReport } from '../../statements/statement.ts';
import { statementText as wholeStatement } from '../../statements/statement-text.ts';
import {
  ENTRY_ID,
  readDimensions,
  readEntryId,
  readSequence,
  readTimeMs,
  readWallet,
  withoutApostrophe,
} from '../arguments.ts';
import {
  mixedOperation,
  type ObjectOf,
  type Operation,
  type OperationServices,
  replyNames,
  textOperation,
} from '../operation.ts';
import {
  CSV_HELP,
  type CsvOptions,
  printReport,
  printText,
  reportVerb,
  type Span,
  spanOf,
  withCsv,
  withSpan,
} from '../print-report.ts';
import type { WorkingVerb } from '../verb.ts';

type Make<Asked> = (services: Pick<OperationServices, 'ledger'>, asked: Asked) => Promise<Report>;

/** A report. Its command takes the members of the query, without the format, as options of the same names. */
interface ReportOf<Query> {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly path: string;
  readonly query: ObjectOf<Query>;
  readonly reply: z.ZodType;
  readonly codes?: readonly OperatorCode[];
  readonly make: Make<NoInfer<Omit<Query, 'format' | 'bom'>>>;
  readonly verb: (make: Make<NoInfer<Omit<Query, 'format' | 'bom'>>>) => WorkingVerb;
}

interface QueryOfReport extends Partial<Span> {
  readonly format: 'json' | 'csv';
  readonly bom: boolean;
  readonly asOf?: number;
  readonly after?: string | undefined;
}

const reportOperation = <Query extends QueryOfReport>({
  make,
  verb,
  ...definition
}: ReportOf<Query>): Operation =>
  textOperation<string, unknown, Query, z.ZodType>({
    ...definition,
    tag: 'Finance',
    method: 'GET',
    rights: ['read'],
    alsoAs: { 'text/csv': csvText },
    headers: ['Content-Disposition'],
    async run({ ledger }, asked) {
      const { format, bom, after, asOf, from, to } = asked;
      const times = [asOf, from, to].filter((timeMs) => timeMs !== undefined);
      return {
        report: await make({ ledger }, asked),
        format,
        mark: bom,
        isResumed: after !== undefined,
        file: fileName([definition.path.slice(1)], times, 'csv'),
      };
    },
    verbs: [verb(make)],
  });

export const csvText = z
  .string()
  .describe(
    'The same rows, without totals. An apostrophe stands in front of a text that a spreadsheet would run as a formula or read as a number or a date, and of one that begins with an apostrophe.',
  )
  .register(replyNames, { id: 'ReportText' });

const asset = queryText.optional().describe('only this asset');
const ofWallet = inLowerCase.optional().describe('only this wallet');

const signedText = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .describe('exact plain decimal');

const withFilter = (command: Command): Command =>
  command
    .option('--wallet <address>', 'only this wallet', readWallet)
    .option('--asset <symbol>', 'only this asset');

const getBalances = reportOperation({
  id: 'listBalances',
  summary: 'Lists the balances of all accounts at a time, and their sums by asset',
  path: '/balances',
  query: z.object({
    asOf: moment.meta({
      description: 'events at this time or after it do not count',
      examples: ['2026-02-01'],
    }),
    wallet: ofWallet,
    asset,
    format,
    bom,
  }),
  reply: z
    .strictObject({
      asOf: timestamp,
      settledTo: z
        .strictObject({ sequence: z.int().min(0), time: timestamp.nullable() })
        .describe('the last event that counts at all'),
      balances: z.array(
        z.strictObject({
          account: z
            .string()
            .describe(
              'a wallet, `house`, `withdrawals` (pending ones), `custody`, or `receivable:` and a wallet that owes',
            ),
          asset: assetSymbol,
          total: signedText,
          reserved: decimalText,
          available: signedText,
        }),
      ),
      trialBalance: z
        .array(
          z.strictObject({
            asset: assetSymbol,
            wallets: signedText,
            house: signedText,
            withdrawals: signedText,
            receivables: signedText.describe('what wallets owe, below 0'),
            custody: signedText,
            sum: signedText.describe('0'),
          }),
        )
        .optional()
        .describe('sums by asset; absent if only one wallet is asked for'),
    })
    .register(replyNames, { id: 'Balances' }),
  codes: ['UNKNOWN_ASSET'],
  make: ({ ledger }, { asOf, wallet, asset }) => balancesReport(ledger, asOf, { account: wallet, asset }),
  verb: (make) =>
    reportVerb(
      'balances',
      (command) =>
        withFilter(
          command.requiredOption('--as-of <time>', 'time; events at it or after it do not count', readTimeMs),
        ).description('show total, reserved and available balances of all accounts at a time'),
      make,
    ),
});

export const getWalletStatement = textOperation({
  id: 'getWalletStatement',
  tag: 'Wallets',
  summary: 'Returns the statement of a wallet',
  description: 'At most 31 days a request.',
  method: 'GET',
  path: '/wallets/:wallet/statement',
  rights: ['read'],
  params: walletRequest,
  query: operatorStatementRequest,
  reply: statementSchema.register(replyNames, { id: 'Statement' }),
  alsoAs: {
    'text/csv': statementText.register(replyNames, { id: 'StatementText' }),
    'text/plain': statementJournal.register(replyNames, { id: 'StatementJournal' }),
  },
  headers: ['Link', 'Content-Disposition'],
  async run({ ledger }, { wallet, ...asked }) {
    return { page: await statementPage(ledger, wallet, asked) };
  },
  verbs: [
    {
      verb: 'statement',
      describe: (command) =>
        withCsv(withSpan(command))
          .requiredOption('--wallet <address>', 'wallet', readWallet)
          .addOption(
            new Option('--format <format>', 'print what a program of this name imports').choices(
              STATEMENT_TEXTS,
            ),
          )
          .description('show opening balances, every change and closing balances of a wallet'),
      work:
        ({ wallet, csv, bom, format = csv || bom ? 'csv' : undefined, ...span }: StatementOptions) =>
        async ({ ledger }, { terminal, json }) => {
          const asked = { wallet, ...spanOf(span) };
          const { longPage } = ledger.statements;
          if (json || format === undefined)
            await printReport(
              statementReport(longPage, asked),
              { format: json ? 'json' : 'table' },
              terminal,
            );
          else await printText(wholeStatement(longPage, asked, { format, bom }), terminal);
          return undefined;
        },
    },
  ],
});

interface StatementOptions extends Span, CsvOptions {
  wallet: string;
  format?: StatementTextFormat;
}

const turnoverRequest = inOrder(
  z.object({
    ...ofSpan,
    by: queryText
      .transform((list) => list.split(','))
      .refine(
        (names): names is Dimension[] =>
          names.every((name) => (TURNOVER_DIMENSIONS as readonly string[]).includes(name)),
        `must be a list of ${TURNOVER_DIMENSIONS.join(', ')}`,
      )
      .refine((names) => new Set(names).size === names.length, 'must name each once')
      .meta({
        description: `what sums are split by: a list of ${TURNOVER_DIMENSIONS.join(', ')} (the taker)`,
        examples: ['day,market'],
      }),
    format,
    bom,
  }),
);

const withDimensions = (command: Command): Command =>
  withSpan(command).requiredOption(
    '--by <list>',
    'sums by day, month, market or wallet (taker), like day,market',
    readDimensions,
  );

const ofDimensions = {
  day: z.string().optional(),
  month: z.string().optional(),
  market: marketSymbol.optional(),
  wallet: wallet.optional(),
};
const trades = z.int().min(1);
const span = { from: timestamp, to: timestamp };

const getFees = reportOperation({
  id: 'sumFees',
  summary: 'Sums the fees that the house earned in a span of time',
  path: '/fees',
  query: turnoverRequest,
  reply: z
    .strictObject({
      ...span,
      fees: z.array(
        z.strictObject({
          ...ofDimensions,
          asset: assetSymbol,
          trades,
          notional: decimalText,
          fee: decimalText,
        }),
      ),
    })
    .register(replyNames, { id: 'Fees' }),
  make: ({ ledger }, asked) => feesReport(ledger, spanOf(asked), asked.by),
  verb: (make) =>
    reportVerb(
      'fees',
      (command) => withDimensions(command).description('show the fees that the house earned'),
      make,
    ),
});

const getVolumes = reportOperation({
  id: 'sumVolumes',
  summary: 'Sums the volumes of trades in a span of time',
  path: '/volumes',
  query: turnoverRequest,
  reply: z
    .strictObject({
      ...span,
      volumes: z.array(
        z.strictObject({
          ...ofDimensions,
          trades,
          baseAsset: assetSymbol,
          baseVolume: decimalText,
          quoteAsset: assetSymbol,
          quoteVolume: decimalText,
        }),
      ),
    })
    .register(replyNames, { id: 'Volumes' }),
  make: ({ ledger }, asked) => volumesReport(ledger, spanOf(asked), asked.by),
  verb: (make) =>
    reportVerb(
      'volumes',
      (command) => withDimensions(command).description('show the volumes of trades'),
      make,
    ),
});

const movement = z.strictObject({
  time: timestamp,
  kind: z.string(),
  wallet,
  asset: assetSymbol,
  amount: decimalText,
  reference: z.string(),
  reverses: z.string().nullable(),
  sequence: z.int().min(1),
  txid: z.string().nullable().describe('of a withdrawal: on its request and on its confirmation'),
  receivable,
  by: z.string().nullable().describe('person or key'),
  reason: z.string().nullable(),
});
type Movement = Plain<typeof movement>;

const getMovements = mixedOperation({
  id: 'listMovements',
  tag: 'Finance',
  summary: 'Lists deposits and withdrawals in a span of time',
  description:
    'With `limit`, JSON has a page and the cursor of the next one. Without it, and in CSV, the reply has all, or all that follow the cursor.',
  method: 'GET',
  path: '/movements',
  rights: ['read'],
  query: inOrder(
    z.object({
      ...ofSpan,
      wallet: ofWallet,
      asset,
      side: oneOf(MOVEMENT_SIDES).optional().describe('only deposits, or only withdrawals, with their steps'),
      order,
      limit: optionalLimit,
      cursor: cursorText,
      format,
      bom,
    }),
  ),
  reply: z
    .strictObject({
      ...span,
      movements: z.array(movement).describe('in the order that was asked for'),
      nextCursor: nextCursor.optional().describe('absent without `limit`; null on the last page'),
    })
    .register(replyNames, { id: 'MovementsOfSpan' }),
  alsoAs: { 'text/csv': csvText },
  headers: ['Content-Disposition'],
  codes: ['UNKNOWN_ASSET'],
  async run({ ledger }, { from, to, wallet, asset, side, order, limit, cursor, format, bom }) {
    const scope = { list: 'movements', from: `${from}`, to: `${to}`, wallet, asset, side, order };
    const after = cursor === undefined ? undefined : readCursor(scope, cursor);
    const filter = { ...spanOf({ from, to }), wallet, asset, side, direction: order, after };
    if (limit === undefined || format === 'csv') {
      const file = fileName(['movements'], [from, to], 'csv');
      const report = await movementsReport(ledger, filter);
      return { report, format, mark: bom, isResumed: after !== undefined, file };
    }
    // One movement more than the page tells that another page follows.
    const { columns, rows } = await movementsReport(ledger, { ...filter, limit: limit + 1 });
    const found: Movement[] = [];
    for await (const cells of rows) found.push(recordOf(columns, cells) as Movement);
    const movements = found.slice(0, limit);
    const next = found.length > limit ? movements.at(-1)!.sequence : null;
    const reply = { from: isoTime(from), to: isoTime(to), movements };
    return { reply: { ...reply, nextCursor: writeCursor(scope, next) } };
  },
  verbs: [
    reportVerb<Span & { wallet?: string; asset?: string; side?: MovementSide; after?: number }>(
      'movements',
      (command) =>
        withFilter(withSpan(command))
          .addOption(
            new Option('--side <side>', 'only deposits or withdrawals, with their steps').choices(
              MOVEMENT_SIDES,
            ),
          )
          .option(
            '--after <sequence>',
            'continue after this event, in CSV without a header row',
            readSequence,
          )
          .description('list deposits and withdrawals'),
      ({ ledger }, { from, to, ...filter }) =>
        movementsReport(ledger, { ...spanOf({ from, to }), ...filter }),
    ),
  ],
});

interface ExportOptions {
  from: number;
  to: number;
  asset?: string;
  wallet?: string;
  format: 'csv' | 'jsonl';
  bom?: true;
  after?: string;
}

export const getEntries = reportOperation({
  id: 'exportEntries',
  summary: 'Returns the entries of the double-entry ledger in a span of time',
  description: 'To go on with an answer that was cut off, pass the id of its last whole entry as `after`.',
  path: '/entries',
  query: inOrder(
    z.object({
      ...ofSpan,
      wallet: ofWallet,
      asset,
      after: queryText
        .transform(withoutApostrophe)
        .pipe(z.string().regex(ENTRY_ID, 'must be an entry id like 1234-0'))
        .optional()
        .describe('entry id after which the list begins; CSV has no header row then'),
      format,
      bom,
    }),
  ),
  reply: z
    .strictObject({
      entries: z
        .array(
          z.strictObject({
            entryId: z.string().regex(ENTRY_ID).describe('event, and line in it'),
            time: timestamp,
            transactionId: z.string().describe('entries of a transaction sum to zero in each asset'),
            kind: z.string(),
            account: z
              .string()
              .describe(
                'a wallet, `house`, `withdrawals`, `custody`, or `receivable:` and a wallet that owes',
              ),
            asset: assetSymbol,
            amount: signedText.describe('positive: the account received'),
            reference: z.string().describe('the order, or the reference of a deposit or withdrawal'),
            market: marketSymbol.nullable(),
            side: z.enum(['buy', 'sell']).nullable(),
            price: decimalText.nullable(),
            size: decimalText.nullable(),
            feeBps: z.number().nullable(),
          }),
        )
        .describe('oldest first'),
    })
    .register(replyNames, { id: 'Entries' }),
  codes: ['UNKNOWN_ASSET'],
  make: ({ ledger }, { wallet, asset, after, ...asked }) =>
    entriesReport(ledger, { ...spanOf(asked), account: wallet, asset, after }),
  verb: (make) => ({
    verb: 'export',
    describe: (command) =>
      withSpan(command)
        .option('--asset <symbol>', 'only this asset')
        .option('--wallet <address>', 'only this wallet', readWallet)
        .addOption(new Option('--format <format>', 'output format').choices(['csv', 'jsonl']).default('csv'))
        .option('--bom', 'begin CSV with a byte order mark, by which spreadsheets know that it is UTF-8')
        .option('--after <entry>', 'continue after this entry id, without a header row', readEntryId)
        .addHelpText(
          'after',
          `
The entries of a transaction sum to zero in each asset. A positive amount is received by the account.
With --json, the entries are one document, whatever the format. To continue an interrupted export, pass the entry id
of its last whole line to --after.
${CSV_HELP}`,
        )
        .description('export the double-entry ledger in the order of its entries'),
    work:
      ({ format, bom, ...asked }: ExportOptions) =>
      async (services, { terminal, json }) => {
        const report = await make(services, asked);
        const isResumed = asked.after !== undefined;
        await printReport(report, { format: json ? 'json' : format, mark: bom, isResumed }, terminal);
        return undefined;
      },
  }),
});

export const REPORTS = [getBalances, getWalletStatement, getFees, getVolumes, getMovements, getEntries];
