/** Proves that the view of the double entries makes of each event the lines that are due, in their order. */

import { expect } from 'chai';
import type { AccountMoved, EngineEvent, MovementKind } from '../../src/domain/event.ts';
import type { Trade } from '../../src/domain/order.ts';
import { entriesOfMovement, entriesOfTrade } from '../../src/ledger/index.ts';
import { seededEvents } from '../support/seeded-events.ts';
import { freshLedgers } from './fresh-ledgers.ts';
import { query } from './tables.ts';

const EVENTS = 1_500;
const COLUMNS = 'transaction_id, kind, account, asset, amount_atoms::text as atoms, reference';

type Line = readonly [
  transaction: string,
  kind: string,
  account: string,
  asset: string,
  atoms: bigint,
  reference: string,
];

function linesOfTrade(trade: Trade): Line[] {
  const { tradeId, takerWallet, makerWallet, takerOrderId, makerOrderId, sizeSteps, units, feeAtoms } = trade;
  const bought = trade.takerSide === 'buy' ? 1n : -1n;
  const base = bought * sizeSteps * units.baseAtomsPerStep;
  const quote = bought * sizeSteps * trade.priceTicks * units.quoteAtomsPerLot;
  const id = `trade-${tradeId}`;
  const lines: Line[] = [
    [id, 'trade', takerWallet, units.base, base, takerOrderId],
    [id, 'trade', makerWallet, units.base, -base, makerOrderId],
    [id, 'trade', takerWallet, units.quote, -quote, takerOrderId],
    [id, 'trade', makerWallet, units.quote, quote, makerOrderId],
    [id, 'fee', takerWallet, units.quote, -feeAtoms, takerOrderId],
    [id, 'fee', 'house', units.quote, feeAtoms, takerOrderId],
  ];
  return lines.filter(([, , , , atoms]) => atoms !== 0n);
}

/** Kind of the entries of each kind of movement, and the account and sign of each line; null is the wallet. */
const MOVED: Readonly<
  Record<MovementKind, readonly [string, ...(readonly [account: string | null, sign: bigint])[]]>
> = {
  credited: ['credit', ['custody', -1n], [null, 1n]],
  debited: ['debit', ['custody', 1n], [null, -1n]],
  requested: ['request', ['withdrawals', 1n], [null, -1n]],
  confirmed: ['confirm', ['custody', 1n], ['withdrawals', -1n]],
  returned: ['return', ['withdrawals', -1n], [null, 1n]],
  announced: ['none'],
  dropped: ['none'],
};

function linesOfMovement(event: EngineEvent & AccountMoved): Line[] {
  const [kind, ...sides] = MOVED[event.kind];
  const { wallet, asset, reference, owedAtoms = 0n } = event;
  const id = `${kind}-${event.sequence}`;
  const lines = sides.map(([account, sign]): Line => {
    return [id, kind, account ?? wallet, asset, sign * event.amountAtoms, reference];
  });
  if (owedAtoms === 0n) return lines;
  const owed = event.kind === 'debited' ? -owedAtoms : owedAtoms;
  return [
    ...lines,
    [id, 'receivable', `receivable:${wallet}`, asset, owed, reference],
    [id, 'receivable', wallet, asset, -owed, reference],
  ];
}

function linesOf(event: EngineEvent): Line[] {
  if (event.kind === 'order_placed') return event.trades.flatMap(linesOfTrade);
  return 'amountAtoms' in event ? linesOfMovement(event) : [];
}

/** Sums by account and asset, without those of nothing. */
function sumsOf(entries: readonly { account: string; asset: string; atoms: bigint }[]): [string, bigint][] {
  const sums = new Map<string, bigint>();
  for (const { account, asset, atoms } of entries)
    sums.set(`${account} ${asset}`, (sums.get(`${account} ${asset}`) ?? 0n) + atoms);
  return [...sums].filter(([, atoms]) => atoms !== 0n).sort();
}

describe('the view of the ledger’s entries', () => {
  const freshLedger = freshLedgers();

  it('has the lines that each event is due, numbered from 0', async () => {
    const { ledger, databaseUrl } = await freshLedger();
    const events = seededEvents(11).next(EVENTS);
    for (let at = 0; at < EVENTS; at += 100) await ledger.settlement.settle(events.slice(at, at + 100));
    const rows = await query<Record<string, unknown>>(
      databaseUrl,
      `select sequence::int, line, time_ms::text as time, ${COLUMNS} from ledger_entries order by sequence, line`,
    );
    const due = events.flatMap((event) =>
      linesOf(event).map(([transaction_id, kind, account, asset, atoms, reference], line) => ({
        sequence: event.sequence,
        line,
        time: `${event.timeMs}`,
        transaction_id,
        kind,
        account,
        asset,
        atoms: `${atoms}`,
        reference,
      })),
    );
    expect(rows).to.deep.equal(due);
    const trades = events.flatMap((event) => (event.kind === 'order_placed' ? event.trades : []));
    const isFree = ({ feeAtoms }: Trade): boolean => feeAtoms === 0n;
    expect(trades.some(isFree) && !trades.every(isFree), 'trades with and without a fee').to.equal(true);
    const sizes = new Set(events.map((event) => (event.kind === 'order_placed' ? event.trades.length : 0)));
    expect(Math.max(...sizes), 'trades of one event').to.be.above(1);
    expect(new Set(due.map(({ kind }) => kind)).size, 'kinds').to.equal(8);
  });

  it('changes accounts as the engine does', () => {
    for (const event of seededEvents(11).next(EVENTS)) {
      const due = linesOf(event).map(([, , account, asset, atoms]) => ({ account, asset, atoms }));
      let entries: ReturnType<typeof entriesOfTrade> = [];
      if (event.kind === 'order_placed') entries = event.trades.flatMap(entriesOfTrade);
      else if ('amountAtoms' in event) entries = entriesOfMovement(event);
      const made = entries.map(({ account, asset, amountAtoms }) => ({ account, asset, atoms: amountAtoms }));
      expect(sumsOf(made)).to.deep.equal(sumsOf(due));
    }
  });

  it('has what lost events changed behind a movement at the same event', async () => {
    const { ledger, databaseUrl } = await freshLedger();
    const wallet = `0x${'7'.repeat(40)}`;
    const seam = { sequence: 9, timeMs: 5_000 };
    const request = { kind: 'requested', wallet, asset: 'USDC', amountAtoms: 3n, reference: 'lost' } as const;
    await ledger.settlement.atRest(({ adopt }) =>
      adopt({
        ...seam,
        lastTradeId: 4,
        events: [{ epoch: 1, digest: { hex: '' }, ...seam, ...request }],
        balances: [
          { account: wallet, asset: 'USDC', atoms: 10n },
          { account: 'custody', asset: 'USDC', atoms: -10n },
        ],
        filled: new Map(),
        filledPlaced: new Map(),
        prices: new Map(),
      }),
    );
    const rows = await query<Record<string, unknown>>(
      databaseUrl,
      `select concat_ws(' ', sequence, line, time_ms, ${COLUMNS.replace(' as atoms', '')}) as row from ledger_entries
       order by sequence, line`,
    );
    expect(rows.map(({ row }) => row)).to.deep.equal([
      '9 0 5000 request-9 request withdrawals USDC 3 lost',
      `9 1 5000 request-9 request ${wallet} USDC -3 lost`,
      `9 2 5000 adopt-9 adopt ${wallet} USDC 10 adopt-9`,
      '9 3 5000 adopt-9 adopt custody USDC -10 adopt-9',
    ]);
  });
});
