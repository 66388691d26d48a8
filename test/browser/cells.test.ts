/** Proves that every figure on the page is the literal of REST, on markets with awkward grids. */

import { expect } from 'chai';
import { GRIDS, openGridMarket, placeLimit, tickerOf } from './grids.ts';
import {
  cancelButton,
  columnOf,
  fillForm,
  headingOf,
  readTable,
  showTab,
  signIn,
  submit,
  type TableText,
  untilRead,
} from './screen.ts';
import { type Stage, sharedStage } from './stage.ts';
import { browserTest } from './visit.ts';
import { createWallet } from './wallets.ts';

/** Returns the rows of some columns as text. */
const cellsOf = (table: TableText, ...columns: readonly RegExp[]): string[][] => {
  const headings = columns.map((column) => headingOf(table, column));
  return table.rows.map((row) => headings.map((heading) => row[heading]!));
};

type Row = Record<string, string>;

describe('figures on the page', () => {
  let stage: Stage;
  before(async () => {
    stage = await sharedStage();
  });

  for (const grid of GRIDS) {
    const { symbol } = grid;
    browserTest(
      `are those of REST on ${symbol}: tick ${grid.tickSize}, step ${grid.sizeStep}`,
      async (open) => {
        const { taker } = await openGridMarket(stage, grid);
        const wallet = createWallet();
        const [address] = wallet.addresses;
        const [base, quote] = symbol.split('/') as [string, string];
        await stage.credit(address!, grid.funds);
        const rest = stage.as(address);
        const [ask] = grid.asks;
        await placeLimit(rest, { market: symbol, side: 'buy', price: ask!, size: grid.sizeStep });
        await placeLimit(rest, { market: symbol, side: 'sell', price: grid.asks[1]!, size: grid.sizeStep });
        const bid = grid.bids[1]!;

        const { page } = await open(`${stage.url}/trade/${tickerOf(symbol)}`, { wallets: [wallet] });
        await signIn(page, wallet);
        await fillForm(page, { side: 'buy', price: bid, size: grid.size });
        await submit(page, 'buy');
        await cancelButton(page, `buy ${grid.size} ${base} at ${bid}`).waitFor();
        await stage.settled();

        const book = (await rest('GET', `/v1/market-data/orderbook/${tickerOf(symbol)}?depth=0`)).body;
        const levels = [...book.asks.toReversed(), ...book.bids];
        await untilRead(
          async () => cellsOf(await readTable(page, 'Order book'), /price/i, /size/i),
          (rows) => JSON.stringify(rows) === JSON.stringify(levels),
        );

        const tape = (await rest('GET', `/v1/market-data/trades/${tickerOf(symbol)}`)).body;
        const executions = [...tape.buy, ...tape.sell].map((one: Row) => [
          one.type,
          one.price,
          one.base_volume,
        ]);
        expect(cellsOf(await readTable(page, 'Trades'), /side/i, /price/i, /size/i)).to.deep.equal(
          executions,
        );

        await showTab(page, 'Open orders');
        const { orders } = (await rest('GET', '/v1/orders?status=live')).body;
        expect(
          cellsOf(await readTable(page, 'Open orders'), /side/i, /price/i, /^size/i, /filled/i),
        ).to.deep.equal(
          orders.map(({ side, price, size, filledSize }: Row) => [side, price, size, filledSize]),
        );

        await showTab(page, 'Fills');
        const { trades } = (await rest('GET', '/v1/trades')).body;
        const fills = await untilRead(
          () => readTable(page, 'Fills'),
          ({ rows }) => rows.length === trades.length,
        );
        expect(cellsOf(fills, /price/i, /size/i)).to.deep.equal(
          trades.map(({ price, size }: Row) => [price, size]),
        );
        expect(columnOf(fills, /fee/i).map((fee) => fee.split(' ')[0])).to.deep.equal(
          trades.map(({ feeAmount }: Row) => feeAmount),
        );

        await showTab(page, 'Balances');
        const { balances } = (await rest('GET', `/v1/portfolio/${address}`)).body;
        expect(
          cellsOf(await readTable(page, 'Balances'), /asset/i, /total/i, /reserved/i, /available/i),
        ).to.deep.equal(
          balances.map(({ asset, total, reserved, available }: Row) => [asset, total, reserved, available]),
        );
        expect([base, quote, taker]).to.have.length(3);
      },
    );
  }
});
