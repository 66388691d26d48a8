/** Texts and replies of each route for the OpenAPI document. The schemas of requests are with the endpoints. */

import { z } from 'zod';
import { faucetCreditSchema } from '../../contract/faucet.ts';
import { address } from '../../contract/fields.ts';
import {
  acceptedTermsSchema,
  challengeSchema,
  nonceText,
  siweSessionSchema,
  verifiedSchema,
} from '../../contract/login.ts';
import { marketsSchema } from '../../contract/market.ts';
import {
  historicalCandlesSchema,
  historicalTradesSchema,
  orderBookSchema,
  pairsSchema,
  summarySchema,
  tickersSchema,
} from '../../contract/market-data.ts';
import { portfolioSchema } from '../../contract/portfolio.ts';
import { livenessSchema, metricsText, readinessSchema } from '../../contract/probes.ts';
import { statementSchema, statementText } from '../../contract/statement.ts';
import { statusSchema } from '../../contract/status.ts';
import { ERRORS, type ErrorCode, type OperatorCode } from '../../domain/errors.ts';
import {
  cancelAfterSchema,
  cancelBatchSchema,
  closedOrderSchema,
  closedOrdersSchema,
  orderBatchSchema,
  orderChangesSchema,
  orderReplySchema,
  ordersSchema,
  placementSchema,
  replacementSchema,
  walletTradesSchema,
} from '../../order/reply.ts';
import type { HeaderName } from './headers.ts';
import { ORDER_BODIES, REPLACE_BODIES } from './order-bodies.ts';

export const TAGS = {
  Login: 'A wallet signs a challenge and gets a bearer token, which is valid for eight hours.',
  Markets: 'Order rules of each market, and the state of trading.',
  Trading: 'Orders, cancels, trades and balances of the wallet that the session belongs to.',
  'Market data':
    'Public data without a key. Only genuine executions count, and every amount is a decimal string.',
  Operation: 'Probes and metrics of a process, for orchestrators and monitors.',
} as const;

export interface Operation {
  readonly id: string;
  readonly tag: keyof typeof TAGS;
  readonly summary: string;
  readonly description?: string;
  readonly reply: z.ZodType;
  /** Content type of the reply; default JSON. */
  readonly contentType?: 'text/plain';
  /** Schemas of the reply in further content types. */
  readonly alsoAs?: Readonly<Record<string, z.ZodType>>;
  /** Further headers of the reply. */
  readonly headers?: readonly HeaderName[];
  /** Statuses besides 200 that have the same reply shape. */
  readonly alsoWith?: readonly number[];
  /** The reply may also have the status 201. */
  readonly mayCreate?: boolean;
  /** Error codes specific to this route. */
  readonly codes?: readonly (ErrorCode | OperatorCode)[];
  /** Parameters that are missing from the endpoint's schema. */
  readonly parameters?: Readonly<Record<string, z.ZodType>>;
  /** Shapes of the body by their names in the document, if there is more than one. */
  readonly bodies?: Readonly<Record<string, z.ZodType>>;
  readonly bodyIsOptional?: true;
}

/** Returns the codes that the error table lists for a part of the service. */
const codesOf = (producer: string): ErrorCode[] =>
  (Object.keys(ERRORS) as ErrorCode[]).filter((code) => ERRORS[code].producer.split(', ').includes(producer));

const orderBook: Omit<Operation, 'id'> = {
  tag: 'Market data',
  summary: 'Returns the best levels of an order book',
  reply: orderBookSchema,
  codes: ['VALIDATION_ERROR', 'NOT_FOUND'],
};

const historicalTrades: Omit<Operation, 'id'> = {
  tag: 'Market data',
  summary: 'Returns executions of a market, newest first',
  reply: historicalTradesSchema,
  codes: ['VALIDATION_ERROR', 'NOT_FOUND'],
};

const candles: Omit<Operation, 'id'> = {
  tag: 'Market data',
  summary: 'Returns candles of a market, oldest first',
  description:
    'Returns the newest `limit` candles of the range, with the current one. An interval without executions has no candle.',
  reply: historicalCandlesSchema,
  codes: ['VALIDATION_ERROR', 'NOT_FOUND'],
};

const siweNonce: Omit<Operation, 'id'> = {
  tag: 'Login',
  summary: 'Issues a nonce for a SIWE message',
  description:
    'The nonce is valid for one login within five minutes. It replaces any earlier nonce of the address.',
  reply: nonceText,
  contentType: 'text/plain',
  codes: ['VALIDATION_ERROR'],
};

/** Ends with an empty line, because the limit of the route is appended. */
const DIRECT_CALL = `\`\`\`js
const EIP712Domain = [{ name: 'name', type: 'string' }, { name: 'version', type: 'string' }];
const types = { EIP712Domain, Login: typedData.types.Login }; // the domain and the login, nothing else
const payload = { ...typedData, types, primaryType: 'Login' };
const params = [address, JSON.stringify(payload)];
const signature = await ethereum.request({ method: 'eth_signTypedData_v4', params });
\`\`\`

`;

/** A replica makes the history reads of one wallet one after the other. */
const READS_IN_TURN =
  'A replica makes one such read of a wallet at a time; when 64 wait, more answer `SERVICE_UNAVAILABLE` with `Retry-After`.';

/** Keys are method and path, as in the route table. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /v1/auth/challenge': {
    id: 'issueChallenge',
    tag: 'Login',
    summary: 'Issues typed data to sign in with',
    description:
      'Sign `typedData` as EIP-712 data within five minutes, and post the signature to `/v1/auth/verify`. ethers and ' +
      'viem take `domain`, `types` and `message` as they are. A wallet that is called directly (EIP-1193, ' +
      '`eth_signTypedData_v4`) also needs the type of the domain: without it, the wallet signs an empty domain, and ' +
      'the signature is refused.\n\n' +
      DIRECT_CALL,
    reply: challengeSchema,
  },
  'POST /v1/auth/verify': {
    id: 'verifyChallenge',
    tag: 'Login',
    summary: 'Exchanges a signed challenge for a session',
    description:
      'A wrong signature, and a challenge that was used, replaced or is more than five minutes old, answer ' +
      '`BAD_REQUEST`. The message names the reason where the signature shows one: its form, or an empty ' +
      '`EIP712Domain`. A refused signature leaves the challenge as it is.',
    reply: verifiedSchema,
    codes: ['BAD_REQUEST'],
  },
  'GET /api/auth/nonce': { id: 'getSiweNonce', ...siweNonce },
  'POST /api/auth/nonce': {
    id: 'postSiweNonce',
    ...siweNonce,
    parameters: { address: address.optional() },
    bodyIsOptional: true,
  },
  'POST /api/auth/verify': {
    id: 'verifySiwe',
    tag: 'Login',
    summary: 'Exchanges a signed SIWE message for a session',
    description:
      'The message is an EIP-4361 text, signed by `personal_sign`: it names a web host of the service, the address ' +
      'and its current nonce. Checked in the order of the codes below; the nonce is used up last.',
    reply: siweSessionSchema,
    codes: codesOf('SIWE login'),
  },
  'GET /v1/markets': {
    id: 'getMarkets',
    tag: 'Markets',
    summary: 'Returns every market and its rules',
    reply: marketsSchema,
  },
  'GET /v1/status': {
    id: 'getStatus',
    tag: 'Markets',
    summary: 'Returns the state of trading, the required terms and the last reconcile',
    description:
      'Answers as long as the engine does. Each replica reads its stores at most once a second for this route. While ' +
      'Postgres is away, trading goes on, and `reconcile` is the result that the replica read last.',
    reply: statusSchema,
  },
  'GET /v1/portfolio/:address': {
    id: 'getPortfolio',
    tag: 'Trading',
    summary: 'Returns the balances of the wallet and their value',
    reply: portfolioSchema,
    codes: ['FORBIDDEN'],
    parameters: { address },
  },
  'POST /v1/orders': {
    id: 'placeOrder',
    tag: 'Trading',
    summary: 'Places an order',
    description:
      'A `clientOrderId` that was used before returns its order in its present state, whatever else the request says. ' +
      'So repeat a request whose reply was lost. A body with a `clientOrderId` alone is a look-up: it returns the ' +
      'order of that id and never places one. An id that was never used answers `VALIDATION_ERROR`. Post-only orders ' +
      'that would cross and fill-or-kill orders that cannot be filled are answered with 200, `accepted: false` and ' +
      'the status `rejected`. A request that is refused with a code places nothing and leaves its `clientOrderId` ' +
      'free, except for `SETTLEMENT_FAILED`. `BAD_REQUEST` says that the order came after `expiresAfter`, or that the ' +
      'wallet has too many live orders.',
    reply: placementSchema,
    bodies: ORDER_BODIES,
    codes: [...codesOf('placing'), 'FORBIDDEN', 'BAD_REQUEST'],
  },
  'POST /v1/orders/replace': {
    id: 'replaceOrder',
    tag: 'Trading',
    summary: 'Replaces a live order by another one of its market',
    description:
      'Cancels what is left of the order and places the new one, as one change: no state exists with both or with ' +
      'neither. The new order is checked and matched as if the old one had been cancelled, and has the priority of a ' +
      'new order, whatever it changes. If the old one is no longer live, the answer is `ORDER_NOT_FOUND`, and nothing ' +
      'is placed. If it has filled another amount than `filledSize`, the answer is `CONFLICT`, and nothing changes. If ' +
      'the new one is refused or rejected, the old one stays. A `clientOrderId` that was used before returns its order, ' +
      'as when placing, without `replaced`.',
    reply: replacementSchema,
    bodies: REPLACE_BODIES,
    codes: [
      ...codesOf('placing'),
      ...codesOf('cancelling'),
      ...codesOf('replacing'),
      'FORBIDDEN',
      'BAD_REQUEST',
    ],
  },
  'POST /v1/orders/batch': {
    id: 'placeOrders',
    tag: 'Trading',
    summary: 'Places orders, up to 50',
    description:
      'Each order is placed or refused as if it had come alone to `POST /v1/orders`, and has a result of its own. Orders ' +
      'of one market are placed in the order given, and those of other wallets may come between them. The reply shows ' +
      '5,000 fills in all; `fillCount` is the number of all fills of an order. The body may have 64 KB.',
    reply: orderBatchSchema,
  },
  'GET /v1/orders': {
    id: 'getOrders',
    tag: 'Trading',
    summary: 'Returns orders of the wallet, newest first',
    description:
      'Returns pages of live and terminal orders by the time of placing, 100 orders a page unless `limit` is smaller. ' +
      'No order is on two pages. Every order that keeps the requested status meanwhile is on one. ' +
      READS_IN_TURN,
    reply: ordersSchema,
    codes: ['MARKET_NOT_FOUND'],
  },
  'GET /v1/orders/changes': {
    id: 'getOrderChanges',
    tag: 'Trading',
    summary: 'Returns changes of orders of the wallet as they happen',
    description:
      'Returns the changes after a cursor, oldest first: placements, each with the fills it took, later fills, and ' +
      'endings. Each change is told once, as long as each request sends the `cursor` of the reply before. Where there ' +
      'is none, the reply waits up to `wait` seconds for the next one. ' +
      READS_IN_TURN,
    reply: orderChangesSchema,
  },
  'GET /v1/orders/:orderId': {
    id: 'getOrder',
    tag: 'Trading',
    summary: 'Returns one order',
    description: `An unknown order and another wallet's order both answer \`NOT_FOUND\`. ${READS_IN_TURN}`,
    reply: orderReplySchema,
    codes: ['NOT_FOUND'],
  },
  'GET /v1/orders/by-client-id/:clientOrderId': {
    id: 'getOrderByClientId',
    tag: 'Trading',
    summary: 'Returns one order by its client order id',
    description:
      `Answers \`NOT_FOUND\` when the wallet has not used the id. ${READS_IN_TURN} Most clients drop \`.\` and ` +
      '`..` from a path, also when they are encoded; look such an id up by `POST /v1/orders`.',
    reply: orderReplySchema,
    codes: ['NOT_FOUND'],
  },
  'DELETE /v1/orders/:orderId': {
    id: 'cancelOrder',
    tag: 'Trading',
    summary: 'Cancels a live order',
    description: 'Works while trading is paused.',
    reply: closedOrderSchema,
    codes: codesOf('cancelling'),
    parameters: { orderId: z.string().describe('the `id` of an order') },
  },
  'DELETE /v1/orders/by-client-id/:clientOrderId': {
    id: 'cancelOrderByClientId',
    tag: 'Trading',
    summary: 'Cancels the live order of a client order id',
    description: 'Works while trading is paused.',
    reply: closedOrderSchema,
    codes: codesOf('cancelling'),
  },
  'POST /v1/orders/cancel-batch': {
    id: 'cancelNamedOrders',
    tag: 'Trading',
    summary: 'Cancels named live orders, up to 100',
    description:
      'Works while trading is paused. Those of one market are cancelled as one change. Each id has a result of its own.',
    reply: cancelBatchSchema,
  },
  'DELETE /v1/orders': {
    id: 'cancelOrders',
    tag: 'Trading',
    summary: 'Cancels all live orders, or those of one market',
    description:
      'Works while trading is paused. Orders that are placed after the request began are not included.',
    reply: closedOrdersSchema,
    codes: ['MARKET_NOT_FOUND'],
  },
  'POST /v1/orders/cancel-after': {
    id: 'setCancelAfter',
    tag: 'Trading',
    summary: 'Sets, renews or switches off the dead-man switch',
    description:
      'All live orders of the wallet are cancelled at `cancelAt` unless the request is made again in time. Each ' +
      'request replaces the one before. A wallet has one switch, whatever the session. The switch works while trading is ' +
      'paused. Orders that are placed after the cancelling began stay. A switch that was due while the service was ' +
      'away fires when the service is back. The cancelling ends the switch.',
    reply: cancelAfterSchema,
  },
  'GET /v1/trades': {
    id: 'getTrades',
    tag: 'Trading',
    summary: 'Returns trades of the wallet, newest first',
    description: `Returns pages of the wallet's trades as maker or taker. ${READS_IN_TURN}`,
    reply: walletTradesSchema,
    codes: ['MARKET_NOT_FOUND'],
  },
  'GET /v1/statement': {
    id: 'getStatement',
    tag: 'Trading',
    summary: 'Returns the statement of the wallet: every change of its balances, oldest first',
    description:
      'A line is one change of one asset: for each asset, the opening balance and all amounts sum to the closing ' +
      'balance. A trade has a line for each of its assets, and the taker has one more for the fee. The first page has ' +
      'the opening balances and the last page the closing ones. `from` is inclusive and `to` is not; at most 31 days ' +
      'lie between them. A statement shows settled events, up to `settledTo`: ask again if `to` is later. In CSV, ' +
      `the pages put together make one file, and \`Link\` names the next one. ${READS_IN_TURN}`,
    reply: statementSchema,
    alsoAs: { 'text/csv': statementText },
    headers: ['Link'],
  },
  'POST /v1/account/terms': {
    id: 'acceptTerms',
    tag: 'Trading',
    summary: 'Accepts the required version of the terms',
    reply: acceptedTermsSchema,
    codes: codesOf('accepting terms'),
  },
  'POST /v1/demo/faucet': {
    id: 'requestFunds',
    tag: 'Trading',
    summary: 'Credits play money to a wallet that tries the service',
    description:
      'Answers only callers on the machine of the service. For all others, for requests that a proxy passed on, and for ' +
      'a `Host` that is no front end of the service, it is an unknown route. Credits a fixed amount of an asset, a few times for each wallet and asset. When the wallet ' +
      'has had its credits, or none is left for any wallet, the answer is `BAD_REQUEST`. After a lost answer, read the ' +
      'balance before you ask again: each request is a credit of its own.',
    reply: faucetCreditSchema,
    codes: ['BAD_REQUEST'],
  },
  'GET /v1/market-data/pairs': {
    id: 'getPairs',
    tag: 'Market data',
    summary: 'Returns the markets that can be traded',
    reply: pairsSchema,
  },
  'GET /v1/market-data/summary': {
    id: 'getSummary',
    tag: 'Market data',
    summary: 'Returns the last 24 hours of every market that traded in them',
    reply: summarySchema,
  },
  'GET /v1/market-data/tickers': {
    id: 'getTickers',
    tag: 'Market data',
    summary: 'Returns the last 24 hours of each pair',
    description: 'A pair that has not traded for 24 hours has volumes of 0, and neither high nor low.',
    reply: tickersSchema,
  },
  'GET /v1/market-data/orderbook': { id: 'getOrderBook', ...orderBook },
  'GET /v1/market-data/orderbook/:ticker_id': { id: 'getOrderBookOf', ...orderBook },
  'GET /v1/market-data/trades': { id: 'getHistoricalTrades', ...historicalTrades },
  'GET /v1/market-data/trades/:ticker_id': { id: 'getHistoricalTradesOf', ...historicalTrades },
  'GET /v1/market-data/candles': { id: 'getCandles', ...candles },
  'GET /v1/market-data/candles/:ticker_id': { id: 'getCandlesOf', ...candles },
  'GET /livez': {
    id: 'getLiveness',
    tag: 'Operation',
    summary: 'Returns 200 while the process runs',
    reply: livenessSchema,
  },
  'GET /readyz': {
    id: 'getReadiness',
    tag: 'Operation',
    summary: 'Returns 200 if the process takes requests, else 503',
    description:
      'A process that serves the API takes requests once it has started, also while a server is away. `?deep` asks for its servers as well.',
    reply: readinessSchema,
    parameters: { deep: z.string().optional().describe('present to ask for the servers of the process') },
    alsoWith: [503],
  },
  'GET /metrics': {
    id: 'getMetrics',
    tag: 'Operation',
    summary: 'Returns metrics of the process',
    description: 'All callers share one read a second. Where `METRICS_PORT` is set, only that port answers.',
    reply: metricsText,
    contentType: 'text/plain',
  },
};
