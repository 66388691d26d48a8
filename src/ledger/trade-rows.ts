/** Turns trades into rows of trades and entries and into additions to candles. Each amount is formatted once. */

import { baseAtoms, notionalAtoms, type Trade } from '../domain/order.ts';
import { CandleRows } from './candle-rows.ts';
import { CopyRows, textField } from './copy.ts';
import { bookTrade, type Entry, type Exchanged, transactionOfTrade } from './entries.ts';
import { unitFields } from './market-units.ts';

/** Returns an entry as a row; its texts are COPY fields already. */
export const entryRow = (
  { sequence, timeMs }: { readonly sequence: number; readonly timeMs: number },
  line: number,
  { transactionId, kind, account, asset, amount, reference }: EntryFields,
): string =>
  `${sequence}\t${line}\t${transactionId}\t${kind}\t${account}\t${asset}\t${amount}\t${reference}\t${timeMs}`;

interface EntryFields extends Pick<Entry, 'transactionId' | 'kind' | 'account' | 'asset' | 'reference'> {
  readonly amount: string | bigint;
}

const exchanged = (atoms: string): Exchanged<string> | null =>
  atoms === '0' ? null : { received: atoms, paid: `-${atoms}` };

export class TradeRows {
  readonly trades = new CopyRows();
  readonly entries = new CopyRows();
  readonly candles = new CandleRows();

  /** Adds the trades of one event, in the order of execution. */
  add(trades: readonly Trade[]): void {
    let line = 0;
    for (const trade of trades) {
      const { sequence, timeMs } = trade;
      const notional = notionalAtoms(trade);
      const amounts = { base: `${baseAtoms(trade)}`, notional: `${notional}`, fee: `${trade.feeAtoms}` };
      const row = `${trade.tradeId}\t${sequence}\t${textField(trade.market)}\t${trade.takerSide}\t${trade.priceTicks}\t${
        trade.sizeSteps
      }\t${amounts.base}\t${amounts.notional}\t${amounts.fee}\t${trade.takerOrderId}\t${trade.makerOrderId}\t${
        trade.takerWallet
      }\t${trade.makerWallet}\t${timeMs}\t${unitFields(trade.units)}`;
      this.trades.add(row);
      this.candles.add(trade, notional);
      const transactionId = transactionOfTrade(trade);
      const moved = {
        base: exchanged(amounts.base),
        notional: exchanged(amounts.notional),
        fee: exchanged(amounts.fee),
      };
      bookTrade(trade, moved, (kind, account, asset, amount, reference) => {
        const fields = { transactionId, kind, account, asset, amount, reference };
        this.entries.add(entryRow(trade, line, fields));
        line += 1;
      });
    }
  }
}
