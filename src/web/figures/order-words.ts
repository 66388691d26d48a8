/** The preview of an order in words and in exact figures. */

import { ERRORS, type ErrorCode } from '../../domain/errors.ts';
import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import { END_REASONS } from '../../domain/order.ts';
import { formatCount, formatScaled, type Grid } from '../../domain/units.ts';
import type { DraftTexts } from './draft-request.ts';
import { alarmOf, type Impact, percentText } from './impact.ts';
import type { OrderPlan } from './order-plan.ts';
import type { Preview, Walk } from './preview.ts';
import { refusalWords } from './refusal-words.ts';

interface Figure {
  readonly term: string;
  /** Begins with the exact literal. */
  readonly value: string;
  /** True when the balance does not cover the order. */
  readonly isShort?: boolean;
}

export interface OrderWords {
  readonly sentence: string;
  /** Total, fee, and what is available afterwards. */
  readonly figures: readonly Figure[];
  /** The parts of the order, and the end of each. */
  readonly details: readonly Figure[];
  /** Distance of the fills from the mid in words; null for an order that takes nothing. */
  readonly impact: { readonly alarm: 'usual' | 'high' | 'extreme'; readonly text: string } | null;
  /** Sentences on the book, and on figures that are bounds. */
  readonly notes: readonly string[];
  /** Reason why the order would not be accepted as things stand; null when there is none to be seen. */
  readonly warning: { readonly code: string; readonly text: string } | null;
}

const IN_FORCE = {
  GTC: 'until cancelled',
  IOC: 'the rest is dropped',
  FOK: 'all of it or nothing',
} as const;

/** Decimals beyond the tick's that an average is shown with. */
const AVERAGE_PLACES = 2;

const quoteText = (market: Market, atoms: bigint): string =>
  `${formatScaled(atoms, market.quote.scale)} ${market.quote.symbol}`;

const baseText = (market: Market, atoms: bigint): string =>
  `${formatScaled(atoms, market.base.scale)} ${market.base.symbol}`;

/** Returns the average price of fills, rounded against the reader to two places beyond the tick's. */
export function averagePrice(
  market: Market,
  side: 'buy' | 'sell',
  walk: Pick<Walk, 'steps' | 'notionalAtoms'>,
): string {
  const { tick } = marketGrid(market);
  const finer: Grid = { coefficient: tick.coefficient, places: tick.places + AVERAGE_PLACES };
  const lots = walk.steps * market.quoteAtomsPerLot;
  const scaled = walk.notionalAtoms * 10n ** BigInt(AVERAGE_PLACES);
  const floor = scaled / lots;
  const isExact = scaled % lots === 0n;
  const rounded = isExact || side === 'sell' ? floor : floor + 1n;
  return `${isExact ? '' : 'about '}${formatCount(rounded, finer)}`;
}

/** Returns the order as it is sent as one sentence: `Buy 0.5 ETH at 2000.05 USDC or better, until cancelled.` */
function orderSentence(market: Market, texts: DraftTexts, plan: OrderPlan, slippage: string): string {
  const verb = texts.side === 'buy' ? 'Buy' : 'Sell';
  const { price, size, postOnly, timeInForce } = plan.order;
  const force = postOnly ? 'as a maker only' : IN_FORCE[timeInForce ?? 'GTC'];
  const what = `${verb} ${size} ${market.base.symbol} at ${price} ${market.quote.symbol} or better`;
  const why = texts.type === 'market' ? ` (the worst price shown and ${slippage} %)` : '';
  return `${what}${why}, ${force}.`;
}

interface Described {
  readonly market: Market;
  readonly texts: DraftTexts;
  readonly preview: Preview;
  /** Amount of the asset that the order pays with; null while nobody is signed in. */
  readonly availableAtoms: bigint | null;
  /** Null for an order that cannot be sent. */
  readonly plan: OrderPlan | null;
  readonly impact: Impact | null;
  /** Slippage of market orders in per cent. */
  readonly slippage: string;
}

export function describeOrder(described: Described): OrderWords {
  const { market, texts, preview, plan, impact, slippage } = described;
  return {
    sentence: plan === null ? 'The book has no order to meet.' : orderSentence(market, texts, plan, slippage),
    figures: figuresOf(described),
    details: detailsOf(described),
    impact: impact && impactWords(texts, impact),
    notes: notesOf(market, texts, preview),
    warning: warningOf(described),
  };
}

function impactWords(
  { type }: DraftTexts,
  { averageBps, worstBps }: Impact,
): NonNullable<OrderWords['impact']> {
  const alarm = alarmOf(worstBps);
  const words = { usual: '', high: ': high', extreme: ': very high' }[alarm];
  const worst = type === 'market' ? 'worst' : 'limit';
  const beyond = alarm === 'usual' || worstBps === averageBps ? '' : `, ${worst} ${percentText(worstBps)}`;
  return { alarm, text: `Impact ${percentText(averageBps)}${beyond}${words}` };
}

/** Returns the three figures that decide: the total, the fee, and what is left. */
function figuresOf({ market, texts: { side }, preview, availableAtoms, plan }: Described): Figure[] {
  const { neededAtoms, receivedAtoms, restingSteps, walk } = preview;
  const paidText = side === 'buy' ? quoteText : baseText;
  const restAtoms = restingSteps * (plan?.priceTicks ?? 0n) * market.quoteAtomsPerLot;
  const totalAtoms = side === 'buy' ? neededAtoms : receivedAtoms + restAtoms;
  const left = availableAtoms === null ? null : availableAtoms - neededAtoms;
  const leftText =
    left === null ? NONE : left >= 0n ? paidText(market, left) : `${paidText(market, -left)} short`;
  return [
    { term: side === 'buy' ? 'Total to pay' : 'Total to receive', value: quoteText(market, totalAtoms) },
    { term: feeTerm(market, walk), value: quoteText(market, walk.feeAtoms) },
    { term: 'Available after', value: leftText, ...(left !== null && left < 0n && { isShort: true }) },
  ];
}

/** A maker pays no fee; a taker pays the market's. */
const feeTerm = (market: Market, walk: Walk): string => {
  const rate = `${formatScaled(BigInt(market.feeBps), 2)} %`;
  return walk.steps > 0n ? `Fee (taker, ${rate})` : `Fee (maker; ${rate} if it takes)`;
};

/** Stands for a figure that is not known. */
const NONE = '–';

/** The terms of `figuresOf`, before there is an order. */
export const EMPTY_FIGURES: readonly Figure[] = ['Total', 'Fee', 'Available after'].map((term) => ({
  term,
  value: NONE,
}));

function detailsOf({ market, texts: { side }, preview }: Described): Figure[] {
  const { walk, reservedAtoms, receivedAtoms } = preview;
  const [paidText, gotText] = side === 'buy' ? [quoteText, baseText] : [baseText, quoteText];
  const paidAtoms =
    side === 'buy' ? walk.notionalAtoms + walk.feeAtoms : walk.steps * market.baseAtomsPerStep;
  return [
    { term: side === 'buy' ? 'You pay at once' : 'You give at once', value: paidText(market, paidAtoms) },
    { term: 'You receive at once', value: gotText(market, receivedAtoms) },
    { term: 'Reserved while it rests', value: paidText(market, reservedAtoms) },
  ];
}

function notesOf(market: Market, texts: DraftTexts, preview: Preview): string[] {
  const { walk, droppedSteps, restingSteps } = preview;
  const { tick, step } = marketGrid(market);
  const base = market.base.symbol;
  const notes = [takenNote(market, texts, walk)];
  if (restingSteps > 0n && walk.steps > 0n) {
    notes.push(`${formatCount(restingSteps, step)} ${base} would rest, free of a fee.`);
  }
  if (droppedSteps > 0n && preview.rejectReason === null && walk.ownTicks === null) {
    notes.push(
      `${formatCount(droppedSteps, step)} ${base} would find no order at this price and be dropped.`,
    );
  }
  if (walk.isPastShown) notes.push('The shown book ends here; the order may take levels behind it.');
  if (!walk.isFeeExact) {
    const atom = quoteText(market, 1n);
    notes.push(
      `The fee counts one order a level. Each further order at a level can add one atom, ${atom}, to it.`,
    );
  }
  if (walk.ownTicks !== null) {
    const other = texts.side === 'buy' ? 'sell' : 'buy';
    const price = formatCount(walk.ownTicks, tick);
    notes.push(
      `Your own ${other} order at ${price} is in the way. Own orders never trade with each other: the rest of this one ` +
        'is dropped, unless the market cancels the other one.',
    );
  }
  return notes;
}

function takenNote(market: Market, { side }: DraftTexts, walk: Walk): string {
  if (walk.worstTicks === null) return 'Takes nothing from the book as it stands.';
  const { tick, step } = marketGrid(market);
  const levels = `${walk.levels} ${walk.levels === 1 ? 'level' : 'levels'}`;
  const taken = `${formatCount(walk.steps, step)} ${market.base.symbol}`;
  return (
    `Takes ${taken} from ${levels} of the book: average ${averagePrice(market, side, walk)}, ` +
    `worst ${formatCount(walk.worstTicks, tick)}.`
  );
}

function warningOf({ market, texts, preview, availableAtoms }: Described): OrderWords['warning'] {
  const { refusal, rejectReason, neededAtoms } = preview;
  if (refusal === 'INSUFFICIENT_BALANCE' && availableAtoms !== null) {
    const paidText = texts.side === 'buy' ? quoteText : baseText;
    const text = `it needs ${paidText(market, neededAtoms)}, and ${paidText(market, availableAtoms)} is available`;
    return { code: refusal, text };
  }
  if (refusal !== null) return { code: refusal, text: meaningOf(refusal) };
  if (rejectReason === null) return null;
  const text = `as the book stands, the order would be rejected: ${END_REASONS[rejectReason]}`;
  return { code: rejectReason, text };
}

/** Returns the words for a code. */
const meaningOf = (code: ErrorCode): string => refusalWords(code, ERRORS[code].meaning);
