/** The preview of an order in words and in exact figures. */

import { ERRORS, type ErrorCode } from '../../domain/errors.ts';
import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import { END_REASONS } from '../../domain/order.ts';
import { formatCount, formatScaled, type Grid } from '../../domain/units.ts';
import { type DraftTexts, isQuoteOrder, plainAmount } from './draft-request.ts';
import type { Preview, Walk } from './preview.ts';

interface Figure {
  readonly term: string;
  /** Begins with the exact literal. */
  readonly value: string;
}

interface OrderWords {
  /** The order as one sentence. */
  readonly sentence: string;
  readonly figures: readonly Figure[];
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
function averagePrice(market: Market, side: 'buy' | 'sell', walk: Walk): string {
  const { tick } = marketGrid(market);
  const finer: Grid = { coefficient: tick.coefficient, places: tick.places + AVERAGE_PLACES };
  const lots = walk.steps * market.quoteAtomsPerLot;
  const scaled = walk.notionalAtoms * 10n ** BigInt(AVERAGE_PLACES);
  const floor = scaled / lots;
  const isExact = scaled % lots === 0n;
  const rounded = isExact || side === 'sell' ? floor : floor + 1n;
  return `${isExact ? '' : 'about '}${formatCount(rounded, finer)}`;
}

/** Returns the order as one sentence: `Buy 0.5 ETH at 2000.05 USDC or better, until cancelled.` */
export function orderSentence(texts: DraftTexts, market: Market): string {
  const verb = texts.side === 'buy' ? 'Buy' : 'Sell';
  const [base, quote] = [market.base.symbol, market.quote.symbol];
  if (isQuoteOrder(texts)) return `Buy ${base} for at most ${plainAmount(texts.amount)} ${quote}, fee apart.`;
  const what = `${verb} ${plainAmount(texts.size)} ${base}`;
  if (texts.type === 'market') {
    const rest = texts.timeInForce === 'FOK' ? IN_FORCE.FOK : IN_FORCE.IOC;
    return `${what} at the prices of the book; ${rest}.`;
  }
  const force = texts.postOnly ? 'as a maker only' : IN_FORCE[texts.timeInForce];
  return `${what} at ${plainAmount(texts.price)} ${quote} or better, ${force}.`;
}

/** @param availableAtoms of the asset that the order pays with; null while nobody is signed in */
export function describeOrder(
  market: Market,
  texts: DraftTexts,
  preview: Preview,
  availableAtoms: bigint | null,
): OrderWords {
  return {
    sentence: orderSentence(texts, market),
    figures: figuresOf(market, texts, preview, availableAtoms),
    notes: notesOf(market, texts, preview),
    warning: warningOf(preview),
  };
}

function figuresOf(
  market: Market,
  { side }: DraftTexts,
  preview: Preview,
  availableAtoms: bigint | null,
): Figure[] {
  const { walk, reservedAtoms, neededAtoms, receivedAtoms } = preview;
  const [paidText, gotText] = side === 'buy' ? [quoteText, baseText] : [baseText, quoteText];
  const paidAtoms =
    side === 'buy' ? walk.notionalAtoms + walk.feeAtoms : walk.steps * market.baseAtomsPerStep;
  const figures = [
    { term: side === 'buy' ? 'You pay at once' : 'You give at once', value: paidText(market, paidAtoms) },
    { term: 'You receive at once', value: gotText(market, receivedAtoms) },
    {
      term: `Fee (taker, ${market.feeBps} bps, each fill rounded up)`,
      value: quoteText(market, walk.feeAtoms),
    },
    { term: 'Reserved while it rests', value: paidText(market, reservedAtoms) },
  ];
  if (availableAtoms === null) return figures;
  const left = availableAtoms - neededAtoms;
  const value = left >= 0n ? paidText(market, left) : `${paidText(market, -left)} short`;
  return [...figures, { term: 'Available after', value }];
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

function warningOf({ refusal, rejectReason }: Preview): OrderWords['warning'] {
  if (refusal !== null) return { code: refusal, text: meaningOf(refusal) };
  if (rejectReason === null) return null;
  const text = `as the book stands, the order would be rejected: ${END_REASONS[rejectReason]}`;
  return { code: rejectReason, text };
}

/** Returns the API's own words for a code. */
const meaningOf = (code: ErrorCode): string => ERRORS[code].meaning;
