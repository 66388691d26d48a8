/**
 * Reads JSON without loss: amounts become the decimal strings that the service wrote; counts and times become numbers.
 */

import { parse } from 'lossless-json';
import type {
  CancelAfter,
  ClosedOrders,
  ErrorFrame,
  FaucetCredit,
  HistoricalTrades,
  Market,
  MarketFrame,
  OrderChanges,
  OrderPage,
  Portfolio,
  SnapshotFrame,
  StatementPage,
  Status,
  WalletTradePage,
} from './replies.ts';

/** Names of the members that are plain numbers: counts, times, percentages. */
type NamesOfNumbers<Value> = Value extends readonly (infer Item)[]
  ? NamesOfNumbers<Item>
  : Value extends object
    ? {
        [Name in keyof Value]-?: NonNullable<Value[Name]> extends number
          ? Name
          : NamesOfNumbers<NonNullable<Value[Name]>>;
      }[keyof Value]
    : never;

/** Names of all members, in any reply or frame, that stay numbers. */
type PlainNumber = NamesOfNumbers<
  | Market
  | HistoricalTrades
  | Status
  | Portfolio
  | OrderPage
  | OrderChanges
  | ClosedOrders
  | CancelAfter
  | WalletTradePage
  | StatementPage
  | FaucetCredit
  | MarketFrame
  | SnapshotFrame
  | ErrorFrame
>;

/** Members that stay numbers. The compiler checks the list against the contract; any other number is an amount. */
export const PLAIN_NUMBERS: { readonly [Name in PlainNumber]: true } = {
  baseScale: true,
  change24h: true,
  checks: true,
  count: true,
  creditsLeft: true,
  differences: true,
  event: true,
  feeBps: true,
  fillCount: true,
  id: true,
  makerFeeBps: true,
  quoteScale: true,
  sequence: true,
  takerFeeBps: true,
  time: true,
  trade_id: true,
};

/** A number as written in the text. The class keeps it apart from a string with the same digits. */
class NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** @throws SyntaxError */
export const readExactJson = (text: string): unknown =>
  parse(
    text,
    (name, value) =>
      value instanceof NumberLiteral
        ? Object.hasOwn(PLAIN_NUMBERS, name)
          ? Number(value.text)
          : value.text
        : value,
    (literal) => new NumberLiteral(literal),
  );
