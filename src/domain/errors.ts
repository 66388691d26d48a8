/**
 * The one error table: every code that the service answers with, its HTTP status, its meaning and its producer.
 * `docs/api.md` 7 carries the same table; a test compares the two. Source: the public contract, section 7.
 */

/** One row of the error table. */
interface ErrorRow {
  /** HTTP status of the reply. */
  readonly status: number;
  /** Meaning for a client; also the default message. */
  readonly meaning: string;
  /** Part of the service that produces the code, or `reserved`. */
  readonly producer: string;
}

const row = (status: number, producer: string, meaning: string): ErrorRow => ({ status, meaning, producer });

export const ERRORS = {
  VALIDATION_ERROR: row(400, 'every route', 'a required field is missing or a value is invalid'),
  INVALID_ORDER: row(
    400,
    'placing',
    'size is not positive, a limit order has no price, post-only on a market or non-GTC order, or leverage above 100',
  ),
  MARKET_NOT_FOUND: row(400, 'placing, cancel-all, own trades', 'no market has this symbol'),
  MARKET_NOT_TRADING: row(400, 'placing', 'the market exists but is not accepting orders'),
  MARKET_PRE_OPEN: row(
    400,
    'placing',
    'the pair has not opened: only resting, non-crossing limit orders are accepted',
  ),
  NO_REFERENCE_PRICE: row(400, 'placing', 'the market has no valid mark price to value the order'),
  ORDER_BELOW_MIN_SIZE: row(
    400,
    'placing',
    'size is below minOrderSize, or price x size or quoteAmount is below minNotional',
  ),
  ORDER_ABOVE_MAX_SIZE: row(
    400,
    'placing',
    'size is above maxOrderSize, or above the largest amount one order can carry exactly',
  ),
  SIZE_STEP: row(400, 'placing', 'size is not a multiple of sizeStep'),
  PRICE_TICK: row(400, 'placing', 'price is not a multiple of tickSize'),
  SELL_DISABLED: row(400, 'placing', 'selling is disabled on this pair'),
  INSUFFICIENT_BALANCE: row(
    400,
    'placing, operator debit',
    'the available balance after reservations does not cover the order and its fee, or the withdrawal',
  ),
  QUOTE_AMOUNT_TOO_SMALL: row(400, 'placing', 'the quote amount buys less than one size step'),
  NO_LIQUIDITY: row(400, 'placing', 'a quote-amount market buy found no ask liquidity'),
  REDUCE_ONLY: row(400, 'placing', 'a reduce-only order would open, increase or flip a position'),
  RISK_LIMIT: row(400, 'reserved', 'the order would breach account margin requirements (position markets)'),
  SETTLEMENT_FAILED: row(
    400,
    'placing',
    'the order matched but could not be settled; nothing moved and the order is recorded as rejected',
  ),
  CUSTODY_HOLD: row(400, 'placing, operator debit', 'the account is on custody hold pending reconciliation'),
  ORDER_NOT_FOUND: row(
    400,
    'cancelling',
    'the order does not exist, belongs to another wallet, or is already closed',
  ),
  BAD_REQUEST: row(400, 'every route', 'the request was refused for a reason without a more specific code'),
  UNAUTHORIZED: row(401, 'protected routes', 'the bearer token is missing, invalid or expired'),
  FORBIDDEN: row(
    403,
    'protected routes',
    'the token cannot do this, for example on another wallet’s account',
  ),
  NOT_FOUND: row(404, 'every route', 'no such route or resource'),
  CONFLICT: row(409, 'replacing', 'the request conflicts with the current state'),
  STALE_TERMS_VERSION: row(409, 'placing, accepting terms', 'the account must accept a new terms version'),
  RATE_LIMITED: row(429, 'limited routes', 'too many requests; wait for Retry-After'),
  RESTRICTED_JURISDICTION: row(
    451,
    'login, placing',
    'the service is not available in the caller’s jurisdiction',
  ),
  INTERNAL_ERROR: row(500, 'every route', 'unexpected server error'),
  OPERATIONAL_PAUSED: row(
    503,
    'placing',
    'trading is paused by the emergency kill switch; nothing was placed',
  ),
  SERVICE_UNAVAILABLE: row(503, 'every route', 'a dependency is temporarily unavailable'),

  signature_mismatch: row(
    401,
    'SIWE login',
    'the signature does not recover to the address over the exact message',
  ),
  malformed_message: row(401, 'SIWE login', 'not an EIP-4361 message, or an unreadable Expiration Time'),
  domain_mismatch: row(401, 'SIWE login', 'line 1 names a domain other than a web host of the service'),
  address_mismatch: row(401, 'SIWE login', 'line 2 is not the address of the request'),
  message_expired: row(401, 'SIWE login', 'the Expiration Time has passed'),
  nonce_missing: row(401, 'SIWE login', 'the message has no Nonce line'),
  nonce_invalid: row(
    401,
    'SIWE login',
    'not the current nonce of this address: never issued, replaced, or already used',
  ),
  nonce_expired: row(401, 'SIWE login', 'the nonce is more than five minutes old'),

  EXPRESS_ERR_INVALID_JSON: row(400, 'routes with a body', 'the body is not valid JSON'),
  EXPRESS_ERR_INVALID_URL: row(400, 'every route', 'the URL cannot be decoded'),
  EXPRESS_ERR_BODY_ABORTED: row(400, 'routes with a body', 'the body ended before its announced length'),
  EXPRESS_ERR_BODY_TOO_LARGE: row(
    413,
    'routes with a body',
    'the body is larger than 16 KB, or than 64 KB on `POST /v1/orders/batch`',
  ),
  EXPRESS_ERR_UNSUPPORTED_MEDIA_TYPE: row(
    415,
    'routes with a body',
    'the body’s media type, charset or encoding is not supported',
  ),
  EXPRESS_ERR_REQUEST_TIMEOUT: row(408, 'the server, before any route', 'the request did not arrive in time'),
  EXPRESS_ERR_EXPECTATION_FAILED: row(417, 'the server, before any route', 'Expect may only be 100-continue'),
  EXPRESS_ERR_HEADERS_TOO_LARGE: row(
    431,
    'the server, before any route',
    'the headers are larger than 16 KB',
  ),
} as const satisfies Record<string, ErrorRow>;

/** A stable error code of the contract. */
export type ErrorCode = keyof typeof ERRORS;

/** Codes that only operators get, on their command line and their routes. Commands have further ones of their own. */
export const OPERATOR_ERRORS = {
  INVALID_AMOUNT: row(
    400,
    'movements',
    'the amount is not positive, too large, or finer than the atom of its asset',
  ),
  INVALID_REFERENCE: row(400, 'movements', 'the reference is not 1 to 256 characters of valid text'),
  UNKNOWN_ASSET: row(400, 'movements, reports', 'there is no such asset'),
  SUPPLY_LIMIT: row(400, 'movements', 'the total supply of the asset would pass 2^62 atoms'),
  CAP_EXCEEDED: row(403, 'movements', 'the key may not move as much of the asset in one day (UTC)'),
  APPROVAL_NEEDED: row(
    403,
    'movements',
    'the key may not move as much alone: the movement waits for the approval of another key',
  ),
  APPROVAL_REFUSED: row(409, 'movements', 'another key refused the movement: nothing was moved'),
  NOT_WAITING: row(
    404,
    'approvals',
    'no movement waits under the reference: it was never asked for, or too long ago',
  ),
  REFERENCE_CONFLICT: row(409, 'movements', 'the reference was used for another movement'),
  SCALE_CHANGED: row(
    409,
    'movements',
    'the scale of the asset changed while the command ran: nothing was moved; try again',
  ),
  RECEIVABLE_OPEN: row(
    409,
    'movements, withdrawals',
    'the wallet owes what a reversed deposit no longer found: it cannot withdraw until deposits have paid it',
  ),
  PAYMENT_UNDER_WAY: row(
    409,
    'withdrawals',
    'somebody took the withdrawal and may be paying it: it is confirmed or released by the name of who took it',
  ),
  TOO_MANY_ANNOUNCED: row(
    409,
    'deposits',
    'too many deposits of the key, or in all, are announced: credit or drop some of them first',
  ),
  UNKNOWN_DEPOSIT: row(404, 'deposits', 'no deposit was announced under the reference'),
  UNKNOWN_WITHDRAWAL: row(404, 'withdrawals', 'no withdrawal was requested under the reference'),
  UNKNOWN_MOVEMENT: row(400, 'movements', 'the movement to reverse does not exist'),
  NO_REVERSAL: row(400, 'movements', 'a reversal has the same wallet and asset, and at most the amount'),
  ALREADY_REVERSED: row(
    409,
    'movements',
    'less than the amount is left of the movement after earlier reversals: nothing was moved',
  ),
  SETTLEMENT_STALLED: row(503, 'movements', 'settlement stands still'),
  MONTH_NOT_OVER: row(409, 'closings', 'the month is not over yet (UTC)'),
  MONTH_OUT_OF_ORDER: row(
    409,
    'closings',
    'months are closed one after the other, without a gap that has entries, and only the last one can be reopened',
  ),
  MONTH_EMPTY: row(
    409,
    'closings',
    'the month has no entries, and the request does not say that it is meant',
  ),
  NOT_CLOSED: row(409, 'closings', 'the month is not closed'),
  CLOSING_DIFFERS: row(
    409,
    'closings',
    'the balances of the closing are lost, and the entries of the month give others: reopen the month',
  ),
  INVALID_MARKET: row(400, 'markets', 'a rule of the market is invalid, or cannot be exact'),
  INVALID_ASSET: row(400, 'markets', 'the asset has no valid symbol or scale'),
  MARKET_EXISTS: row(409, 'markets', 'there is a market with this symbol'),
  MARKET_NOT_HALTED: row(409, 'markets', 'the market is not halted, so that new orders keep arriving'),
  BOOK_NOT_EMPTY: row(409, 'markets', 'the market still has resting orders: halt it and clear it first'),
  ASSET_IN_USE: row(409, 'markets', 'the asset is in use, so that its scale cannot change any more'),
} as const satisfies Record<string, ErrorRow>;

/** A stable code for operators. */
export type OperatorCode = keyof typeof OPERATOR_ERRORS;

/** Every code that a route for operators may answer with. */
export const ALL_ERRORS: Readonly<Record<ErrorCode | OperatorCode, ErrorRow>> = {
  ...ERRORS,
  ...OPERATOR_ERRORS,
};

/** V8 records as many frames of a new error's stack as this says. Other engines do not know it. */
const STACKS: typeof Error & { stackTraceLimit?: number | undefined } = Error;

/**
 * A refusal that may be reported to a client, with a code of the table and a message. Any other thrown error is
 * unexpected.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: ErrorCode;
  /** Seconds for the reply's `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;

  constructor(
    code: ErrorCode,
    message: string = ERRORS[code].meaning,
    options?: ErrorOptions & { readonly retryAfterSeconds?: number },
  ) {
    // A refusal is a reply and not a fault: nobody reads its stack, which costs ten times what the rest does.
    const { stackTraceLimit } = STACKS;
    STACKS.stackTraceLimit = 0;
    super(message, options);
    STACKS.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.retryAfterSeconds = options?.retryAfterSeconds;
  }

  /** HTTP status of the reply that reports this refusal. */
  get status(): number {
    return ERRORS[this.code].status;
  }
}

const HISTORY_RETRY_SECONDS = 5;

/** Refusal of a read that would need more unsettled events than a read may take. */
export const historyUnavailable = (): Refusal =>
  new Refusal(
    'SERVICE_UNAVAILABLE',
    'order history is unavailable until settlement catches up; trading continues',
    { retryAfterSeconds: HISTORY_RETRY_SECONDS },
  );

/** An operator's command that cannot be carried out, with a code for scripts. */
export class OperatorRefusal extends Error {
  override readonly name = 'OperatorRefusal';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }

  /** HTTP status of the reply that reports this refusal; null for a code that no route knows. */
  get status(): number | null {
    return this.code in ALL_ERRORS ? ALL_ERRORS[this.code as OperatorCode].status : null;
  }
}

/** An error that a route may report: its code has a row in the error table. */
export type Reported = Refusal | (OperatorRefusal & { readonly status: number });

export const isReported = (error: unknown): error is Reported =>
  error instanceof Refusal || (error instanceof OperatorRefusal && error.status !== null);

/**
 * A process cannot start, and a retry would not help. The message names the setting to change, so a stack trace would
 * add nothing.
 */
export class StartRefusal extends Error {
  override readonly name: string = 'StartRefusal';
  /** 2: a setting is wrong. 1: the settings are fine, and something else is in the way. */
  readonly exitStatus: 1 | 2;

  constructor(message: string, exitStatus: 1 | 2, options?: ErrorOptions) {
    super(message, options);
    this.exitStatus = exitStatus;
  }
}
