/** Requests of every route except placing orders: what clients send in queries, paths and bodies. */

import { z } from 'zod';
import { TIMEFRAMES } from '../domain/candle.ts';
import { parseMoment } from '../domain/moment.ts';
import { afterText, cursorText, statementCursorText } from './cursor.ts';
import {
  address,
  clientOrderId,
  count,
  INTEGER_JSON,
  marketFilter,
  oneOf,
  optional,
  queryText,
  signature,
  text,
} from './fields.ts';

export const challengeRequest = z.object({ address });
export const verifyRequest = z.object({ address, signature });
export const siweNonceRequest = z.object({ address });
export const siweVerifyRequest = z.object({ address, message: text, signature });

export const termsRequest = z.object({ version: text });

export const orderByIdRequest = z.object({ orderId: text.describe('`id` of the order') });
export const orderByClientIdRequest = z.object({
  clientOrderId: clientOrderId.describe('client order id of the order, URL-encoded: `a/b` is `a%2Fb`'),
});

/**
 * A limit from 1 to `highest`; other values are rejected.
 * @param digits matches the numbers of that range
 */
const limitUpTo = (highest: number, digits: RegExp, fallback: number) =>
  queryText
    .regex(digits, `must be a whole number from 1 to ${highest}`)
    .transform(Number)
    .default(fallback)
    .meta({ ...INTEGER_JSON, minimum: 1, maximum: highest, default: fallback });

/** Times of a list that a program reads forward. */
const sinceText = (of: string, bound: string) =>
  queryText
    .transform((time, context) => {
      const timeMs = /^\d{1,15}$/.test(time) ? Number(time) : parseMoment(time);
      if (timeMs === undefined)
        context.addIssue('must be Unix milliseconds, or a time like 2026-01-31T12:00:00Z');
      return timeMs ?? z.NEVER;
    })
    .optional()
    .describe(`${bound} of \`createdAt\` of the ${of}; Unix milliseconds or ISO 8601`);

const readForward = (of: string) => ({
  since: sinceText(of, 'start, inclusive,'),
  until: sinceText(of, 'end, exclusive,'),
  order: oneOf(['desc', 'asc'])
    .default('desc')
    .describe('`desc`: the newest first; `asc`: the oldest first. A cursor goes on in its own direction.'),
});

export const ordersRequest = z.object({
  market: marketFilter,
  status: queryText
    .pipe(z.enum(['live', 'closed'], 'must be live or closed'))
    .optional()
    .describe(
      '`live`: orders that can be filled or cancelled; `closed`: all others. Returns both by default.',
    ),
  limit: limitUpTo(100, /^0*([1-9]\d?|100)$/, 100),
  cursor: cursorText,
  ...readForward('order'),
});

const MAX_WAIT_SECONDS = 25;

export const changesRequest = z.object({
  after: afterText,
  wait: queryText
    .regex(/^0*(1?\d|2[0-5])$/, `must be a whole number from 0 to ${MAX_WAIT_SECONDS}`)
    .transform(Number)
    .default(0)
    .meta({
      ...INTEGER_JSON,
      minimum: 0,
      maximum: MAX_WAIT_SECONDS,
      default: 0,
      description: 'seconds for which the reply may wait for the next change',
    }),
  limit: limitUpTo(100, /^0*([1-9]\d?|100)$/, 100),
});

/** Strict: ignoring an unknown filter would cancel every order. */
export const cancelOrdersRequest = z.strictObject({ market: marketFilter });

const MAX_NAMED_ORDERS = 100;
const named = <Name extends z.ZodType>(name: Name) =>
  optional(z.array(name, 'must be a list').max(MAX_NAMED_ORDERS));

/** Strict: a misspelled list must not look like one that was cancelled. */
export const cancelBatchRequest = z
  .strictObject({ orderIds: named(text), clientOrderIds: named(clientOrderId) })
  .transform(({ orderIds = [], clientOrderIds = [] }) => ({ orderIds, clientOrderIds }))
  .refine(
    ({ orderIds, clientOrderIds }) => {
      const count = orderIds.length + clientOrderIds.length;
      return count > 0 && count <= MAX_NAMED_ORDERS;
    },
    { path: ['orderIds'], message: `must have 1 to ${MAX_NAMED_ORDERS} ids, together with clientOrderIds` },
  )
  .meta({
    description: `1 to ${MAX_NAMED_ORDERS} orders in both lists together.`,
    examples: [{ orderIds: ['00020000000000030d4000010000000000'], clientOrderIds: ['my-order-1'] }],
  });

const DEFAULT_WALLET_TRADES = 100;
const MAX_TRADES = 500;

export const tradesRequest = z.object({
  market: marketFilter,
  orderId: queryText
    .optional()
    .describe('id of an order of the wallet; returns only its trades, and none for any other id'),
  limit: queryText
    .regex(/^-?\d+$/, 'must be a whole number')
    .transform((digits) => Math.min(Math.max(Number(digits), 1), MAX_TRADES))
    .default(DEFAULT_WALLET_TRADES)
    .meta({
      ...INTEGER_JSON,
      default: DEFAULT_WALLET_TRADES,
      description: `from 1 to ${MAX_TRADES}; a value outside this range is replaced by its nearest end`,
    }),
  cursor: cursorText,
  ...readForward('trade'),
});

export const moment = queryText.transform((time, context) => {
  const timeMs = parseMoment(time);
  if (timeMs === undefined)
    context.addIssue('must be a time like 2026-01-31T12:00:00Z, or a day like 2026-01-31');
  return timeMs ?? z.NEVER;
});

/** Formats of a statement as text: for people, and for the programs of these names. */
export const STATEMENT_TEXTS = ['csv', 'koinly', 'cointracking', 'hledger'] as const;
export type StatementTextFormat = (typeof STATEMENT_TEXTS)[number];

/** Longest span of a statement. */
const MAX_STATEMENT_DAYS = 31;
const DAY_MS = 86_400_000;
/** A calendar month is longer by so much at most, where clocks go back in it. */
const CLOCKS_BACK_MS = 2 * 3_600_000;

/** Members of a request for a span of time, as JSON or CSV. */
export const ofSpan = {
  from: moment.meta({
    description: 'ISO 8601 time, inclusive; a day begins at midnight UTC',
    examples: ['2026-01-01'],
  }),
  to: moment.meta({ description: 'ISO 8601 time, exclusive', examples: ['2026-02-01'] }),
};
export const format = oneOf(['json', 'csv']).default('json');
export const bom = oneOf(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true')
  .meta({
    description: 'true: CSV begins with a byte order mark, by which spreadsheets know that it is UTF-8',
    examples: ['true'],
  });

/** Refuses a span that ends before it begins. */
export const inOrder = <Request extends z.ZodType<{ from: number; to: number }>>(request: Request) =>
  request.refine(({ from, to }) => from <= to, { path: ['to'], message: 'must not be before from' });

const ofStatement = {
  ...ofSpan,
  format: oneOf(['json', ...STATEMENT_TEXTS]).default('json'),
  bom,
  cursor: statementCursorText,
};

const inStatementSpan = <Request extends z.ZodType<{ from: number; to: number }>>(request: Request) =>
  inOrder(request).refine(({ from, to }) => to - from <= MAX_STATEMENT_DAYS * DAY_MS + CLOCKS_BACK_MS, {
    path: ['to'],
    message: `must be at most ${MAX_STATEMENT_DAYS} days after from`,
  });

export const statementRequest = inStatementSpan(z.object(ofStatement));

/** The same for operators, who may begin with the newest lines. */
export const operatorStatementRequest = inStatementSpan(
  z.object({
    ...ofStatement,
    order: oneOf(['desc', 'asc'])
      .default('asc')
      .describe(
        '`desc`: the newest first, as JSON alone and without balances; `asc`: the oldest first. A cursor goes on in its own direction.',
      ),
  }),
).refine(({ order, format }) => order === 'asc' || format === 'json', {
  path: ['order'],
  message: 'must be asc where the format is not json',
});

const tickerId = queryText.meta({ description: '`BASE_QUOTE`', examples: ['ETH_USDC'] });

const DEFAULT_DEPTH = 100;

export const orderBookRequest = z.object({
  ticker_id: tickerId,
  depth: count.default(DEFAULT_DEPTH).meta({
    default: DEFAULT_DEPTH,
    description:
      'number of levels, half of them on each side; 0 and values from 500 on return 250 levels a side',
  }),
});

/** Later than any execution in seconds, and earlier than every one in milliseconds. */
const LATEST_SECONDS = 1e11;
const unixSeconds = count
  .refine((seconds) => seconds <= LATEST_SECONDS, 'must be Unix seconds, not milliseconds')
  .optional();

/** @param of text for the document: which time is compared */
const timeRange = (of = '') => ({
  start_time: unixSeconds.describe(`Unix seconds, inclusive${of}`),
  end_time: unixSeconds.describe(`Unix seconds, inclusive${of}`),
});

/** Values above any id stand for the greatest one. */
const tradeId = count.transform((id) => Math.min(id, Number.MAX_SAFE_INTEGER)).optional();

/** Parameters of the public tape. */
const executions = {
  type: oneOf(['all', 'buy', 'sell']).default('all').describe('side of the taker'),
  limit: count
    .default(MAX_TRADES)
    .transform((limit) => (limit === 0 ? MAX_TRADES : Math.min(limit, MAX_TRADES)))
    .meta({
      default: MAX_TRADES,
      description: `number of trades of both sides together; 0 and values above ${MAX_TRADES} return ${MAX_TRADES}`,
    }),
  ...timeRange(),
  after_id: tradeId.describe('the first executions after this `trade_id`'),
  before_id: tradeId.describe('the last executions before this `trade_id`; not together with `after_id`'),
};

interface Ids {
  readonly after_id?: number | undefined;
  readonly before_id?: number | undefined;
}

const hasOneId = ({ after_id, before_id }: Ids): boolean => after_id === undefined || before_id === undefined;
const ONE_ID = { path: ['before_id'], message: 'must not be given together with after_id' };

export const historicalTradesRequest = z
  .object({ ticker_id: tickerId, ...executions })
  .refine(hasOneId, ONE_ID);
export const listedTradesRequest = z.object({ pair: tickerId, ...executions }).refine(hasOneId, ONE_ID);

export const listedBookRequest = z.object({
  pair: tickerId,
  depth: count.default(0).meta({
    default: 0,
    description:
      'number of levels, half of them on each side; 0 and values from 500 on return 250 levels a side',
  }),
  level: oneOf(['1', '2', '3'])
    .default('2')
    .describe('`1` returns the best bid and ask; `2` and `3` return the levels of `depth`'),
});

export const candlesRequest = z.object({
  ticker_id: tickerId,
  tf: oneOf(TIMEFRAMES).default('1m').describe('length of a candle; UTC, weeks begin on Monday'),
  ...timeRange(", of a candle's start"),
  limit: limitUpTo(1_000, /^0*([1-9]\d{0,2}|1000)$/, 500),
  pick: oneOf(['newest', 'oldest'])
    .default('newest')
    .describe('the candles of the range that are returned where it has more than `limit`'),
});
