/** Settles a seeded history of some months, and compares every statement with an independent recomputation. */

import { expect } from 'chai';
import type { StatementTextFormat } from '../../src/contract/requests.ts';
import type { EngineEvent } from '../../src/domain/event.ts';
import { monthOf, monthSpan } from '../../src/domain/months.ts';
import { CLOSE_ACT, type Ledger, openLedger } from '../../src/ledger/index.ts';
import { rowsOfPage, STATEMENT_COLUMNS } from '../../src/statements/statement.ts';
import { statementText } from '../../src/statements/statement-text.ts';
import { random } from '../support/seed.ts';
import { ASSETS, seededEvents, WALLETS } from '../support/seeded-events.ts';
import { type Figures, Recomputed } from './recomputed.ts';

const DAY_MS = 86_400_000;
const SCALES = new Map(ASSETS.map(({ symbol, scale }) => [symbol, scale]));

interface HistoryOptions {
  readonly seed: number;
  readonly events: number;
  /** Events that are settled together. */
  readonly batch: number;
  /** Days over which the events are spread. */
  readonly days: number;
}

export interface History {
  readonly ledger: Ledger;
  readonly options: HistoryOptions;
  readonly startMs: number;
  readonly endMs: number;
  /** Returns the exchange right before a time. */
  before(timeMs: number): Recomputed;
  readonly whole: Recomputed;
  readonly events: number;
}

/** The start of the history: a month begins in it, and a day. */
const START_MS = Date.UTC(2025, 9, 20, 5);

/** Spreads events over days, so that some share their millisecond and some wait for hours. */
function spread(event: EngineEvent, firstMs: number, pace: number): EngineEvent {
  const timeMs = START_MS + Math.floor((event.timeMs - firstMs) * pace);
  if (event.kind !== 'order_placed') return { ...event, timeMs };
  const order = { ...event.order, createdAtMs: timeMs };
  return { ...event, timeMs, order, trades: event.trades.map((trade) => ({ ...trade, timeMs })) };
}

const MOVES_NOTHING = ['trading_paused', 'trading_resumed', 'terms_required', 'terms_accepted'];

const monthBefore = (timeMs: number): string => monthOf(monthSpan(monthOf(timeMs)).startMs - 1);

/** Closes a month by an act in the place of the next event that moves nothing, or after the last event. */
async function closeMonth(
  ledger: Ledger,
  events: EngineEvent[],
  settled: number,
  month: string,
): Promise<void> {
  if (events.some((event) => event.kind === 'operator_acted' && event.subject === month)) return;
  const after = await ledger.closings.keep(month);
  const found = events.findIndex(({ kind }, index) => index >= settled && MOVES_NOTHING.includes(kind));
  const at = found === -1 ? events.length : found;
  const last = events.at(-1)!;
  const { epoch, sequence, timeMs, digest } = events[at] ?? { ...last, sequence: last.sequence + 1 };
  const act = { by: 'mara', reason: 'month end', before: null };
  const body = { kind: 'operator_acted', name: CLOSE_ACT, subject: month, after } as const;
  events[at] = { ...body, epoch, sequence, timeMs, digest, act };
}

/**
 * Settles the history. Some days and each month are kept as they end, as reconciles and closings do; the last day is
 * always kept.
 * @param databaseUrl of a migrated database
 */
export async function settleHistory(databaseUrl: string, options: HistoryOptions): Promise<History> {
  const ledger = openLedger({ databaseUrl });
  const generated = seededEvents(options.seed).next(options.events);
  const first = generated[0]!.timeMs;
  const last = generated.at(-1)!.timeMs;
  const pace = (options.days * DAY_MS) / (last - first);
  const events = generated.map((event) => spread(event, first, pace));
  const dice = random(options.seed);
  let settled = 0;
  while (settled < events.length) {
    const before = settled === 0 ? [] : [events[settled - 1]!];
    const batch = events.slice(settled, settled + options.batch);
    await ledger.settlement.settle([...before, ...batch]);
    settled += batch.length;
    const { timeMs } = batch.at(-1)!;
    if (dice.chance(0.5)) await ledger.balances.keepDay(timeMs);
    const over = monthBefore(timeMs);
    // Each month, because months are closed in order.
    if (over >= monthOf(START_MS)) await closeMonth(ledger, events, settled, over);
  }
  await ledger.balances.keepDay(events.at(-1)!.timeMs);
  await ledger.settlement.settle(events.slice(settled - 1));
  const replayed = (until: (event: EngineEvent) => boolean): Recomputed => {
    const recomputed = new Recomputed();
    for (const event of events) if (until(event)) recomputed.apply(event);
    return recomputed;
  };
  return {
    ledger,
    options,
    startMs: START_MS,
    endMs: events.at(-1)!.timeMs + 1,
    before: (timeMs) => replayed((event) => event.timeMs < timeMs),
    whole: replayed(() => true),
    events: events.length,
  };
}

export async function compareBalances({ ledger, before }: History, timeMs: number): Promise<void> {
  const found = new Map<string, Figures>();
  for await (const { account, asset, totalAtoms, reservedAtoms } of ledger.balances.at(timeMs))
    found.set(`${account} ${asset}`, { total: totalAtoms, reserved: reservedAtoms });
  const sorted = (figures: Map<string, Figures>) =>
    [...figures].sort(([one], [other]) => (one < other ? -1 : 1));
  expect(sorted(found), new Date(timeMs).toISOString()).to.deep.equal(sorted(before(timeMs).figures()));
}

/** Reads an exact decimal as atoms. */
export function atomsOf(decimal: string, scale: number): bigint {
  const [whole = '', fraction = ''] = decimal.replace('-', '').split('.');
  const atoms = BigInt(whole + fraction.padEnd(scale, '0'));
  return decimal.startsWith('-') ? -atoms : atoms;
}

interface Line {
  readonly kind: string;
  readonly asset: string;
  readonly atoms: bigint;
  readonly timeMs: number;
  readonly sequence: number;
}

const SEQUENCE_AT = STATEMENT_COLUMNS.findIndex(({ name }) => name === 'sequence');
/** Lines that change a balance of the wallet. */
const CHANGES = [
  'deposit',
  'withdrawal',
  'withdrawal_requested',
  'withdrawal_returned',
  'receivable',
  'trade',
  'fee',
];

/** Reads a wallet's statement to its end, page by page. */
async function linesOf(
  { ledger }: History,
  wallet: string,
  [fromMs, toMs]: readonly [number, number],
  pageLines: number,
): Promise<Line[]> {
  const span = { wallet, fromMs, toMs };
  const lines: Line[] = [];
  for (let after = null, more = true; more; ) {
    const page = await ledger.statements.page(span, after, pageLines);
    expect(page.stated.length).to.be.at.most(pageLines);
    for (const cells of rowsOfPage(page, span)) {
      const [time, kind, asset, amount] = cells as string[];
      const sequence = Number(cells[SEQUENCE_AT] ?? 0);
      const atoms = atomsOf(amount!, SCALES.get(asset!)!);
      lines.push({ kind: kind!, asset: asset!, atoms, timeMs: Date.parse(time!), sequence });
    }
    after = page.next as never;
    more = page.next !== null;
  }
  return lines;
}

/** Compares a wallet's statement: each change, and opening + changes = closing for each asset. */
export async function compareStatement(
  history: History,
  wallet: string,
  span: readonly [number, number],
  pageLines = 500,
): Promise<void> {
  const lines = await linesOf(history, wallet, span, pageLines);
  const [fromMs, toMs] = span;
  const ofKind = (...kinds: string[]) => lines.filter(({ kind }) => kinds.includes(kind));
  const changes = history.whole.changes.filter(
    ({ account, timeMs }) => account === wallet && timeMs >= fromMs && timeMs < toMs,
  );
  expect(ofKind(...CHANGES).map((line) => [line.sequence, line.kind, line.asset, line.atoms])).to.deep.equal(
    changes.map((change) => [change.sequence, change.what, change.asset, change.atoms]),
  );
  const balances = (timeMs: number) => history.before(timeMs).figures();
  const opening = balances(fromMs);
  const closing = balances(toMs);
  for (const { symbol } of ASSETS) {
    const sum = (kind: string) =>
      ofKind(...(kind === 'change' ? CHANGES : [kind]))
        .filter(({ asset }) => asset === symbol)
        .reduce((total, { atoms }) => total + atoms, 0n);
    expect(sum('opening')).to.equal(opening.get(`${wallet} ${symbol}`)?.total ?? 0n);
    expect(sum('opening') + sum('change')).to.equal(sum('closing'));
    expect(sum('closing')).to.equal(closing.get(`${wallet} ${symbol}`)?.total ?? 0n);
  }
}

/** Returns a wallet's statement as a file. */
export async function statementFile(
  { ledger }: History,
  wallet: string,
  [fromMs, toMs]: readonly [number, number],
  format: StatementTextFormat,
): Promise<string> {
  let file = '';
  const text = statementText(ledger.statements.longPage, { wallet, fromMs, toMs }, { format });
  for await (const part of text) file += part;
  return file;
}

/** Columns of an importer: those that add to a balance, and those that take from it. */
const COUNTED = {
  // Koinly takes the fee beside the amounts; CoinTracking shows it, and counts the amounts alone.
  koinly: { adds: [3], takes: [1, 5] },
  cointracking: { adds: [1], takes: [3] },
} as const;

/** Sums the rows of a file as its importer does, and compares the sums with the wallet's balances. */
export async function compareImport(
  history: History,
  wallet: string,
  format: keyof typeof COUNTED,
): Promise<void> {
  const file = await statementFile(history, wallet, [history.startMs, history.endMs], format);
  const sums = new Map<string, bigint>();
  // A quoted text may hold line breaks, which are no rows.
  const [, ...rows] = file
    .replace(/"([^"]|"")*"/g, '')
    .trimEnd()
    .split('\n');
  for (const cells of rows.map((row) => row.split(','))) {
    expect(cells).to.have.length(12);
    const { adds, takes } = COUNTED[format];
    for (const [columns, sign] of [
      [adds, 1n],
      [takes, -1n],
    ] as const)
      for (const at of columns) {
        const asset = cells[at + 1]!;
        if (cells[at] === '') continue;
        const atoms = atomsOf(cells[at]!, SCALES.get(asset)!);
        expect(atoms > 0n, 'importers refuse 0').to.equal(true);
        sums.set(asset, (sums.get(asset) ?? 0n) + sign * atoms);
      }
  }
  const balances = history.whole.figures();
  for (const { symbol } of ASSETS)
    expect(sums.get(symbol) ?? 0n, `${format} ${symbol}`).to.equal(
      balances.get(`${wallet} ${symbol}`)?.total ?? 0n,
    );
  const counts = history.whole.changes.filter(({ account, what }) => account === wallet && what !== 'fee');
  const trades = counts.filter(({ what }) => what === 'trade').length / 2;
  // A movement and what it changed of a receivable are one row, unless the balance stayed as it was.
  const moved = new Map<number, bigint>();
  for (const { what, sequence, atoms } of counts)
    if (what !== 'trade') moved.set(sequence, (moved.get(sequence) ?? 0n) + atoms);
  expect(rows).to.have.length([...moved.values()].filter((atoms) => atoms !== 0n).length + trades);
}

/** The calendar months of the history. */
export function monthsOf({ startMs, endMs }: History): [number, number][] {
  const months: [number, number][] = [];
  const start = new Date(startMs);
  for (let month = start.getUTCMonth(); ; month += 1) {
    const span: [number, number] = [
      Date.UTC(start.getUTCFullYear(), month),
      Date.UTC(start.getUTCFullYear(), month + 1),
    ];
    if (span[0] >= endMs) return months;
    months.push(span);
  }
}

/** Compares balances and statements at random times, and each month of each wallet. */
export async function compareEverything(history: History, times: number): Promise<void> {
  const dice = random(history.options.seed);
  const anyTime = (): number => history.startMs + dice.below(history.endMs - history.startMs);
  for (let count = 0; count < times; count += 1) {
    await compareBalances(history, anyTime());
    const one = anyTime();
    const other = anyTime();
    await compareStatement(history, dice.pick(WALLETS), [Math.min(one, other), Math.max(one, other)]);
  }
  for (const month of monthsOf(history))
    for (const wallet of WALLETS) await compareStatement(history, wallet, month);
}
