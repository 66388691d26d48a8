/** Reports on all accounts: balances at a time, fees, volumes, movements, entries and closings. */

import { OperatorRefusal } from '../domain/errors.ts';
import type {
  AccountFigures,
  BalancesFilter,
  Closing,
  Dimension,
  EntriesFilter,
  Ledger,
  LedgerEntry,
  MovementsFilter,
  TurnoverSpan,
} from '../ledger/index.ts';
import { CUSTODY, debtorOf, HOUSE, WITHDRAWALS } from '../ledger/index.ts';
import { decimalOf, isoTime, readScales, type Scales } from './amounts.ts';
import {
  amountColumn,
  type Cell,
  mapped,
  plainColumns,
  type Report,
  type ReportColumn,
  textColumns,
} from './report.ts';

type Books = Pick<Ledger, 'balances' | 'turnover' | 'journal' | 'state'>;

/**
 * Returns the scales of all assets. A report on an asset that nobody knows would be empty, as if it held nothing.
 * @throws OperatorRefusal UNKNOWN_ASSET
 */
async function scalesFor(books: Pick<Ledger, 'state'>, asset: string | undefined): Promise<Scales> {
  const scales = await readScales(books);
  if (asset !== undefined && !scales.has(asset))
    throw new OperatorRefusal('UNKNOWN_ASSET', `unknown asset ${asset}`);
  return scales;
}

/** Sums of an asset over all accounts. */
class TrialBalance {
  readonly #sums = new Map<
    string,
    { wallets: bigint; house: bigint; withdrawals: bigint; receivables: bigint; custody: bigint }
  >();

  add({ account, asset, totalAtoms }: AccountFigures): void {
    const none = { wallets: 0n, house: 0n, withdrawals: 0n, receivables: 0n, custody: 0n };
    const sum = this.#sums.get(asset) ?? none;
    this.#sums.set(asset, sum);
    const isOwn = account === HOUSE || account === WITHDRAWALS || account === CUSTODY;
    const ofWallets = debtorOf(account) === undefined ? 'wallets' : 'receivables';
    sum[isOwn ? account : ofWallets] += totalAtoms;
  }

  lines(scales: Scales): object[] {
    return [...this.#sums].sort().map(([asset, { wallets, house, withdrawals, receivables, custody }]) => ({
      asset,
      wallets: decimalOf(scales, asset, wallets),
      house: decimalOf(scales, asset, house),
      withdrawals: decimalOf(scales, asset, withdrawals),
      receivables: decimalOf(scales, asset, receivables),
      custody: decimalOf(scales, asset, custody),
      sum: decimalOf(scales, asset, wallets + house + withdrawals + receivables + custody),
    }));
  }
}

/**
 * Returns the balances of all accounts right before a time, and the sums of all of them by asset. The report of one
 * wallet or one asset is made of fewer accounts, and has no such sums.
 */
export async function balancesReport(books: Books, timeMs: number, filter: BalancesFilter): Promise<Report> {
  const scales = await scalesFor(books, filter.asset);
  const { sequence, timeMs: settledMs } = await books.balances.cursor();
  const trial = new TrialBalance();
  const isWhole = filter.account === undefined;
  return {
    facts: {
      asOf: isoTime(timeMs),
      settledTo: { sequence, time: settledMs === null ? null : isoTime(settledMs) },
    },
    list: 'balances',
    columns: [...textColumns('account', 'asset'), ...['total', 'reserved', 'available'].map(amountColumn)],
    rows: mapped(books.balances.at(timeMs, filter), (figures) => {
      const { account, asset, totalAtoms, reservedAtoms } = figures;
      trial.add(figures);
      const decimals = [totalAtoms, reservedAtoms, totalAtoms - reservedAtoms];
      return [account, asset, ...decimals.map((atoms) => decimalOf(scales, asset, atoms))];
    }),
    ...(isWhole && { totals: () => ({ trialBalance: trial.lines(scales) }) }),
  };
}

const spanFacts = ({ fromMs, toMs }: TurnoverSpan) => ({ from: isoTime(fromMs), to: isoTime(toMs) });

const columnsOf = (dimensions: readonly Dimension[]): ReportColumn[] =>
  dimensions.flatMap((name) => (name === 'day' || name === 'month' ? plainColumns : textColumns)(name));

/** Returns the fees that the house earned, by dimensions and quote asset. */
export async function feesReport(
  books: Books,
  span: TurnoverSpan,
  dimensions: readonly Dimension[],
): Promise<Report> {
  const scales = await readScales(books);
  return {
    facts: spanFacts(span),
    list: 'fees',
    columns: [
      ...columnsOf(dimensions),
      ...textColumns('asset', 'trades'),
      ...['notional', 'fee'].map(amountColumn),
    ],
    rows: mapped(books.turnover.fees(span, dimensions), ({ by, quote, trades, notionalAtoms, feeAtoms }) => [
      ...by,
      quote,
      trades,
      decimalOf(scales, quote, notionalAtoms),
      decimalOf(scales, quote, feeAtoms),
    ]),
  };
}

/** Returns the volumes of trades, by dimensions and pair of assets. */
export async function volumesReport(
  books: Books,
  span: TurnoverSpan,
  dimensions: readonly Dimension[],
): Promise<Report> {
  const scales = await readScales(books);
  return {
    facts: spanFacts(span),
    list: 'volumes',
    columns: [
      ...columnsOf(dimensions),
      ...textColumns('trades', 'baseAsset'),
      amountColumn('baseVolume'),
      ...textColumns('quoteAsset'),
      amountColumn('quoteVolume'),
    ],
    rows: mapped(books.turnover.volumes(span, dimensions), ({ by, base, quote, trades, ...sums }) => [
      ...by,
      trades,
      base,
      decimalOf(scales, base, sums.baseAtoms),
      quote,
      decimalOf(scales, quote, sums.notionalAtoms),
    ]),
  };
}

/** Returns deposits and withdrawals, oldest first. */
export async function movementsReport(
  books: Pick<Ledger, 'journal' | 'state'>,
  filter: MovementsFilter,
): Promise<Report> {
  const scales = await scalesFor(books, filter.asset);
  return {
    facts: spanFacts(filter),
    list: 'movements',
    columns: [
      ...textColumns('time', 'kind', 'wallet', 'asset'),
      amountColumn('amount'),
      ...textColumns('reference', 'reverses', 'sequence', 'txid'),
      amountColumn('receivable'),
      ...textColumns('by', 'reason'),
    ],
    rows: mapped(books.journal.movements(filter), ({ timeMs, kind, wallet, asset, ...moved }) => [
      isoTime(timeMs),
      kind,
      wallet,
      asset,
      decimalOf(scales, asset, moved.amountAtoms),
      moved.reference,
      moved.reverses,
      moved.sequence,
      moved.txid,
      decimalOf(scales, asset, moved.owedAtoms),
      moved.by,
      moved.reason,
    ]),
  };
}

const ENTRY_COLUMNS = [
  ...textColumns('entryId', 'time', 'transactionId', 'kind', 'account', 'asset'),
  amountColumn('amount'),
  ...textColumns('reference', 'market', 'side'),
  ...['price', 'size', 'feeBps'].map(amountColumn),
];

const entryRow = (entry: LedgerEntry, scales: Scales): Cell[] => [
  entry.entryId,
  isoTime(entry.timeMs),
  entry.transactionId,
  entry.kind,
  entry.account,
  entry.asset,
  decimalOf(scales, entry.asset, entry.amountAtoms),
  entry.reference,
  entry.trade?.market ?? null,
  entry.trade?.side ?? null,
  entry.trade?.price ?? null,
  entry.trade?.size ?? null,
  entry.trade?.feeBps ?? null,
];

/** Returns the entries of the ledger in their order. */
export async function entriesReport(books: Books, filter: EntriesFilter): Promise<Report> {
  const scales = await scalesFor(books, filter.asset);
  return {
    facts: {},
    list: 'entries',
    columns: ENTRY_COLUMNS,
    rows: mapped(books.journal.entries(filter), (entry) => entryRow(entry, scales)),
  };
}

export const closingDocument = ({
  month,
  endMs,
  closedAtMs,
  digest,
  figures: { sequence, balances },
}: Closing & { readonly figures: NonNullable<Closing['figures']> }) => ({
  month,
  end: isoTime(endMs),
  sequence,
  closedAt: isoTime(closedAtMs),
  balances,
  digest,
});
