/** All faults of a placement as single changes, so that tests can combine two of them. */

import request, { type Response } from 'supertest';
import type { ErrorCode } from '../../src/domain/errors.ts';
import type { RejectReason } from '../../src/domain/order.ts';
import { ethersSigner } from '../auth/signers.ts';
import type { Fixture, Replica, Trader } from './fixture.ts';

/** A valid placement in its own market and by its own wallet. Faults change it. */
export interface Attempt {
  readonly fixture: Fixture;
  readonly replica: Replica;
  readonly symbol: string;
  readonly base: string;
  readonly trader: Trader;
  readonly maker: Trader;
  token: string;
  headers: Record<string, string>;
  /** Order fields; numbers are sent unchanged. */
  fields: Record<string, unknown>;
  /** True to truncate the JSON. */
  truncated: boolean;
}

/** The answer to a fault: an error code, a rejected order, or the order of a known client order id. */
export type Outcome = ErrorCode | RejectReason | 'replayed';

export interface Fault {
  readonly outcome: Outcome;
  cause(attempt: Attempt): unknown;
}

/** Settings that a replica needs for these faults, such as a blocked country. */
export const FAULT_SETTINGS = { trustProxyHops: 1, countryHeader: 'X-Country', blockedCountries: ['KP'] };

let markets = 0;

export async function newAttempt(fixture: Fixture, replica: Replica): Promise<Attempt> {
  markets += 1;
  const base = `M${markets}`;
  const { symbol } = await fixture.market({ symbol: `${base}/USDC` });
  const [trader, maker] = await Promise.all([
    fixture.trader({ USDC: '1000000', [base]: '100' }, replica.app),
    fixture.trader({ USDC: '1000000', [base]: '100' }, replica.app),
  ]);
  const fields = { market: symbol, side: 'buy', type: 'limit', price: 2000, size: 1 };
  return {
    fixture,
    replica,
    symbol,
    base,
    trader,
    maker,
    fields,
    token: trader.token,
    headers: {},
    truncated: false,
  };
}

export function send({ replica, token, headers, fields, truncated }: Attempt): Promise<Response> {
  const text = JSON.stringify(fields);
  return request(replica.app)
    .post('/v1/orders')
    .set({ Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers })
    .send(truncated ? text.slice(0, -1) : text)
    .then((reply) => reply);
}

export function outcomeOf({ status, body }: Response): Outcome | 'placed' {
  if (status !== 200) return body.code;
  if (body.rejectCode !== undefined) return body.rejectCode;
  return body.clientOrderId === KNOWN_ID ? 'replayed' : 'placed';
}

/** Reverts changes outside an attempt's own market and wallets. */
export async function restore({ engine }: Fixture): Promise<void> {
  await engine.switches.resume();
  await engine.switches.requireTerms(null);
}

const KNOWN_ID = 'known';

const fault = (outcome: Outcome, cause: (attempt: Attempt) => unknown): Fault => ({ outcome, cause });
const set = (fields: object) => (attempt: Attempt) => Object.assign(attempt.fields, fields);

/** The maker offers 5 at 1990. */
const offer = ({ maker, symbol }: Attempt) =>
  maker.order({ market: symbol, side: 'sell', price: 1990, size: 5 });

const quoteOrder = (quoteAmount: number) => (attempt: Attempt) => {
  for (const field of ['price', 'size']) delete attempt.fields[field];
  Object.assign(attempt.fields, { type: 'market', quoteAmount });
};

/** In the documented order of precedence. */
export const FAULTS = {
  bearer: fault('UNAUTHORIZED', (attempt) => Object.assign(attempt, { token: 'nonsense' })),
  json: fault('EXPRESS_ERR_INVALID_JSON', (attempt) => Object.assign(attempt, { truncated: true })),
  replay: fault('replayed', async (attempt) => {
    await attempt.trader.order({ market: attempt.symbol, clientOrderId: KNOWN_ID, price: 1, size: 2 });
    attempt.fields.clientOrderId = KNOWN_ID;
  }),
  schema: fault('VALIDATION_ERROR', set({ side: 'up' })),
  account: fault('FORBIDDEN', set({ account: ethersSigner().address })),
  paused: fault('OPERATIONAL_PAUSED', ({ fixture }) => fixture.engine.switches.pause()),
  country: fault('RESTRICTED_JURISDICTION', ({ headers }) => Object.assign(headers, { 'X-Country': 'KP' })),
  terms: fault('STALE_TERMS_VERSION', ({ fixture }) => fixture.engine.switches.requireTerms('v2')),
  hold: fault('CUSTODY_HOLD', ({ fixture, trader }) => fixture.engine.switches.hold(trader.wallet)),
  unknownMarket: fault('MARKET_NOT_FOUND', set({ market: 'NO/NE' })),
  invalid: fault('INVALID_ORDER', set({ leverage: 101 })),
  halted: fault('MARKET_NOT_TRADING', ({ fixture, symbol }) =>
    fixture.engine.markets.change(symbol, { status: 'halted' }),
  ),
  disabled: fault('MARKET_NOT_TRADING', ({ fixture, symbol }) =>
    fixture.engine.markets.change(symbol, { tradingEnabled: false }),
  ),
  preOpenTerms: fault('MARKET_PRE_OPEN', async ({ fixture, symbol, fields }) => {
    await fixture.engine.markets.change(symbol, { status: 'pre_open' });
    fields.timeInForce = 'IOC';
  }),
  noSelling: fault('SELL_DISABLED', async ({ fixture, symbol, fields }) => {
    await fixture.engine.markets.change(symbol, { sellEnabled: false });
    fields.side = 'sell';
  }),
  reduceOnly: fault('REDUCE_ONLY', set({ reduceOnly: true })),
  offTick: fault('PRICE_TICK', set({ price: 2000.001 })),
  offStep: fault('SIZE_STEP', ({ fields }) =>
    Object.assign(fields, { size: (fields.size as number) + 0.0005 }),
  ),
  belowMin: fault('ORDER_BELOW_MIN_SIZE', set({ size: 0.001 })),
  aboveMax: fault('ORDER_ABOVE_MAX_SIZE', set({ size: 2000 })),
  preOpenCross: fault('MARKET_PRE_OPEN', async (attempt) => {
    await attempt.fixture.engine.markets.change(attempt.symbol, { status: 'pre_open' });
    await offer(attempt);
  }),
  noMark: fault('NO_REFERENCE_PRICE', ({ fields }) => {
    delete fields.price;
    fields.type = 'market';
  }),
  noLiquidity: fault('NO_LIQUIDITY', quoteOrder(100)),
  smallQuote: fault('QUOTE_AMOUNT_TOO_SMALL', async (attempt) => {
    await offer(attempt);
    quoteOrder(1.98)(attempt);
  }),
  quoteBelowMin: fault('ORDER_BELOW_MIN_SIZE', async (attempt) => {
    await offer(attempt);
    quoteOrder(1.99)(attempt);
  }),
  quoteAboveMax: fault('ORDER_ABOVE_MAX_SIZE', async (attempt) => {
    await offer(attempt);
    await attempt.fixture.engine.markets.change(attempt.symbol, { maxOrderSize: '3' });
    quoteOrder(7000)(attempt);
  }),
  noFunds: fault('INSUFFICIENT_BALANCE', async ({ fixture, trader, symbol }) => {
    for (const { asset, availableAtoms: amountAtoms } of await fixture.engine.funds.readBalances(
      trader.wallet,
    )) {
      const reference = `out ${symbol} ${asset}`;
      await fixture.engine.funds.move({
        kind: 'debited',
        wallet: trader.wallet,
        asset,
        amountAtoms,
        reference,
      });
    }
  }),
  postOnly: fault('POST_ONLY_WOULD_CROSS', async (attempt) => {
    await offer(attempt);
    attempt.fields.postOnly = true;
  }),
  fillOrKill: fault('FOK_NOT_FILLED', set({ timeInForce: 'FOK' })),
} as const satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;
