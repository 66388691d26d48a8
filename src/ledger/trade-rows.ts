/** Turns trades into rows and into additions to candles. */

import { baseAtoms, notionalAtoms, type Trade } from '../domain/order.ts';
import { CandleRows } from './candle-rows.ts';
import { CopyRows, textField } from './copy.ts';
import { unitFields } from './market-units.ts';

export class TradeRows {
  readonly trades = new CopyRows();
  readonly candles = new CandleRows();

  /** Adds the trades of one event, in the order of execution. */
  add(trades: readonly Trade[]): void {
    for (const trade of trades) {
      const { sequence, timeMs } = trade;
      const notional = notionalAtoms(trade);
      const row = `${trade.tradeId}\t${sequence}\t${textField(trade.market)}\t${trade.takerSide}\t${trade.priceTicks}\t${
        trade.sizeSteps
      }\t${baseAtoms(trade)}\t${notional}\t${trade.feeAtoms}\t${trade.takerOrderId}\t${trade.makerOrderId}\t${
        trade.takerWallet
      }\t${trade.makerWallet}\t${timeMs}\t${unitFields(trade.units)}`;
      this.trades.add(row);
      this.candles.add(trade, notional);
    }
  }
}
