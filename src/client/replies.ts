/**
 * Types of replies and frames as this client returns them: the types of the contract, with every amount as a decimal
 * string. `pack.ts` writes the same types as interfaces.
 */

import type { z } from 'zod';
import type { faucetCreditSchema } from '../contract/faucet.ts';
import type {
  bookLevelSchema,
  candleSchema,
  errorFrameSchema,
  executionSchema,
  marketFrameSchema,
  snapshotFrameSchema,
  tickerFrameSchema,
  timeframe,
} from '../contract/frames.ts';
import type { challengeSchema } from '../contract/login.ts';
import type { marketSchema } from '../contract/market.ts';
import type {
  historicalCandleSchema,
  historicalCandlesSchema,
  historicalTradeSchema,
  historicalTradesSchema,
  orderBookSchema,
  pairSchema,
  summaryEntrySchema,
  tickerSchema,
} from '../contract/market-data.ts';
import type { balanceSchema, portfolioSchema } from '../contract/portfolio.ts';
import type { statementSchema } from '../contract/statement.ts';
import type { statusSchema } from '../contract/status.ts';
import type { Amount as WireAmount } from '../contract/values.ts';
import type {
  cancelAfterSchema,
  closedOrderSchema,
  closedOrdersSchema,
  fillSchema,
  orderChangeSchema,
  orderChangesSchema,
  orderSchema,
  ordersSchema,
  walletTradeSchema,
  walletTradesSchema,
} from '../order/reply.ts';

/** A decimal as a string, like `"2000.05"`: money, a price or a size, with exactly the digits that the service wrote. */
export type Amount = string;

/** A value of the wire with each amount as a decimal string. */
type Exact<Value> = Value extends WireAmount
  ? Amount
  : Value extends string | number | boolean | null | undefined
    ? Value
    : Value extends readonly (infer Item)[]
      ? readonly Exact<Item>[]
      : { readonly [Name in keyof Value]: Exact<Value[Name]> };

type Read<Schema extends z.ZodType> = Exact<z.infer<Schema>>;

export type Market = Read<typeof marketSchema>;

export type Pair = Read<typeof pairSchema>;
export type SummaryEntry = Read<typeof summaryEntrySchema>;
/** Summary entries by ticker id. */
export type Summary = Readonly<Record<string, SummaryEntry>>;
export type Ticker = Read<typeof tickerSchema>;
/** Price and size of a level. */
export type OrderBookLevel = readonly [price: Amount, size: Amount];
export type OrderBook = Omit<Read<typeof orderBookSchema>, 'bids' | 'asks'> & {
  readonly bids: readonly OrderBookLevel[];
  readonly asks: readonly OrderBookLevel[];
};
export type HistoricalTrade = Read<typeof historicalTradeSchema>;
export type HistoricalTrades = Read<typeof historicalTradesSchema>;

export type Timeframe = z.infer<typeof timeframe>;
/** A candle of `getCandles`; `time` is Unix seconds as a string. */
export type HistoricalCandle = Read<typeof historicalCandleSchema>;
export type HistoricalCandles = Read<typeof historicalCandlesSchema>;
export type Status = Read<typeof statusSchema>;

export type LoginTypedData = Read<typeof challengeSchema>['typedData'];

export type Balance = Read<typeof balanceSchema>;
export type Portfolio = Read<typeof portfolioSchema>;
export type Fill = Read<typeof fillSchema>;
export type Order = Read<typeof orderSchema>;
export type OrderPage = Read<typeof ordersSchema>;
export type OrderChange = Read<typeof orderChangeSchema>;
export type OrderChanges = Read<typeof orderChangesSchema>;
export type ClosedOrder = Read<typeof closedOrderSchema>;
export type ClosedOrders = Read<typeof closedOrdersSchema>;
export type CancelAfter = Read<typeof cancelAfterSchema>;
export type WalletTrade = Read<typeof walletTradeSchema>;
export type WalletTradePage = Read<typeof walletTradesSchema>;
export type StatementPage = Read<typeof statementSchema>;
export type FaucetCredit = Read<typeof faucetCreditSchema>;

export type BookLevel = Read<typeof bookLevelSchema>;
export type Execution = Read<typeof executionSchema>;
export type Candle = Read<typeof candleSchema>;
export type MarketFrame = Read<typeof marketFrameSchema>;
export type SnapshotFrame = Read<typeof snapshotFrameSchema>;
export type TickerFrame = Read<typeof tickerFrameSchema>;
export type ErrorFrame = Read<typeof errorFrameSchema>;
