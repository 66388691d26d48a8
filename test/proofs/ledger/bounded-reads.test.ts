/** Proves that the number of rows that one read of a wallet's history costs Postgres does not grow with the history. */

import { expect } from 'chai';
import type { Timeframe } from '../../../src/domain/candle.ts';
import { fitting, shownFillsOf } from '../../../src/history/shown-fills.ts';
import type { Ledger, StatementPage } from '../../../src/ledger/index.ts';
import { countsRows, rowsReadBy as rowsRead } from '../../ledger/rows-read.ts';
import { query } from '../../ledger/tables.ts';
import { freshLedgerDatabase } from '../../support/servers.ts';

const VICTIM = `0x${'1'.repeat(40)}`;
const OTHERS = `0x${'2'.repeat(40)}`;
/** One order of 150,000 fills, filled in the smallest steps, and fifty of 1,000. */
const EATEN = 150_000;
const SWEPT = 50;
const FILLS = EATEN + SWEPT * 1_000;
const LIVE = 3_000;
const CLOSED = 3_000;
const LIST = 100;
const PER_ORDER = 1_000;
const PER_REPLY = 5_000;
const DAY_MS = 86_400_000;
/** The event that placed the last of the victim's orders. The next ones are trades with orders that are not there. */
const LAST_PLACED = LIVE + CLOSED + SWEPT;
/** The last thousand candles of each kept timeframe before this day of Unix time, a first of March, without gaps. */
const KEPT_DAYS = 20_513;
/** A year of months. The oldest has 31 days. */
const CANDLES = 12;
/** Maximum kept candles that one candle is aggregated from. */
const ROWS_OF_CANDLE = { '1m': 1, '5m': 5, '15m': 15, '1h': 1, '4h': 4, '1D': 1, '1W': 7, '1M': 31 };
/** Entries of a trade without a fee. */
const LINES = 4;
const ACTS = 50_000;
/** A reader takes 2,000 rows at a time. */
const READ_AHEAD = 2_000;
const EXPORTED = 5_000;
const PAGES = 2;
const PAGE_TRANSFERS = 1_000;
/** Maximum rows in which the bounds of a span are searched by bisection. */
const SEARCHED = 500;
/** The cursor is read with every list. Rows of catalogs are not counted. */
const CURSOR_ROWS = 1;
/** A process that reads its first list asks for the segments before, in a snapshot: there are two, and one is the newest. */
const MOMENT_ROWS = CURSOR_ROWS + 1 + 2 + CURSOR_ROWS + 1;
/** Trades of a wallet are looked for in each role. */
const LOOKED_FOR = 2;

const idOf = (expression: string): string => `lpad(to_hex(${expression}), 34, '0')`;

const HISTORY = `
begin;
insert into assets (symbol, scale) values ('ETH', 0), ('USDC', 0);
insert into markets (symbol, number, version, record)
select symbol, number, 1, '{"tick": "1", "step": "1"}' from (values ('ETH/USDC', 0), ('BTC/USDC', 1)) as listed (symbol, number);
insert into movements (sequence, kind, wallet, asset, amount_atoms, reference, time_ms)
values (1, 'credited', '${VICTIM}', 'ETH', 1000000, 'in', 1);
update engine_cursor set epoch = 1, sequence = 1000000;
create temp table placed (like live_orders) on commit drop;
insert into placed (id, wallet, market, side, type, time_in_force, post_only, price_ticks, size_steps, filled_steps,
  fill_count, status, created_at_ms, updated_at_ms, sequence, updated_sequence, closed_sequence, base, quote,
  base_atoms_per_step, quote_atoms_per_lot)
select ${idOf('n')}, '${VICTIM}', 'ETH/USDC', 'sell', 'limit', 'GTC', false, 100, 1000000,
  fills, fills, case when n <= ${LIVE} then 'resting' else 'cancelled' end, n, n, n, case when fills > 0 then 1000000 else n end,
  case when n <= ${LIVE} then null else 500000 + n end, 'ETH', 'USDC', 1, 1
from (
  select n, case when n = ${LIVE + CLOSED} then ${EATEN} when n > ${LIVE + CLOSED} then 1000 else 0 end as fills
  from generate_series(1, ${LIVE + CLOSED + SWEPT}) as n) as numbered;
insert into live_orders select * from placed where closed_sequence is null;
insert into ended_orders select * from placed where closed_sequence is not null and sequence % 2 = 0;
insert into late_orders select * from placed where closed_sequence is not null and sequence % 2 = 1;
insert into trades (trade_id, sequence, market, taker_side, price_ticks, size_steps, base_atoms, notional_atoms,
  fee_atoms, taker_order_id, maker_order_id, taker_wallet, maker_wallet, time_ms, base, quote, base_atoms_per_step,
  quote_atoms_per_lot)
select n, ${LAST_PLACED} + n, 'ETH/USDC', 'buy', 100, 1, 1, 100, 0, ${idOf('1000000 + n')},
  ${idOf(`${LIVE + CLOSED} + case when n <= ${EATEN} then 0 else 1 + (n - ${EATEN} - 1) / 1000 end`)},
  '${OTHERS}', '${VICTIM}', n, 'ETH', 'USDC', 1, 1
from generate_series(1, ${FILLS}) as n;
insert into operator_acts (sequence, name, operator, reason, wallet, market, time_ms)
select n, 'an act', case n % 10000 when 0 then 'seldom' else 'often' end, 'a reason',
  '0x' || lpad((n % 7)::text, 40, '0'), case n % 10000 when 1 then 'BTC/USDC' else 'ETH/USDC' end, n
from generate_series(1, ${ACTS}) as n;
insert into candles (market, timeframe, open_ms, open_ticks, high_ticks, low_ticks, close_ticks, volume_steps,
  quote_atoms, first_trade_id, last_trade_id)
select market, timeframe, n * length_ms, 100, 100, 100, 100, 1, 100, n, n
from (values ('ETH/USDC'), ('BTC/USDC')) as markets (market)
cross join (values ('1m', 60000), ('1h', 3600000), ('1D', ${DAY_MS})) as kept (timeframe, length_ms)
cross join lateral generate_series(
  greatest(0, ${KEPT_DAYS}::bigint * ${DAY_MS} / length_ms - 1000), ${KEPT_DAYS}::bigint * ${DAY_MS} / length_ms - 1) as n;
commit`;

describe('rows that Postgres reads from a long history', () => {
  let databaseUrl: string;

  before(async function () {
    databaseUrl = await freshLedgerDatabase();
    if (!(await countsRows(databaseUrl))) this.skip();
    await query(databaseUrl, HISTORY);
  });

  const rowsReadBy = (read: (ledger: Ledger) => Promise<unknown>): Promise<number> =>
    rowsRead(databaseUrl, read);

  /** The limits of a reply. */
  const shown = { maxFillsPerOrder: PER_ORDER, maxFillsPerReply: PER_REPLY, orders: LIST };
  const ids = async (sql: string): Promise<string[]> =>
    (await query<{ id: string }>(databaseUrl, sql)).map(({ id }) => id);

  for (const [name, prepare] of [
    ['before Postgres has statistics', ''],
    ['when Postgres has statistics', 'analyze'],
  ] as const) {
    describe(name, () => {
      before(async () => {
        if (prepare !== '') await query(databaseUrl, prepare);
      });

      it('for a page of a statement, wherever it begins in a busy day', async () => {
        const span = { wallet: VICTIM, fromMs: 150_000, toMs: 151_000 };
        const sumsAt = (trades: number): [string, bigint][] => [
          ['ETH', BigInt(1_000_000 - trades)],
          ['USDC', BigInt(100 * trades)],
        ];
        const pages: StatementPage[] = [];
        const costs: number[] = [];
        do {
          const after = pages.at(-1)?.next ?? null;
          const read = async (ledger: Ledger): Promise<void> => {
            pages.push(await ledger.statements.page(span, after, 250));
          };
          costs.push(await rowsReadBy(read));
        } while (pages.at(-1)!.next !== null);
        const summing = pages.filter(({ stated }) => stated.length === 0);
        const listing = pages.slice(-4);
        expect([summing.length, pages.length]).to.deep.equal([14, 18]);
        // Each trade is found in the index and read, and the place of a page costs a few rows.
        expect(Math.max(...costs)).to.be.below(3 * 10_000);
        expect(Math.max(...costs.slice(-3))).to.be.below(4 * 250);
        expect(summing.every(({ opening, closing }) => opening === null && closing === null)).to.equal(true);
        expect([...listing[0]!.opening!]).to.deep.equal(sumsAt(149_999));
        expect(listing.flatMap(({ stated }) => stated)).to.have.length(1_000);
        expect([...listing[3]!.closing!]).to.deep.equal(sumsAt(150_999));
      });

      it('for a page after a made-up place of a statement, which sums nothing anew', async () => {
        const span = { wallet: VICTIM, fromMs: 150_000, toMs: 199_000 };
        for (const isOpening of [false, true])
          for (const sums of [null, new Map([['ETH', -1n]]), new Map([['ETH', 10n ** 29n]])]) {
            const place = { sequence: 0, tradeId: isOpening ? 149_990 : 198_900, isOpening, sums };
            const read = (ledger: Ledger) => ledger.statements.page(span, place, 250);
            expect(await rowsReadBy(read), `${isOpening} ${[...(sums ?? [])]}`).to.be.below(4 * 250);
          }
      });

      it('for a page of the newest lines of a statement', async () => {
        const span = { wallet: VICTIM, fromMs: 0, toMs: 199_000 };
        const pages: StatementPage[] = [];
        for (let at = 0; at < 3; at += 1) {
          const rows = await rowsReadBy(async (ledger) => {
            pages.push(await ledger.statements.newestPage(span, pages.at(-1)?.next ?? null, 250));
          });
          expect(rows).to.be.below(4 * 250);
        }
        expect(pages.flatMap(({ stated }) => stated).map(({ timeMs }) => timeMs)).to.deep.equal(
          Array.from({ length: 750 }, (_none, at) => 198_999 - at),
        );
      });

      it('are bounded by the orders that a list shows', async () => {
        let fills = 0;
        const rows = await rowsReadBy(async (ledger) => {
          const { orders } = await ledger.orders.ofWallet(VICTIM, { limit: LIST + 1, fills: shown });
          fills = orders.reduce((sum, order) => sum + order.fills.length, 0);
        });
        expect(fills).to.equal(PER_REPLY);
        // The list of all orders merges live, closed and late ones, and reads the first row of each.
        expect(rows).to.equal(MOMENT_ROWS + LIST + 1 + 2 + PER_REPLY);
        // The same in two reads, as for a wallet with unsettled fills.
        const inTwo = await rowsReadBy(async (ledger) => {
          const { cursor, orders } = await ledger.orders.ofWallet(VICTIM, { limit: LIST + 1 });
          const listed = fitting(
            orders.slice(0, LIST).map((order) => ({ order })),
            shown,
          );
          const counts = new Map(listed.map(({ order }) => [order.id, shownFillsOf(order, shown)]));
          const found = await ledger.orders.fills(counts, cursor);
          expect([...found.values()].flat()).to.have.length(PER_REPLY);
        });
        // The second one reads the cursor, the newest segment and each order with fills again.
        expect(inTwo).to.equal(rows + CURSOR_ROWS + 1 + PER_REPLY / PER_ORDER);
      });

      it('are bounded by the page of an export of entries', async () => {
        let entries = 0;
        const rows = await rowsReadBy(async (ledger) => {
          for await (const { entryId } of ledger.journal.entries({ fromMs: FILLS / 2, toMs: FILLS })) {
            expect(entryId).to.equal(
              `${LAST_PLACED + FILLS / 2 + Math.floor(entries / LINES)}-${entries % LINES}`,
            );
            entries += 1;
            if (entries === EXPORTED) break;
          }
        });
        // The event of the last trade of a page, its trades, and the trade of each line.
        expect(rows).to.be.below(PAGES * PAGE_TRANSFERS * (2 + LINES) + SEARCHED);
      });

      it('are bounded by the trades since balances were kept', async () => {
        const since = 1_000;
        await query(
          databaseUrl,
          `insert into kept_balances (sequence, account, asset, total_atoms)
           values (${LAST_PLACED + FILLS - since - 1}, '${VICTIM}', 'ETH', 7) on conflict do nothing`,
        );
        let sum = 0n;
        const rows = await rowsReadBy(async (ledger) => {
          for await (const { account, asset, totalAtoms } of ledger.balances.at(FILLS + 1))
            if (account === VICTIM && asset === 'ETH') sum += totalAtoms;
        });
        expect(sum).to.equal(BigInt(7 - since - 1));
        expect(rows).to.be.below(since + 2 * (LIVE + CLOSED + SWEPT) + SEARCHED);
      });

      it('are those of the last trades for the prices of markets and the assets that were booked', async () => {
        const rows = await rowsReadBy(async (ledger) => {
          expect(await ledger.state.lastPrices()).to.deep.equal(new Map([['ETH/USDC', 100n]]));
          expect((await ledger.state.bookedAssets()).sort()).to.deep.equal(['ETH', 'USDC']);
        });
        expect(rows).to.be.below(SEARCHED);
      });

      it('are as many for live orders older than all closed ones as for closed orders', async () => {
        const touchedIds = await ids(
          `select id from orders where closed_sequence is null order by sequence desc limit 7`,
        );
        const live = await rowsReadBy(async (ledger) => {
          const page = { status: 'live', limit: LIST + 1, touchedIds } as const;
          const { orders } = await ledger.orders.ofWallet(VICTIM, page);
          expect(orders).to.have.length(LIST + 1 + touchedIds.length);
        });
        // Orders changed by the engine are skipped in the list, and read by their ids.
        expect(live).to.be.at.most(MOMENT_ROWS + LIST + 1 + 2 * touchedIds.length);
        const closed = await rowsReadBy(async (ledger) => {
          const page = { status: 'closed', limit: LIST + 1, beforeSequence: LIVE + 500 } as const;
          const { orders } = await ledger.orders.ofWallet(VICTIM, page);
          expect(orders.map(({ sequence }) => sequence)).to.include(LIVE + 499);
        });
        expect(closed).to.equal(MOMENT_ROWS + LIST + 1 + 1);
      });

      it('do not grow with the orders of other markets', async () => {
        for (const status of [undefined, 'live', 'closed'] as const) {
          const rows = await rowsReadBy(async (ledger) => {
            const page = { status, market: 'BTC/USDC', limit: LIST + 1, fills: shown };
            expect((await ledger.orders.ofWallet(VICTIM, page)).orders).to.deep.equal([]);
          });
          expect(rows, status).to.equal(MOMENT_ROWS);
        }
      });

      it('are those of the cursor and of the segments for a client order id that is new', async () => {
        const rows = await rowsReadBy(async (ledger) => {
          expect(await ledger.orders.idByClientId(VICTIM, 'new')).to.equal(null);
        });
        expect(rows).to.equal(MOMENT_ROWS);
      });

      it('are bounded by the fills that a single order shows', async () => {
        const [eaten] = await ids(`select id from orders where fill_count = ${EATEN}`);
        const rows = await rowsReadBy(async (ledger) => {
          const { order } = await ledger.orders.byId(VICTIM, eaten!, PER_ORDER);
          expect(order!.fills.map(({ tradeId }) => Number(tradeId))).to.deep.equal(
            Array.from({ length: PER_ORDER }, (_, at) => EATEN - PER_ORDER + 1 + at),
          );
        });
        expect(rows).to.equal(MOMENT_ROWS + 1 + PER_ORDER);
      });

      it('are bounded by the trades that a list shows, of the wallet or of one order', async () => {
        const ofWallet = await rowsReadBy(async (ledger) => {
          const { trades } = await ledger.trades.ofWallet(VICTIM, { limit: 501, beforeTradeId: EATEN });
          expect(trades).to.have.length(501);
        });
        // Each is found in an index, which asks the table whether it counts, and then read.
        expect(ofWallet).to.be.at.most(MOMENT_ROWS + LOOKED_FOR + 2 + 2 * 501);
        const [eaten] = await ids(`select id from orders where fill_count = ${EATEN}`);
        const ofOrder = await rowsReadBy(async (ledger) => {
          const filter = { orderId: eaten!, limit: 501, beforeTradeId: EATEN >> 1 };
          expect((await ledger.trades.ofWallet(VICTIM, filter)).trades).to.have.length(501);
        });
        expect(ofOrder).to.be.at.most(MOMENT_ROWS + LOOKED_FOR + 1 + 2 * 501);
        const ofNobody = await rowsReadBy((ledger) =>
          ledger.trades.ofWallet(OTHERS, { orderId: eaten!, limit: 501 }),
        );
        expect(ofNobody).to.be.at.most(MOMENT_ROWS + LOOKED_FOR + 1);
      });

      it('are as many from the oldest on, and some hundred more where a span begins', async () => {
        /** A bisection looks at the first rows of three tables some fifty times, for each end of a span. */
        const searched = 2 * 3 * 60;
        const reads: [string, number, (ledger: Ledger) => Promise<unknown>][] = [
          [
            'orders',
            LIST + 3,
            (ledger) => ledger.orders.ofWallet(VICTIM, { direction: 'asc', limit: LIST + 1 }),
          ],
          [
            'orders of a span',
            LIST + 3 + searched,
            (ledger) =>
              ledger.orders.ofWallet(VICTIM, {
                direction: 'asc',
                limit: LIST + 1,
                span: { sinceMs: 5, untilMs: 9e12 },
              }),
          ],
          [
            'trades',
            LOOKED_FOR + 2 + 2 * 501,
            (ledger) => ledger.trades.ofWallet(VICTIM, { direction: 'asc', limit: 501 }),
          ],
          [
            'trades of a span',
            LOOKED_FOR + 2 + 2 * 501 + searched,
            (ledger) => ledger.trades.ofWallet(VICTIM, { limit: 501, span: { sinceMs: 5, untilMs: 9e12 } }),
          ],
          [
            'tape after',
            LOOKED_FOR + 2 + 2 * 500,
            (ledger) => ledger.trades.ofMarket('ETH/USDC', { limit: 500, afterId: 9 }),
          ],
          [
            'tape before',
            LOOKED_FOR + 2 + 2 * 500,
            (ledger) => ledger.trades.ofMarket('ETH/USDC', { limit: 500, beforeId: 700 }),
          ],
        ];
        for (const [of, max, read] of reads)
          expect(await rowsReadBy(read), of).to.be.at.most(MOMENT_ROWS + max);
      });

      it('are those of the person, key, wallet or market whose acts are listed', async () => {
        for (const direction of ['asc', 'desc'] as const)
          for (const [filter, max] of [
            [{ by: 'seldom' }, 5],
            [{ by: 'often' }, READ_AHEAD],
            [{ market: 'BTC/USDC' }, 5],
            [{ market: 'BTC/USDC', by: 'seldom' }, 5],
            [{ wallet: OTHERS, by: 'often' }, 0],
            [{}, READ_AHEAD],
          ] as const) {
            const rows = await rowsReadBy(async ({ acts }) => {
              let listed = 0;
              for await (const _act of acts.list({ ...filter, direction })) if (++listed === 1_000) break;
            });
            expect(rows, JSON.stringify({ ...filter, direction })).to.be.at.most(max + SEARCHED);
          }
      });

      it('are at most 31 for each candle of a page', async () => {
        for (const [timeframe, max] of Object.entries(ROWS_OF_CANDLE)) {
          const rows = await rowsReadBy(async (ledger) => {
            const range = { limit: CANDLES, toMs: KEPT_DAYS * DAY_MS - 1 };
            const { candles } = await ledger.candles.history('ETH/USDC', timeframe as Timeframe, range);
            expect(candles).to.have.length(CANDLES);
            expect(candles[0]!.volumeSteps, `the oldest is whole, ${timeframe}`).to.equal(BigInt(max));
          });
          expect(rows, timeframe).to.be.within(CURSOR_ROWS + CANDLES, CURSOR_ROWS + CANDLES * max);
        }
      });
    });
  }
});
