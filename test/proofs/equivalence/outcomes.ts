/** Counts the outcomes of a run, and how often each must occur for the run to prove anything. */

import type { Operation } from './generator.ts';
import type { PlaceAnswer, ReferenceExchange } from './reference-book.ts';

/** Minimum number of each outcome in 10,000 operations. */
const MIN_OF_EACH: Readonly<Record<string, number>> = {
  fills: 1_000,
  'filled by several makers': 100,
  'met an own order': 100,
  'met an own order: expire_taker': 1,
  'met an own order: expire_maker': 1,
  'met an own order: expire_both': 1,
  'own orders expired': 20,
  'FOK filled': 100,
  FOK_NOT_FILLED: 100,
  'post-only rested': 100,
  POST_ONLY_WOULD_CROSS: 100,
  'IOC remainder dropped': 100,
  'market remainder dropped': 15,
  'quote amount filled': 100,
  'partly filled, rests': 40,
  replayed: 100,
  replaced: 100,
  'replaced by post-only': 10,
  'replaced after fills, guarded': 5,
  cancelled: 100,
  self_trade_prevented: 20,
  ioc_remainder: 100,
  'cancelled after fills': 40,
  'several cancelled at once': 30,
  voided: 10,
  moved: 300,
  'movement known': 8,
  'withdrawal: take': 12,
  'withdrawal: give_up': 2,
  'take unchanged': 4,
  PAYMENT_UNDER_WAY: 6,
  'withdrawal or deposit confirmed': 6,
  'withdrawal or deposit returned': 4,
  'withdrawal or deposit announced': 12,
  'withdrawal or deposit dropped': 1,
  'deposit reversed': 6,
  'owes since': 1,
  'pays what it owed': 1,
  ALREADY_REVERSED: 2,
  RECEIVABLE_OPEN: 1,
  SUPPLY_LIMIT: 2,
  RESTRICTED_JURISDICTION: 100,
  MARKET_NOT_FOUND: 100,
  INVALID_ORDER: 100,
  MARKET_NOT_TRADING: 100,
  'MARKET_PRE_OPEN by type': 100,
  'MARKET_PRE_OPEN by crossing': 100,
  SELL_DISABLED: 100,
  REDUCE_ONLY: 100,
  PRICE_TICK: 100,
  SIZE_STEP: 100,
  VALIDATION_ERROR: 100,
  ORDER_BELOW_MIN_SIZE: 100,
  'ORDER_ABOVE_MAX_SIZE by rule': 100,
  'ORDER_ABOVE_MAX_SIZE by exactness': 100,
  NO_REFERENCE_PRICE: 100,
  NO_LIQUIDITY: 100,
  QUOTE_AMOUNT_TOO_SMALL: 100,
  INSUFFICIENT_BALANCE: 100,
  OPERATIONAL_PAUSED: 100,
  CUSTODY_HOLD: 100,
  STALE_TERMS_VERSION: 100,
  ORDER_NOT_FOUND: 100,
  CONFLICT: 20,
  BAD_REQUEST: 100,
};

export class Outcomes {
  readonly counts = new Map<string, number>();

  add(outcome: string, count = 1): void {
    this.counts.set(outcome, (this.counts.get(outcome) ?? 0) + count);
  }

  placed(operation: Operation & { do: 'place' }, answer: PlaceAnswer, book: ReferenceExchange): void {
    if ('replayed' in answer) {
      this.add('replayed');
      return;
    }
    const { request } = operation;
    const market = book.market(request.market);
    if ('refused' in answer) {
      this.add(answer.refused + detailOf(answer.refused, operation, book));
      return;
    }
    const { placed, trades, plan } = answer;
    if (placed.reason !== null) this.add(placed.reason);
    if (answer.replaced !== undefined) this.add('replaced');
    if (answer.replaced !== undefined && placed.postOnly) this.add('replaced by post-only');
    if (operation.filledSize !== undefined && answer.replaced?.status === 'partially_filled_cancelled')
      this.add('replaced after fills, guarded');
    if (placed.status === 'rejected') return;
    this.add('fills', trades.length);
    if (trades.length > 1) this.add('filled by several makers');
    if (plan.met > 8) this.add('more makers than one page');
    if (plan.ended === 'makers') this.add('stopped by the bound on makers');
    if (plan.ended === 'own_order' || plan.expired.length > 0) {
      this.add('met an own order');
      this.add(`met an own order: ${market!.rules.selfTrade}`);
    }
    if (plan.expired.length > 0) this.add('own orders expired');
    if (placed.timeInForce === 'FOK' && request.size !== undefined) this.add('FOK filled');
    if (placed.postOnly) this.add('post-only rested');
    const isCut = placed.filled > 0n && placed.filled < placed.size;
    if (isCut && placed.timeInForce === 'IOC' && placed.type === 'limit') this.add('IOC remainder dropped');
    if (isCut && placed.type === 'market') this.add('market remainder dropped');
    if (placed.status === 'partially_filled') this.add('partly filled, rests');
    if (request.quoteAmount !== undefined) this.add('quote amount filled');
  }

  /** Returns the outcomes that occurred too rarely for the number of operations, each with its count and minimum. */
  missing(operations: number): string[] {
    return Object.entries(MIN_OF_EACH)
      .map(
        ([outcome, least]) =>
          [outcome, this.counts.get(outcome) ?? 0, (least * operations) / 10_000] as const,
      )
      .filter(([, count, least]) => count < least)
      .map(([outcome, count, least]) => `${outcome}: ${count} of ${least}`);
  }

  table(): string {
    return [...this.counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([outcome, count]) => `  ${String(count).padStart(9)}  ${outcome}`)
      .join('\n');
  }
}

/** Distinguishes the reasons of one code, because each of them must occur. */
function detailOf(code: string, { request }: Operation & { do: 'place' }, book: ReferenceExchange): string {
  if (code === 'MARKET_PRE_OPEN') {
    return request.type === 'limit' && request.timeInForce === 'GTC' ? ' by crossing' : ' by type';
  }
  if (code !== 'ORDER_ABOVE_MAX_SIZE') return '';
  return book.market(request.market)!.rules.maxOrderSize === null ? ' by exactness' : ' by rule';
}
