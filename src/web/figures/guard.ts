/** Decides if the reader is asked before an order is sent, and words the question. */

import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import { formatCount, formatScaled } from '../../domain/units.ts';
import { type Impact, percentText } from './impact.ts';
import type { OrderPlan } from './order-plan.ts';
import { averagePrice } from './order-words.ts';
import type { Walk } from './preview.ts';

/** A loss in per cent from which on the reader is asked. */
export const ASK_AT = ['always', '0.5', '1', '2', '5', '10', 'never'] as const;
export type AskAt = (typeof ASK_AT)[number];

export interface Question {
  readonly title: string;
  readonly text: string;
  readonly action: string;
}

interface Guarded {
  readonly market: Market;
  readonly type: 'limit' | 'market';
  readonly plan: OrderPlan;
  readonly walk: Walk;
  /** Null when there is no price to compare with, or nothing is taken. */
  readonly impact: Impact | null;
  /** False for a book that is old or was never shown. */
  readonly isBookLive: boolean;
  /** The order as a sentence. */
  readonly words: string;
}

/** Returns the question, and true when the order is not sent without it. */
export function questionBefore(guarded: Guarded, askAt: AskAt): { question: Question; mustAsk: boolean } {
  const { impact, words } = guarded;
  const plain = { title: 'Send this order?', action: 'Send it' };
  if (impact !== null && askAt !== 'always' && askAt !== 'never' && impact.worstBps >= bpsOf(askAt))
    return { question: lossQuestion(guarded, impact), mustAsk: true };
  const doubt = doubtOf(guarded);
  if (doubt !== null)
    return { question: { ...plain, text: `${words} ${doubt}` }, mustAsk: askAt !== 'never' };
  const isLoss = impact !== null && impact.lossAtoms > 0n;
  const question = isLoss ? lossQuestion(guarded, impact) : { ...plain, text: words };
  return { question, mustAsk: askAt === 'always' };
}

/** Returns the reason why the loss is not known; null when it is. */
function doubtOf({ type, walk, impact, isBookLive }: Guarded): string | null {
  if (!isBookLive) return 'The book on the screen is not up to date.';
  const takes = type === 'market' || walk.worstTicks !== null;
  return takes && impact === null
    ? 'There is no middle of the book and no last price to compare it with.'
    : null;
}

/** Basis points of a percentage with at most one decimal. */
const bpsOf = (percent: string): bigint => BigInt(Math.round(Number(percent) * 100));

function lossQuestion({ market, type, plan, walk, words }: Guarded, impact: Impact): Question {
  const { side } = plan.order;
  const { tick } = marketGrid(market);
  const { reference, averageBps, worstBps, lossAtoms, maxLossAtoms } = impact;
  const money = (atoms: bigint): string =>
    `${formatScaled(atoms, market.quote.scale)} ${market.quote.symbol}`;
  const fair = formatScaled(reference.twiceTicks * 5n * tick.coefficient, tick.places + 1);
  const verb = side === 'buy' ? 'Buy' : 'Sell';
  const past = side === 'buy' ? 'above' : 'below';
  const worst = type === 'market' ? formatCount(walk.worstTicks!, tick) : plan.order.price;
  const name = type === 'market' ? 'the worst one is' : 'the limit allows';
  const text =
    `${words} The ${reference.kind} is ${fair}. The fills shown average ${averagePrice(market, side, walk)}, ` +
    `${percentText(averageBps)} ${past} it: ${money(lossAtoms)} lost. ` +
    `${capital(name)} ${worst}, ${percentText(worstBps)} ${past} it: at most ${money(maxLossAtoms)} lost.`;
  const downTo = side === 'buy' ? 'up to' : 'down to';
  const title = `${verb} ${downTo} ${percentText(worstBps)} ${past} the ${reference.kind}?`;
  return { title, text, action: `${verb} at a loss` };
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
