/** The effect of the form's order on the book that is shown, computed again with each frame and each key. */

import { computed } from '@preact/signals';
import type { Market as Rules } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import type { Side } from '../../domain/order.ts';
import { countOf, parseDecimal, toScaled } from '../../domain/units.ts';
import { type DraftTexts, readDraft } from '../figures/draft-request.ts';
import { rulesOf } from '../figures/market-rules.ts';
import { describeOrder } from '../figures/order-words.ts';
import { type OtherSide, previewOrder } from '../figures/preview.ts';
import { balances, openOrders, portfolio } from './account.ts';
import { currentMarket, frame } from './market-feed.ts';
import { draft } from './order-draft.ts';

/** Rules of the selected market; null until they are known. */
export const rules = computed(() => (currentMarket.value === null ? null : rulesOf(currentMarket.value)));

export const draftTexts = computed<DraftTexts>(() => ({
  side: draft.side.value,
  type: draft.type.value,
  price: draft.price.value,
  size: draft.size.value,
  amount: draft.amount.value,
  timeInForce: draft.timeInForce.value,
  postOnly: draft.postOnly.value,
  clientOrderId: draft.clientOrderId.value,
}));

/** A side of the stream's book holds at most this many levels. */
const MAX_LEVELS = 250;

/** Steps of the wallet's own orders that an order of this side would meet, by price. */
function ownSteps(market: Rules, side: Side): Map<bigint, bigint> {
  const { tick, step } = marketGrid(market);
  const own = new Map<bigint, bigint>();
  for (const order of openOrders.value) {
    if (order.market !== market.symbol || order.side === side || order.price === null) continue;
    const ticks = countOf(parseDecimal(order.price)!, tick)!;
    own.set(ticks, (own.get(ticks) ?? 0n) + countOf(parseDecimal(order.remainingSize)!, step)!);
  }
  return own;
}

/** The side of the book that the order would meet. */
export const otherSide = computed<OtherSide>(() => {
  const [market, book] = [rules.value, frame.value?.book];
  if (market === null || book === undefined) return { levels: [], isCut: false, own: new Map() };
  const { tick, step } = marketGrid(market);
  const side = draft.side.value;
  const shown = side === 'buy' ? book.asks : book.bids;
  const levels = shown.map(({ price, size }) => ({
    priceTicks: countOf(parseDecimal(price)!, tick)!,
    sizeSteps: countOf(parseDecimal(size)!, step)!,
  }));
  return { levels, isCut: levels.length >= MAX_LEVELS, own: ownSteps(market, side) };
});

/** Available atoms of the asset that the order pays with; null while they are not known. */
export const availableAtoms = computed<bigint | null>(() => {
  const market = rules.value;
  if (market === null || portfolio.value === null) return null;
  const { symbol, scale } = draft.side.value === 'buy' ? market.quote : market.base;
  const balance = balances.value.find(({ asset }) => asset === symbol);
  return balance === undefined ? 0n : toScaled(parseDecimal(balance.available)!, scale)!;
});

/** The order as read from the form; null while no market is known. */
export const reading = computed(() =>
  rules.value === null ? null : readDraft(draftTexts.value, rules.value),
);

/** Words and figures of the order; null while the order cannot be read or the book is not known. */
export const orderWords = computed(() => {
  const [market, read] = [rules.value, reading.value];
  if (market === null || read === null || read.amounts === null || frame.value === null) return null;
  const texts = draftTexts.value;
  const preview = previewOrder(market, texts, read.amounts, otherSide.value, availableAtoms.value);
  return describeOrder(market, texts, preview, availableAtoms.value);
});
