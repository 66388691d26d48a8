/**
 * Proves that each page of a statement costs a bounded number of rows. It may be of a wallet with a million trades since
 * midnight, or inside a closed month of 31 busy days. It prints what the pages take, beside a list of the same wallet.
 */

import { expect } from 'chai';
import pg from 'pg';
import {
  type Ledger,
  openLedger,
  type StatementPage,
  type StatementPosition,
} from '../../../src/ledger/index.ts';
import { countsRows, rowsReadBy } from '../../ledger/rows-read.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';

const WALLET = `0x${'1'.repeat(40)}`;
const OTHERS = `0x${'2'.repeat(40)}`;
const DAY_MS = 86_400_000;
const MONTH_MS = Date.UTC(2026, 0, 1);
const DAYS = 31;
const TRADES_OF_DAY = 4_000;
const MONTH = DAYS * TRADES_OF_DAY;
/** The day after the month. */
const TODAY_MS = MONTH_MS + DAYS * DAY_MS;
const TODAY = 1_000_000;
const CREDIT = 10n ** 12n;
const NOTIONAL = 100n;
const FEE = 1n;
const PAGE_LINES = 250;
/** Pages of a statement whose rows are counted. */
const COUNTED = 8;
/** A page sums at most 10,000 trades and shows 250. Each is found in an index and read, and searches cost some hundred. */
const ROWS_OF_PAGE = 3 * (10_000 + PAGE_LINES);

/** Midnight after a number of trades of the month. */
const timeOf = (trade: string): string =>
  `case when ${trade} <= ${MONTH} then ${MONTH_MS} + (${trade} - 1) * ${DAY_MS / TRADES_OF_DAY}
   else ${TODAY_MS} + (${trade} - ${MONTH} - 1) * ${DAY_MS} / ${TODAY} end`;
const id = (text: string): string => `lpad(to_hex(${text}), 34, '0')`;

/** The wallet is the taker of each second trade, and pays a fee of it. It buys in all. */
const HISTORY = `
set session_replication_role = replica; set synchronous_commit = off; set maintenance_work_mem = '256MB';
begin;
insert into assets (symbol, scale) values ('ETH', 0), ('USDC', 0);
insert into markets (symbol, number, version, record) values ('ETH/USDC', 0, 1, '{"tick": "1", "step": "1"}');
insert into movements (sequence, kind, wallet, asset, amount_atoms, reference, time_ms)
values (1, 'credited', '${WALLET}', 'USDC', ${CREDIT}, 'in', 1);
update engine_cursor set epoch = 1, sequence = ${MONTH + TODAY + 1};
insert into trades (trade_id, sequence, market, taker_side, price_ticks, size_steps, base_atoms, notional_atoms,
  fee_atoms, taker_order_id, maker_order_id, taker_wallet, maker_wallet, time_ms, base, quote, base_atoms_per_step,
  quote_atoms_per_lot)
select n, n + 1, 'ETH/USDC', case when n % 2 = 0 then 'buy' else 'sell' end, 100, 1, 1, ${NOTIONAL}, ${FEE},
  ${id('2 * n')}, ${id('2 * n + 1')}, case when n % 2 = 0 then '${WALLET}' else '${OTHERS}' end,
  case when n % 2 = 0 then '${OTHERS}' else '${WALLET}' end, ${timeOf('n')}, 'ETH', 'USDC', 1, 1
from generate_series(1::bigint, ${MONTH + TODAY}) as n;
insert into kept_balances (sequence, account, asset, total_atoms)
select day * ${TRADES_OF_DAY} + 1, '${WALLET}', asset, case asset when 'ETH' then day * ${TRADES_OF_DAY}
    else ${CREDIT} - day * ${TRADES_OF_DAY} * ${NOTIONAL} - day * ${TRADES_OF_DAY / 2} * ${FEE} end
from generate_series(1::bigint, ${DAYS - 1}) as day cross join (values ('ETH'), ('USDC')) as assets (asset);
insert into closings (id, month, end_ms, sequence, digest) values (1, '2026-01', ${TODAY_MS}, ${MONTH + 1}, '\\x01');
insert into operator_acts (sequence, name, operator, reason, subject, after, time_ms)
values (${MONTH + TODAY + 1}, 'ledger close', 'mara', 'month end', '2026-01', '01', ${TODAY_MS});
insert into closing_balances (closing, account, asset, total_atoms, reserved_atoms)
values (1, '${WALLET}', 'ETH', ${MONTH}, 0),
  (1, '${WALLET}', 'USDC', ${CREDIT - BigInt(MONTH) * NOTIONAL - BigInt(MONTH / 2) * FEE}, 0);
commit;`;

const balancesAfter = (trades: number): [string, bigint][] => {
  const atoms = BigInt(trades);
  return [
    ['ETH', atoms],
    ['USDC', CREDIT - atoms * NOTIONAL - (atoms / 2n) * FEE],
  ];
};

describe('pages of the statement of a busy wallet', () => {
  let databaseUrl: string;

  before(async function () {
    databaseUrl = await freshLedgerDatabase();
    if (!(await countsRows(databaseUrl))) this.skip();
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    // An index that is made at the end costs a fifth of one that each row updates.
    const { rows } = await client.query<{ name: string; definition: string }>(
      `select indexrelid::regclass::text as name, replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') as definition
       from pg_index where indrelid = 'trades'::regclass`,
    );
    for (const { name } of rows) await client.query(`drop index ${name}`);
    await client.query(HISTORY);
    for (const { definition } of rows) await client.query(definition);
    await client.end();
  });

  /** Reads a statement to its end, and then counts the rows of some of its pages. */
  async function readAll(fromMs: number, toMs: number) {
    const span = { wallet: WALLET, fromMs, toMs };
    const pages: StatementPage[] = [];
    const ms: number[] = [];
    const ledger = openLedger({ databaseUrl });
    let after: StatementPosition | null = null;
    do {
      const beganMs = performance.now();
      const page = await ledger.statements.page(span, after, PAGE_LINES);
      ms.push(performance.now() - beganMs);
      pages.push(page);
      after = page.next;
    } while (after !== null);
    const listMs = await timeOfList(ledger, span);
    await ledger.close();
    const rows: number[] = [];
    for (let at = 0; at < pages.length; at += Math.ceil(pages.length / COUNTED)) {
      const place = pages[at - 1]?.next ?? null;
      rows.push(await rowsReadBy(databaseUrl, (of) => of.statements.page(span, place, PAGE_LINES)));
    }
    return { pages, rows, ms, listMs };
  }

  /** Returns the median of lists of trades of the same span. */
  async function timeOfList(
    ledger: Ledger,
    { fromMs, toMs }: { fromMs: number; toMs: number },
  ): Promise<number> {
    const times: number[] = [];
    for (let asked = 0; asked < 20; asked += 1) {
      const beganMs = performance.now();
      await ledger.trades.ofWallet(WALLET, { limit: 501, span: { sinceMs: fromMs, untilMs: toMs } });
      times.push(performance.now() - beganMs);
    }
    return times.sort((one, other) => one - other)[times.length / 2]!;
  }

  const tell = (name: string, ms: readonly number[], listMs: number): void => {
    const sorted = [...ms].sort((one, other) => one - other);
    const half = sorted[sorted.length >> 1]!;
    const max = sorted.at(-1)!;
    const text = [half, max, listMs].map((one) => one.toFixed(1));
    console.log(
      `      ${name}: ${ms.length} pages, median ${text[0]} ms, max ${text[1]} ms; a list ${text[2]} ms`,
    );
  };

  for (const [name, fromMs, before, toMs, lines] of [
    ['since midnight', TODAY_MS, MONTH, TODAY_MS + DAY_MS / 100, TODAY / 100],
    [
      'after a fifth of a million trades of the day',
      TODAY_MS + DAY_MS / 5,
      MONTH + 200_000,
      TODAY_MS + DAY_MS / 5 + 86_400,
      1_000,
    ],
    ['from midnight inside the closed month', MONTH_MS + 15 * DAY_MS, 60_000, MONTH_MS + 16 * DAY_MS, 4_000],
    ['from noon inside the closed month', MONTH_MS + 15.5 * DAY_MS, 62_000, MONTH_MS + 16 * DAY_MS, 2_000],
    ['from the first of the closed month', MONTH_MS, 0, MONTH_MS + DAY_MS, 4_000],
  ] as const) {
    it(`cost a bounded number of rows ${name}`, async () => {
      const { pages, rows, ms, listMs } = await readAll(fromMs, toMs);
      tell(name, ms, listMs);
      const first = pages.find(({ opening }) => opening !== null)!;
      expect([...first.opening!].filter(([, atoms]) => atoms > 0n)).to.deep.equal(
        balancesAfter(before).filter(([, atoms]) => atoms > 0n),
      );
      expect(pages.reduce((sum, { stated }) => sum + stated.length, 0)).to.equal(lines);
      expect([...pages.at(-1)!.closing!]).to.deep.equal(balancesAfter(before + lines));
      expect(Math.max(...rows)).to.be.at.most(ROWS_OF_PAGE);
    });
  }
});
