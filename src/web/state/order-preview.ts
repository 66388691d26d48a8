/** The effect of the form's order on the book that is shown, computed again with each frame and each key. */

import { computed } from '@preact/signals';
import type { NewOrder, Order } from '../../client/index.ts';
import type { Market as Rules } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import type { Side } from '../../domain/order.ts';
import type { OrderAmounts } from '../../domain/placing.ts';
import { rulesOf } from '../../domain/published-rules.ts';
import { countOf, formatScaled, parseDecimal, toScaled } from '../../domain/units.ts';
import { marketIdOf } from '../figures/asked-type.ts';
import { type DraftTexts, readDraft } from '../figures/draft-request.ts';
import { type AskAt, type Question, questionBefore } from '../figures/guard.ts';
import { impactOf, referenceOf } from '../figures/impact.ts';
import { planOrder } from '../figures/order-plan.ts';
import { describeOrder, type OrderWords } from '../figures/order-words.ts';
import { type OtherSide, previewOrder } from '../figures/preview.ts';
import { balances, openOrders, portfolio, shownName } from './account.ts';
import { currentMarket, frame, streamState } from './market-feed.ts';
import { marketOf } from './markets.ts';
import { numberStyle, shownWithin, written } from './number-style.ts';
import { draft, type Typed } from './order-draft.ts';
import { askAt, askMove, slippage } from './order-settings.ts';

/** Rules of the selected market; null until they are known. */
export const rules = computed(() => (currentMarket.value === null ? null : rulesOf(currentMarket.value)));

export const draftTexts = computed<DraftTexts>(() => ({
  style: numberStyle.value,
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

const NO_SIDE: OtherSide = { levels: [], isCut: false, own: new Map() };

/** Returns the side of the book that an order would meet; without levels when the book is not on the screen. */
function sideThatMeets(market: Rules, side: Side): OtherSide {
  const book = currentMarket.value?.symbol === market.symbol ? frame.value?.book : undefined;
  if (book === undefined) return NO_SIDE;
  const { tick, step } = marketGrid(market);
  const shown = side === 'buy' ? book.asks : book.bids;
  const levels = shown.map(({ price, size }) => ({
    priceTicks: countOf(parseDecimal(price)!, tick)!,
    sizeSteps: countOf(parseDecimal(size)!, step)!,
  }));
  return { levels, isCut: levels.length >= MAX_LEVELS, own: ownSteps(market, side) };
}

/** The side of the book that the order would meet. */
export const otherSide = computed<OtherSide>(() =>
  rules.value === null ? NO_SIDE : sideThatMeets(rules.value, draft.side.value),
);

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

/** The price that an order is compared with; null when the frame has none, or is of another market. */
function referenceFor(market: Rules) {
  const shown = frame.value;
  if (shown === null || currentMarket.value?.symbol !== market.symbol) return null;
  return referenceOf(shown.book, shown.trades[0]?.price, marketGrid(market).tick);
}

/** Writes the figures of sentences as those of the tables beside them: 1.999 is another size in Germany. */
const shownWords = ({ sentence, notes, impact, warning, ...others }: OrderWords): OrderWords => ({
  ...others,
  sentence: shownWithin(sentence),
  notes: notes.map(shownWithin),
  impact: impact && { ...impact, text: shownWithin(impact.text) },
  warning: warning && { ...warning, text: shownWithin(warning.text) },
});

/** Returns an order as it would be sent, and what it would do. @param available null where it is not to be checked */
function planFor(
  market: Rules,
  texts: DraftTexts,
  amounts: OrderAmounts,
  other: OtherSide,
  available: bigint | null,
) {
  const preview = previewOrder(market, texts, amounts, other, available);
  const plan = planOrder(market, texts, amounts, preview.walk, bpsOf(slippage.value));
  const fair = referenceFor(market);
  const impact = plan && fair && impactOf(market, texts, preview.walk, plan, fair);
  const described = { market, texts, preview, plan, impact, availableAtoms: available };
  return { ...described, words: shownWords(describeOrder({ ...described, slippage: slippage.value })) };
}

/** The order of the form; null while the form cannot be read. */
const planned = computed(() => {
  const market = rules.value;
  const read = reading.value;
  if (market === null || read === null || read.amounts === null) return null;
  return planFor(market, draftTexts.value, read.amounts, otherSide.value, availableAtoms.value);
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

/** An order that can be sent, and the question before it. */
export interface Sendable {
  readonly order: NewOrder;
  /** The order as a sentence. */
  readonly words: string;
  readonly typed: Typed;
  /** The same for orders of the same draft. */
  readonly likeness: string;
  /** Beginning of the id that the page gives the order. */
  readonly idBegin: string;
  readonly question: Question;
  readonly mustAsk: boolean;
  /** Loss of the worst price that the order may trade at, in basis points. */
  readonly lossBps: bigint;
  /** The live order that it replaces, as the question told it. */
  readonly replaces?: Order;
  /** The move that it makes of that order. */
  readonly move?: Move;
}

const shownQuestion = ({ question, mustAsk }: ReturnType<typeof questionBefore>) => ({
  question: { ...question, title: shownWithin(question.title), text: shownWithin(question.text) },
  mustAsk,
});

function sendableFor(
  { market, texts, preview, plan, impact, words: { sentence: words } }: ReturnType<typeof planFor>,
  isBookLive: boolean,
  asked: AskAt,
): Sendable | null {
  if (plan === null) return null;
  const { type, side, size, amount } = texts;
  const guarded = { market, type, plan, impact, walk: preview.walk, words, isBookLive };
  return {
    order: plan.order,
    words,
    idBegin: type === 'market' ? marketIdOf(slippage.value) : '',
    typed: { size, amount },
    // Two market orders of the same draft may have other prices.
    likeness: [market.symbol, side, type, type === 'limit' && plan.order.price, size, amount].join(' '),
    ...shownQuestion(questionBefore(guarded, asked)),
    lossBps: impact?.worstBps ?? 0n,
  };
}

/** The order that the button sends; null while there is none to send. */
export const sendable = computed(
  () =>
    planned.value && sendableFor(planned.value, streamState.value === 'live', askAt[draft.type.value].value),
);

/** The price and the size that a live order is to have, as texts of a form. */
export interface Move {
  readonly price: string;
  /** The rest of the order unless given. */
  readonly size?: string;
}

/** Returns the order that takes the place of a live one, or the reason why there is none. */
export function movedOrder(old: Order, move: Move): Sendable | string {
  const { price, size = written(old.remainingSize) } = move;
  const found = marketOf(old.market);
  if (found === undefined) return 'the market is not known yet';
  const market = rulesOf(found);
  const texts: DraftTexts = {
    style: numberStyle.value,
    side: old.side,
    type: 'limit',
    price,
    size,
    amount: '',
    timeInForce: 'GTC',
    postOnly: old.postOnly,
    clientOrderId: '',
  };
  const { amounts, problems } = readDraft(texts, market);
  if (amounts === null) return problems[0]?.message ?? 'the price cannot be read';
  const plan = planFor(market, texts, amounts, sideThatMeets(market, old.side), null);
  const isShown = currentMarket.value?.symbol === old.market;
  const asked = askMove.value === 'always' ? 'always' : askAt.limit.value;
  const sent = sendableFor(plan, isShown && streamState.value === 'live', asked);
  if (sent === null) return 'the order is not complete';
  const { title, text, action } = sent.question;
  const isPlain = action === 'Send it';
  const question = {
    title: isPlain ? 'Move the order?' : title,
    text: `This cancels the order to ${shownName(old)} and places a new one, as one change. ${text}`,
    action: isPlain ? 'Move it' : action,
  };
  return { ...sent, question, likeness: `${old.id} ${sent.likeness}`, replaces: old, move };
}
