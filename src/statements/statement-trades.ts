/** Statements with one row for each trade and each movement, in the columns that Koinly and CoinTracking import. */

import type { Stated, StatementSpan } from '../ledger/index.ts';
import { decimalOf, isoTime, type Scales } from './amounts.ts';
import { amountColumn, type Cell, csvLine, plainColumns, type ReportColumn, textColumns } from './report.ts';
import { receivedAtoms } from './statement.ts';
import type { StatementText } from './statement-text.ts';

interface Sum {
  readonly asset: string;
  readonly atoms: bigint;
}

/** A change of the balances by a line of the statement. */
interface Change {
  readonly time: string;
  readonly sent: Sum | null;
  readonly received: Sum | null;
  /** Beside the amounts, in the quote asset. */
  readonly fee: Sum | null;
  readonly market: string;
  readonly words: string;
  readonly txid: string | null;
  /** No other change has this id. */
  readonly id: string;
}

/** Importers want `2026-01-31 12:00:00`. */
const timeOf = (line: Stated): string => isoTime(line.timeMs).slice(0, 19).replace('T', ' ');

/** Returns the change of a line; null if it changed no balance, as the confirmation of a withdrawal does. */
function changeOf(line: Stated): Change | null {
  const time = timeOf(line);
  if (line.kind !== 'trade') {
    const { kind, asset, reference, txid, sequence } = line;
    const atoms = receivedAtoms(line);
    if (atoms === 0n) return null;
    const sum = { asset, atoms: atoms < 0n ? -atoms : atoms };
    const [sent, received] = atoms < 0n ? [sum, null] : [null, sum];
    const words = `${kind.replaceAll('_', ' ')} ${reference}`;
    return { time, sent, received, fee: null, market: '', words, txid, id: `event-${sequence}-${asset}` };
  }
  const { base, quote, side, feeAtoms, role, tradeId, market } = line;
  const inBase = { asset: base, atoms: line.baseAtoms };
  const inQuote = { asset: quote, atoms: line.notionalAtoms };
  const [sent, received] = side === 'buy' ? [inQuote, inBase] : [inBase, inQuote];
  const fee = feeAtoms === 0n ? null : { asset: quote, atoms: feeAtoms };
  const words = `${market} trade ${tradeId}, order ${line.orderId}`;
  return { time, sent, received, fee, market, words, txid: null, id: `trade-${tradeId}-${role}` };
}

const cellsOf = (sum: Sum | null, scales: Scales): Cell[] =>
  sum === null ? [null, null] : [decimalOf(scales, sum.asset, sum.atoms), sum.asset];

const sumColumns = (name: string): ReportColumn[] => [amountColumn(name), ...textColumns(`${name}Currency`)];

/** Returns a format of one row for each change. */
const rowsOf = (
  titles: string,
  columns: readonly ReportColumn[],
  row: (change: Change, scales: Scales, span: StatementSpan) => Cell[],
): StatementText => ({
  extension: 'csv',
  head: () => `${titles}\n`,
  page: ({ stated, scales }, span) =>
    stated
      .map(changeOf)
      .filter((change) => change !== null)
      .map((change) => csvLine(columns, row(change, scales, span)))
      .join(''),
});

const UNKNOWN_WORTH = [null, null];

/** Koinly's universal template. The fee is not part of the amounts. Koinly looks up what things were worth. */
export const koinly: StatementText = rowsOf(
  'Date,Sent Amount,Sent Currency,Received Amount,Received Currency,Fee Amount,Fee Currency,Net Worth Amount,Net Worth Currency,Label,Description,TxHash',
  [
    ...plainColumns('date'),
    ...['sent', 'received', 'fee', 'netWorth'].flatMap(sumColumns),
    ...textColumns('label', 'description', 'txHash'),
  ],
  ({ time, sent, received, fee, words, txid }, scales) => [
    `${time} UTC`,
    ...[sent, received, fee].flatMap((sum) => cellsOf(sum, scales)),
    ...UNKNOWN_WORTH,
    null,
    words,
    txid,
  ],
);

/** Adds the fee to the side of a trade that is in its asset: CoinTracking counts the amounts alone. */
function withFee({ sent, received, fee }: Change): [bought: Sum | null, sold: Sum | null] {
  if (fee === null || sent === null || received === null) return [received, sent];
  return sent.asset === fee.asset
    ? [received, { ...sent, atoms: sent.atoms + fee.atoms }]
    : [{ ...received, atoms: received.atoms - fee.atoms }, sent];
}

const typeOf = ({ sent, received }: Change): string =>
  sent === null ? 'Deposit' : received === null ? 'Withdrawal' : 'Trade';

/** The columns of CoinTracking's import of CSV, with its optional Tx-ID, by which it finds duplicates. */
export const cointracking: StatementText = rowsOf(
  'Type,Buy Amount,Buy Currency,Sell Amount,Sell Currency,Fee,Fee Currency,Exchange,Trade-Group,Comment,Date,Tx-ID',
  [
    ...textColumns('type'),
    ...['buy', 'sell', 'fee'].flatMap(sumColumns),
    ...textColumns('exchange', 'group', 'comment'),
    ...plainColumns('date'),
    ...textColumns('txId'),
  ],
  (change, scales, { wallet }) => [
    typeOf(change),
    ...[...withFee(change), change.fee].flatMap((sum) => cellsOf(sum, scales)),
    `Redbook ${wallet}`,
    change.market,
    change.words,
    change.time,
    change.txid ?? change.id,
  ],
);
