/** The statement of a wallet: opening balances, every change of a balance, and closing balances. */

import type { Stated, StatementPage, StatementPosition, StatementSpan } from '../ledger/index.ts';
import { decimalOf, isoTime, type Scales } from './amounts.ts';
import {
  amountColumn,
  type Cell,
  plainColumns,
  type Report,
  type ReportColumn,
  textColumns,
} from './report.ts';

/**
 * Each row is one change of one asset, so that for each asset the opening row and the amounts sum to the closing row. A
 * trade has a row for each of its assets, and another one for its fee. A movement that changes what the wallet owes has
 * another row for that.
 */
export const STATEMENT_COLUMNS: readonly ReportColumn[] = [
  ...textColumns('time', 'kind', 'asset'),
  amountColumn('amount'),
  ...textColumns('market', 'side', 'role'),
  ...['price', 'size', 'fee', 'feeBps'].map(amountColumn),
  ...textColumns('counterAsset'),
  amountColumn('counterAmount'),
  ...textColumns('orderId'),
  ...plainColumns('tradeId'),
  ...textColumns('reference', 'sequence', 'txid'),
];

type Amounts = readonly (readonly [asset: string, atoms: bigint])[];

function balanceRows(
  kind: 'opening' | 'closing',
  timeMs: number,
  amounts: Amounts,
  scales: Scales,
): Cell[][] {
  return amounts.map(([asset, atoms]) => [isoTime(timeMs), kind, asset, decimalOf(scales, asset, atoms)]);
}

type StatedMovement = Exclude<Stated, { kind: 'trade' }>;

function signOf({ kind }: StatedMovement): bigint {
  if (kind === 'deposit' || kind === 'withdrawal_returned' || kind === 'adoption') return 1n;
  // The wallet paid when it was requested.
  return kind === 'withdrawal_confirmed' ? 0n : -1n;
}

/** Returns the change of the wallet's balance. */
export const receivedAtoms = (line: StatedMovement): bigint =>
  signOf(line) * (line.amountAtoms - line.owedAtoms);

/** Returns the rows of a line, as the cells of `STATEMENT_COLUMNS`. */
export function rowsOfLine(line: Stated, scales: Scales): Cell[][] {
  const time = isoTime(line.timeMs);
  if (line.kind !== 'trade') {
    const { kind, asset, reference, sequence, txid, owedAtoms } = line;
    const none = Array<null>(11).fill(null);
    const sign = signOf(line);
    const row = (kind: string, atoms: bigint): Cell[] => {
      const amount = decimalOf(scales, asset, atoms);
      return [time, kind, asset, amount, ...none, reference, sequence, txid];
    };
    // The wallet owes the part that a reversal did not find, and pays it with the next receipts.
    const rows = [row(kind, sign * line.amountAtoms)];
    return owedAtoms === 0n ? rows : [...rows, row('receivable', -sign * owedAtoms)];
  }
  const { base, quote, side, feeAtoms } = line;
  const sign = side === 'buy' ? 1n : -1n;
  const inBase = sign * line.baseAtoms;
  const inQuote = -sign * line.notionalAtoms;
  const fee = decimalOf(scales, quote, feeAtoms);
  // A maker pays nothing.
  const feeBps = line.role === 'taker' ? line.feeBps : 0;
  const row = (
    kind: string,
    asset: string,
    atoms: bigint,
    shownFee: string | null,
    feeBps: number | null,
    counter: Cell[],
  ): Cell[] => [
    time,
    kind,
    asset,
    decimalOf(scales, asset, atoms),
    line.market,
    side,
    line.role,
    line.price,
    line.size,
    shownFee,
    feeBps,
    ...counter,
    line.orderId,
    String(line.tradeId),
    null,
    line.sequence,
    null,
  ];
  const rows = [
    row('trade', base, inBase, fee, feeBps, [quote, decimalOf(scales, quote, inQuote)]),
    row('trade', quote, inQuote, null, null, [base, decimalOf(scales, base, inBase)]),
  ];
  if (feeAtoms !== 0n) rows.push(row('fee', quote, -feeAtoms, null, feeBps, [null, null]));
  return rows;
}

/** Returns the rows of a page, with those of the balances that it has. */
export function rowsOfPage(
  { opening, stated, closing, scales }: StatementPage,
  { fromMs, toMs }: StatementSpan,
): Cell[][] {
  const rows = stated.flatMap((line) => rowsOfLine(line, scales));
  if (opening !== null) rows.unshift(...balanceRows('opening', fromMs, [...opening], scales));
  if (closing !== null) rows.push(...balanceRows('closing', toMs, [...closing], scales));
  return rows;
}

/** Reads one page of a statement. */
export type ReadPage = (
  span: StatementSpan,
  after: StatementPosition | null,
  limit: number,
) => Promise<StatementPage>;

const PAGE_LINES = 2_000;

/** Yields the pages of a whole statement; at most one of them is in memory. */
export async function* pagesOf(readPage: ReadPage, span: StatementSpan): AsyncGenerator<StatementPage> {
  let after: StatementPosition | null = null;
  do {
    const page: StatementPage = await readPage(span, after, PAGE_LINES);
    yield page;
    after = page.next;
  } while (after !== null);
}

/** Returns the whole statement. */
export function statementReport(readPage: ReadPage, span: StatementSpan): Report {
  async function* rows(): AsyncGenerator<readonly Cell[]> {
    for await (const page of pagesOf(readPage, span)) yield* rowsOfPage(page, span);
  }
  const { wallet, fromMs, toMs } = span;
  return {
    facts: { wallet, from: isoTime(fromMs), to: isoTime(toMs) },
    list: 'lines',
    columns: STATEMENT_COLUMNS,
    rows: rows(),
  };
}
