/** Writes the OpenAPI 3.1 document from the route table and the schemas of requests and replies. */

import * as listing from '../../contract/coinmarketcap.ts';
import { errorCode, errorSchema, unexpectedErrorSchema } from '../../contract/errors.ts';
import { faucetCreditSchema } from '../../contract/faucet.ts';
import * as login from '../../contract/login.ts';
import { marketSchema, marketsSchema } from '../../contract/market.ts';
import * as marketData from '../../contract/market-data.ts';
import { balanceSchema, portfolioSchema } from '../../contract/portfolio.ts';
import { livenessSchema, metricsText, readinessSchema } from '../../contract/probes.ts';
import { statementJournal, statementSchema, statementText } from '../../contract/statement.ts';
import { statusSchema } from '../../contract/status.ts';
import * as orders from '../../order/reply.ts';
import { type Route, TAGS } from '../route.ts';
import { LOCAL_ROUTES, legacyRoutes, MARKET_DATA_PREFIX, PROBES, ROUTES } from '../routes.ts';
import type { HttpSettings } from '../services.ts';
import { HEADERS } from './headers.ts';
import { type JsonObject, nameReplies, nameRequests } from './json-schema.ts';
import { type Documented, pathsPart } from './paths.ts';

const replies = nameReplies({
  Error: errorSchema,
  ErrorCode: errorCode,
  UnexpectedError: unexpectedErrorSchema,
  Challenge: login.challengeSchema,
  Verified: login.verifiedSchema,
  Nonce: login.nonceText,
  SiweSession: login.siweSessionSchema,
  AcceptedTerms: login.acceptedTermsSchema,
  Market: marketSchema,
  Markets: marketsSchema,
  Status: statusSchema,
  Balance: balanceSchema,
  Portfolio: portfolioSchema,
  FaucetCredit: faucetCreditSchema,
  Fill: orders.fillSchema,
  Order: orders.orderSchema,
  Orders: orders.ordersSchema,
  OrderReply: orders.orderReplySchema,
  Placement: orders.placementSchema,
  Replacement: orders.replacementSchema,
  PlacingResult: orders.placingResultSchema,
  OrderBatch: orders.orderBatchSchema,
  ClosedOrder: orders.closedOrderSchema,
  ClosedOrders: orders.closedOrdersSchema,
  CancelResult: orders.cancelResultSchema,
  CancelBatch: orders.cancelBatchSchema,
  OrderChange: orders.orderChangeSchema,
  OrderChanges: orders.orderChangesSchema,
  CancelAfter: orders.cancelAfterSchema,
  WalletTrade: orders.walletTradeSchema,
  WalletTrades: orders.walletTradesSchema,
  Pair: marketData.pairSchema,
  Pairs: marketData.pairsSchema,
  SummaryEntry: marketData.summaryEntrySchema,
  Summary: marketData.summarySchema,
  Ticker: marketData.tickerSchema,
  Tickers: marketData.tickersSchema,
  OrderBook: marketData.orderBookSchema,
  HistoricalTrade: marketData.historicalTradeSchema,
  HistoricalTrades: marketData.historicalTradesSchema,
  HistoricalCandle: marketData.historicalCandleSchema,
  HistoricalCandles: marketData.historicalCandlesSchema,
  ListedSummary: listing.listedSummarySchema,
  ListedAssets: listing.listedAssetsSchema,
  ListedTickers: listing.listedTickersSchema,
  ListedOrderBook: listing.listedBookSchema,
  ListedTrades: listing.listedTradesSchema,
  Liveness: livenessSchema,
  Readiness: readinessSchema,
  Statement: statementSchema,
  StatementText: statementText,
  StatementJournal: statementJournal,
  Metrics: metricsText,
});

const bodies = nameRequests(Object.assign({}, ...ROUTES.map((route) => route.bodies ?? {})));

const COMPONENTS = {
  replies,
  bodies,
  errors: { usual: errorSchema, unexpected: unexpectedErrorSchema },
};

/** Codes of the checks that a request meets before its handler, by the required caller. */
const EARLIER_CODES = {
  anyone: [],
  public: [],
  login: ['RESTRICTED_JURISDICTION'],
  wallet: ['UNAUTHORIZED'],
} as const;

function documentedRoutes({ legacyPrefix, demoFaucet }: HttpSettings): Documented[] {
  const describe = (route: Route): Documented => ({
    ...route,
    security: route.caller === 'wallet' ? 'session' : undefined,
    isPublic: route.caller === 'public',
    earlierCodes: EARLIER_CODES[route.caller],
  });
  return [
    ...ROUTES.map(describe),
    ...(demoFaucet ? LOCAL_ROUTES : []).map(describe),
    ...PROBES.map((probe) => ({ ...probe, earlierCodes: [] })),
    ...legacyRoutes(legacyPrefix).map((route) => ({
      ...describe(route),
      isDeprecated: true,
      id: legacyId(route.id, route.path, route.successor),
    })),
  ];
}

/** Two old paths may have one successor, and each operation needs an id of its own. */
const legacyId = (id: string, path: string, successor: string): string =>
  path.endsWith(successor.slice(MARKET_DATA_PREFIX.length)) ? `${id}Legacy` : `${id}LegacyAlias`;

const DESCRIPTION = `A wallet-authenticated spot exchange and its public market data.

- Protected routes require \`Authorization: Bearer <token>\`. The login routes issue a token for a wallet's signature.
- Amounts of trading routes are JSON numbers, written exactly; read them as decimals. Requests may carry decimal strings instead.
- Every error carries a stable \`code\`; branch on it, not on the message. Unknown routes answer 404 in the shape of \`UnexpectedError\`, unexpected errors 500.
- Limited routes count the requests of a session, or of an address without one, over any 60 seconds, and report the count in \`RateLimit-*\`. A 429 has the seconds to wait in \`Retry-After\`.
- \`GET\` routes answer \`HEAD\` too, and every path answers \`OPTIONS\`.
- There are two public WebSocket streams: see the [AsyncAPI document](/v1/asyncapi.json).`;

export function openApiDocument(settings: HttpSettings): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: `${settings.serviceName} API`,
      version: '1',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'this service' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: pathsPart(documentedRoutes(settings), COMPONENTS),
    components: {
      schemas: { ...schemasUnder(settings), ...bodies.schemas },
      headers: HEADERS,
      securitySchemes: {
        session: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'Token from a login route, valid for eight hours.',
        },
      },
    },
  };
}

/** Returns the reply schemas, without those of routes that the settings switch off. */
function schemasUnder({ demoFaucet }: HttpSettings): JsonObject {
  const { FaucetCredit, ...schemas } = replies.schemas;
  return demoFaucet ? replies.schemas : schemas;
}
