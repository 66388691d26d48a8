/** The effect of the form's order on the book that is shown, computed again with each frame and each key. */

import { computed } from '@preact/signals';
import type { Market as Rules } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import type { Side } from '../../domain/order.ts';
import { rulesOf } from '../../domain/published-rules.ts';
import { countOf, formatScaled, parseDecimal, toScaled } from '../../domain/units.ts';
import { type DraftTexts, readDraft } from '../figures/draft-request.ts';
import { questionBefore } from '../figures/guard.ts';
import { impactOf, referenceOf } from '../figures/impact.ts';
import { planOrder } from '../figures/order-plan.ts';
import { describeOrder } from '../figures/order-words.ts';
import { type OtherSide, previewOrder } from '../figures/preview.ts';
import { balances, openOrders, portfolio } from './account.ts';
import { currentMarket, frame, streamState } from './market-feed.ts';
import { draft } from './order-draft.ts';
import { askAt, slippage } from './order-settings.ts';

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

/** The price that the order is compared with; null when the frame has none. */
const reference = computed(() => {
  const [market, shown] = [rules.value, frame.value];
  if (market === null || shown === null) return null;
  return referenceOf(shown.book, shown.trades[0]?.price, marketGrid(market).tick);
});

/** The order as it would be sent, and what it would do; null while the form cannot be read. */
const planned = computed(() => {
  const [market, read] = [rules.value, reading.value];
  if (market === null || read === null || read.amounts === null) return null;
  const texts = draftTexts.value;
  const preview = previewOrder(market, texts, read.amounts, otherSide.value, availableAtoms.value);
  const plan = planOrder(market, texts, read.amounts, preview.walk, bpsOf(slippage.value));
  const fair = reference.value;
  const impact = plan && fair && impactOf(market, texts, preview.walk, plan, fair);
  const described = { market, texts, preview, plan, impact, availableAtoms: availableAtoms.value };
  return { ...described, words: describeOrder({ ...described, slippage: slippage.value }) };
});

const bpsOf = (percent: string): bigint => BigInt(Math.round(Number(percent) * 100));

/** Size and quote amount of the order as texts, whichever of them was typed; null while they are not known. */
export const worth = computed(() => {
  if (planned.value === null || planned.value.plan === null) return null;
  const { market, texts, preview, plan } = planned.value;
  const { walk } = preview;
  const restTicks = texts.type === 'limit' ? plan.priceTicks : 0n;
  const restAtoms = (plan.sizeSteps - walk.steps) * restTicks * market.quoteAtomsPerLot;
  return { size: plan.order.size, amount: formatScaled(walk.notionalAtoms + restAtoms, market.quote.scale) };
});

/** Words and figures of the order; null while the order cannot be read or the book is not known. */
export const orderWords = computed(() => (frame.value === null ? null : (planned.value?.words ?? null)));

/** The order that the button sends, and the question before it; null while there is none to send. */
export const sendable = computed(() => {
  if (planned.value === null || planned.value.plan === null) return null;
  const { market, texts, preview, plan, impact, words } = planned.value;
  const { type, side, size, amount } = texts;
  const guarded = {
    market,
    type,
    plan,
    impact,
    walk: preview.walk,
    words: words.sentence,
    isBookLive: streamState.value === 'live',
  };
  return {
    order: plan.order,
    words: words.sentence,
    typed: { size, amount },
    // Two market orders of the same draft may have other prices.
    likeness: [market.symbol, side, type, type === 'limit' && plan.order.price, size, amount].join(' '),
    question: questionBefore(guarded, askAt[type].value),
  };
});

export type Sendable = NonNullable<typeof sendable.value>;
