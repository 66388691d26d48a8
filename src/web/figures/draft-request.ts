/** Reads the texts of the order form as an order request, and names the problems that prevent sending it. */

import { ERRORS, type ErrorCode } from '../../domain/errors.ts';
import type { Market } from '../../domain/market.ts';
import type { OrderType, Side, TimeInForce } from '../../domain/order.ts';
import { type MeasuredRequest, measureOrder, type OrderAmounts } from '../../domain/placing.ts';
import { hasCharacters, isValidText } from '../../domain/text.ts';
import { type Decimal, formatDecimal, isPositive, parseDecimal } from '../../domain/units.ts';

/** The form's texts, as typed. */
export interface DraftTexts {
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

/** True for text like `1,999`, which means a thousand times as much in one country as in another. */
const isAmbiguous = (text: string): boolean => /^[1-9]\d{0,2},\d{3}$/.test(text.trim());

/** Reads a decimal as people type it: with a point or a comma, without separators. Undefined for other text. */
export function readAmount(text: string): Decimal | undefined {
  const trimmed = text.trim();
  const isDecimal = /^\d*[.,]?\d*$/.test(trimmed) && !isAmbiguous(trimmed);
  return isDecimal ? parseDecimal(trimmed.replace(',', '.')) : undefined;
}

/** Returns the exact text that is sent for what was typed. */
export function plainAmount(text: string): string {
  const decimal = readAmount(text);
  return decimal === undefined ? text : formatDecimal(decimal);
}

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
  message,
});

function fieldProblem(name: 'price' | 'size' | 'amount', text: string): Problem | null {
  if (text.trim() === '') {
    return { ...problemAt(name, 'INVALID_ORDER', `${name} is required`), isMissing: true };
  }
  if (isAmbiguous(text))
    return problemAt(name, 'VALIDATION_ERROR', `${name} is ambiguous: use a point, or no separator`);
  const decimal = readAmount(text);
  if (decimal === undefined)
    return problemAt(
      name,
      'VALIDATION_ERROR',
      `${name} must be a decimal such as 1250.5, without separators`,
    );
  return isPositive(decimal) ? null : problemAt(name, 'INVALID_ORDER', `${name} must be positive`);
}

function idProblem(id: string): Problem | null {
  return id === '' || (hasCharacters(id, MAX_ID_CHARACTERS) && isValidText(id))
    ? null
    : problemAt('clientOrderId', 'VALIDATION_ERROR', 'clientOrderId must have 1 to 128 characters');
}

/** True when the order spends a quote amount. */
export const isQuoteOrder = ({ type, side, size, amount }: DraftTexts): boolean =>
  type === 'market' && side === 'buy' && size.trim() === '' && amount.trim() !== '';

/** @param market rules of the market that the order goes to */
export function readDraft(texts: DraftTexts, market: Market): ReadDraft {
  const sizing = isQuoteOrder(texts) ? 'amount' : 'size';
  const [sizeProblem, priceProblem] = [
    fieldProblem(sizing, texts[sizing]),
    texts.type === 'limit' ? fieldProblem('price', texts.price) : null,
  ];
  const unread = [priceProblem, sizeProblem, idProblem(texts.clientOrderId)].filter((one) => one !== null);
  if (sizeProblem !== null) return { request: null, amounts: null, problems: unread };
  const request = requestOf(texts, sizing, priceProblem === null ? texts.price : market.tick);
  const problems = [...unread, ...ruleProblems(request, market, sizing)];
  const measured = measureOrder(request, market);
  const isWhole = problems.length === 0 && 'amounts' in measured;
  return {
    request: priceProblem === null ? request : null,
    amounts: isWhole ? measured.amounts : null,
    problems,
  };
}

function requestOf(texts: DraftTexts, sizing: 'size' | 'amount', price: string): MeasuredRequest {
  const { side, type } = texts;
  const amount = readAmount(texts[sizing])!;
  return {
    side,
    type,
    reduceOnly: false,
    leverage: null,
    timeInForce: texts.timeInForce,
    postOnly: texts.postOnly,
    ...(type === 'limit' ? { price: readAmount(price)! } : {}),
    ...(sizing === 'amount' ? { quoteAmount: amount } : { size: amount }),
  };
}

/** Returns the refusal of the whole order and that of its size alone, so that one wrong field does not hide another. */
function ruleProblems(request: MeasuredRequest, market: Market, sizing: 'size' | 'amount'): Problem[] {
  const onGrid = { ...request, price: parseDecimal(market.tick)! };
  const asked = request.type === 'limit' ? [request, onGrid] : [request];
  const problems = new Map<string, Problem>();
  for (const one of asked) {
    const measured = measureOrder(one, market);
    if (!('refusal' in measured)) continue;
    const { code, message = ERRORS[code].meaning } = measured.refusal;
    problems.set(code, problemAt(fieldOf(code, message, sizing === 'amount'), code, message));
  }
  return [...problems.values()];
}
