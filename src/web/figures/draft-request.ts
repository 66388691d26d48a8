/** Reads the texts of the order form as an order request, and names the problems that prevent sending it. */

import { ERRORS, type ErrorCode } from '../../domain/errors.ts';
import type { Market } from '../../domain/market.ts';
import { marketGrid } from '../../domain/market-grid.ts';
import type { OrderType, Side, TimeInForce } from '../../domain/order.ts';
import { type MeasuredRequest, measureOrder, type OrderAmounts } from '../../domain/placing.ts';
import { isTextUpTo } from '../../domain/text.ts';
import {
  countOf,
  type Decimal,
  formatCount,
  isPositive,
  parseDecimal,
  toScaledDown,
} from '../../domain/units.ts';
import { refusalWords } from './refusal-words.ts';
import { type NumberStyle, readAmount, twoReadings } from './typed-amount.ts';

/** The form's texts, as typed. */
export interface DraftTexts {
  /** Tells how the amounts are read. */
  readonly style: NumberStyle;
  readonly side: Side;
  readonly type: OrderType;
  readonly price: string;
  readonly size: string;
  readonly amount: string;
  readonly timeInForce: TimeInForce;
  readonly postOnly: boolean;
  readonly clientOrderId: string;
}

/** A field of the form, or the form as a whole. */
export type FormField = 'side' | 'price' | 'size' | 'amount' | 'timeInForce' | 'clientOrderId' | 'form';

/** Reason why an order is not sent or was refused, and the field that shows it. */
export interface Problem {
  readonly field: FormField;
  readonly code: string;
  readonly message: string;
  /** True for an empty field, which is not reported to a reader who has only begun to type. */
  readonly isMissing?: boolean;
}

export interface ReadDraft {
  /** Null while a field cannot be read. */
  readonly request: MeasuredRequest | null;
  /** Null while there is a problem. */
  readonly amounts: OrderAmounts | null;
  readonly problems: readonly Problem[];
}

const MAX_ID_CHARACTERS = 128;

/**
 * Returns the field of the form that shows a refusal of the API.
 * @param isQuote true for an order by quote amount
 */
export function fieldOf(code: string, message: string, isQuote: boolean): FormField {
  const amount = isQuote ? 'amount' : 'size';
  switch (code) {
    case 'PRICE_TICK':
      return 'price';
    case 'SIZE_STEP':
    case 'ORDER_BELOW_MIN_SIZE':
    case 'ORDER_ABOVE_MAX_SIZE':
    case 'QUOTE_AMOUNT_TOO_SMALL':
    case 'INSUFFICIENT_BALANCE':
      return amount;
    case 'SELL_DISABLED':
      return 'side';
    case 'POST_ONLY_WOULD_CROSS':
      return 'price';
    case 'FOK_NOT_FILLED':
      return 'timeInForce';
    case 'VALIDATION_ERROR':
    case 'INVALID_ORDER':
      return fieldNamedIn(message, amount);
    default:
      return 'form';
  }
}

/**
 * Finds the field in a message: these two codes stand for many faults, and their messages begin with the field or name
 * it.
 */
function fieldNamedIn(message: string, amount: FormField): FormField {
  if (/clientOrderId/.test(message)) return 'clientOrderId';
  if (/quoteAmount/.test(message)) return 'amount';
  if (/postOnly|timeInForce/.test(message)) return 'timeInForce';
  if (/\bprice\b/.test(message)) return 'price';
  return /\bsize\b/.test(message) ? amount : 'form';
}

const problemAt = (field: FormField, code: ErrorCode, message: string = ERRORS[code].meaning): Problem => ({
  field,
  code,
  message: refusalWords(code, message),
});

/** @param places decimals of the figures of the field */
function fieldProblem(
  name: 'price' | 'size' | 'amount',
  { style, [name]: text }: DraftTexts,
  places: number,
): Problem | null {
  if (text.trim() === '') {
    return { ...problemAt(name, 'INVALID_ORDER', `${name} is required`), isMissing: true };
  }
  const readings = twoReadings(text, style, places);
  if (readings !== null)
    return problemAt(
      name,
      'VALIDATION_ERROR',
      `${name} can be read in two ways: write ${readings.join(' or ')}`,
    );
  const decimal = readAmount(text, style);
  if (decimal === undefined)
    return problemAt(name, 'VALIDATION_ERROR', `${name} must be a decimal such as 1250.5`);
  return isPositive(decimal) ? null : problemAt(name, 'INVALID_ORDER', `${name} must be positive`);
}

function idProblem(id: string): Problem | null {
  return id === '' || isTextUpTo(id, MAX_ID_CHARACTERS)
    ? null
    : problemAt('clientOrderId', 'VALIDATION_ERROR', 'clientOrderId must have 1 to 128 characters');
}

/** True when the order is sized by a quote amount. */
export const isByAmount = ({ size, amount }: DraftTexts): boolean =>
  size.trim() === '' && amount.trim() !== '';

/** @param market rules of the market that the order goes to */
export function readDraft(texts: DraftTexts, market: Market): ReadDraft {
  const sizing = isByAmount(texts) ? 'amount' : 'size';
  const { tick, step } = marketGrid(market);
  const sizeProblem = fieldProblem(sizing, texts, sizing === 'size' ? step.places : market.quote.scale);
  const priceProblem = texts.type === 'limit' ? fieldProblem('price', texts, tick.places) : null;
  const unread = [priceProblem, sizeProblem, idProblem(texts.clientOrderId)].filter((one) => one !== null);
  const isUnsized = sizing === 'amount' && priceProblem !== null;
  if (sizeProblem !== null || isUnsized) return { request: null, amounts: null, problems: unread };
  const price = priceProblem === null ? readAmount(texts.price, texts.style)! : parseDecimal(market.tick)!;
  const size = sizeOf(texts, market, sizing, price);
  if (size === null) {
    const small = problemAt('amount', 'QUOTE_AMOUNT_TOO_SMALL');
    return { request: null, amounts: null, problems: [...unread, small] };
  }
  const request = requestOf(texts, size, price);
  const problems = [...unread, ...ruleProblems(request, market, sizing, priceProblem === null)];
  const measured = measureOrder(request, market);
  const isWhole = problems.length === 0 && 'amounts' in measured;
  return {
    request: priceProblem === null ? request : null,
    amounts: isWhole ? measured.amounts : null,
    problems,
  };
}

type Sized = Pick<MeasuredRequest, 'size' | 'quoteAmount'>;

/**
 * Returns the size of the order. A quote amount at a limit price is turned into the whole steps that it pays for; a
 * market order keeps it, because only the book tells how far it goes. Null when it pays for no step.
 */
function sizeOf(texts: DraftTexts, market: Market, sizing: 'size' | 'amount', price: Decimal): Sized | null {
  const amount = readAmount(texts[sizing], texts.style)!;
  if (sizing === 'size') return { size: amount };
  if (texts.type === 'market') return { quoteAmount: amount };
  const { tick, step } = marketGrid(market);
  // A price off the grid has a problem of its own, so that any size will do.
  const ticks = countOf(price, tick) ?? 1n;
  const steps = toScaledDown(amount, market.quote.scale) / (ticks * market.quoteAtomsPerLot);
  return steps === 0n ? null : { size: parseDecimal(formatCount(steps, step))! };
}

function requestOf(texts: DraftTexts, size: Sized, price: Decimal): MeasuredRequest {
  const { side, type } = texts;
  return {
    side,
    type,
    reduceOnly: false,
    leverage: null,
    timeInForce: texts.timeInForce,
    postOnly: texts.postOnly,
    ...(type === 'limit' ? { price } : {}),
    ...size,
  };
}

/** Returns the refusal of the whole order and that of its size alone, so that one wrong field does not hide another. */
function ruleProblems(
  request: MeasuredRequest,
  market: Market,
  sizing: 'size' | 'amount',
  isPriced: boolean,
): Problem[] {
  // At another price than the one that was typed, the value of the order tells nothing.
  const unvalued = { ...market, minNotional: null };
  const onGrid = { ...request, price: parseDecimal(market.tick)! };
  const asked: [MeasuredRequest, Market][] = [[request, isPriced ? market : unvalued]];
  if (request.type === 'limit') asked.push([onGrid, unvalued]);
  const problems = new Map<string, Problem>();
  for (const [one, rules] of asked) {
    const measured = measureOrder(one, rules);
    if (!('refusal' in measured)) continue;
    const { code, message = ERRORS[code].meaning } = measured.refusal;
    problems.set(code, problemAt(fieldOf(code, message, sizing === 'amount'), code, message));
  }
  return [...problems.values()];
}
