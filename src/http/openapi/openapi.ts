/** Writes the OpenAPI 3.1 document from the route table and the schemas of requests and replies. */

import type { z } from 'zod';
import { errorCode, errorSchema, unexpectedErrorSchema } from '../../contract/errors.ts';
import { faucetCreditSchema } from '../../contract/faucet.ts';
import * as login from '../../contract/login.ts';
import { marketSchema, marketsSchema } from '../../contract/market.ts';
import * as marketData from '../../contract/market-data.ts';
import { balanceSchema, portfolioSchema } from '../../contract/portfolio.ts';
import { livenessSchema, metricsText, readinessSchema } from '../../contract/probes.ts';
import { statementSchema, statementText } from '../../contract/statement.ts';
import { statusSchema } from '../../contract/status.ts';
import { ERRORS, type ErrorCode } from '../../domain/errors.ts';
import * as orders from '../../order/reply.ts';
import type { Endpoint } from '../endpoint.ts';
import { BUCKETS, type Bucket } from '../limits/buckets.ts';
import { LOCAL_ROUTES, legacyRoutes, MARKET_DATA_PREFIX, PROBES, ROUTES, type Route } from '../routes.ts';
import type { HttpSettings } from '../services.ts';
import { HEADERS, type HeaderName, headerRefs, LIMIT_HEADERS } from './headers.ts';
import {
  type JsonObject,
  type JsonSchema,
  nameReplies,
  nameRequests,
  requestJsonSchema,
} from './json-schema.ts';
import { OPERATIONS, type Operation, TAGS } from './operations.ts';

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
  Liveness: livenessSchema,
  Readiness: readinessSchema,
  Statement: statementSchema,
  StatementText: statementText,
  Metrics: metricsText,
});

const bodies = nameRequests(
  Object.assign({}, ...Object.values(OPERATIONS).map((operation) => operation.bodies ?? {})),
);

/** A documented route, with the properties that determine its headers and refusals. */
interface Documented {
  readonly method: string;
  /** As in the route table. */
  readonly path: string;
  readonly caller: 'anyone' | 'public' | 'login' | 'wallet';
  readonly endpoint: Pick<Endpoint, 'request' | 'readsBody'>;
  readonly bucket?: Bucket | undefined;
  readonly operation: Operation;
  readonly isDeprecated: boolean;
}

function documentedRoutes({ legacyPrefix, demoFaucet }: HttpSettings): Documented[] {
  const describe = ({ method, path, caller, endpoint, bucket }: Route, successor?: string) => {
    const isDeprecated = successor !== undefined;
    const operation = operationOf(method, successor ?? path);
    const id = isDeprecated ? legacyId(operation.id, path, successor) : operation.id;
    return { method, path, caller, endpoint, bucket, isDeprecated, operation: { ...operation, id } };
  };
  return [
    ...ROUTES.map((route) => describe(route)),
    ...(demoFaucet ? LOCAL_ROUTES : []).map((route) => describe(route)),
    ...PROBES.map(({ method, path }) => ({
      method,
      path,
      caller: 'anyone' as const,
      endpoint: {},
      isDeprecated: false,
      operation: operationOf(method, path),
    })),
    ...legacyRoutes(legacyPrefix).map((route) => describe(route, route.successor)),
  ];
}

/** Two old paths may have one successor, and each operation needs an id of its own. */
const legacyId = (id: string, path: string, successor: string): string =>
  path.endsWith(successor.slice(MARKET_DATA_PREFIX.length)) ? `${id}Legacy` : `${id}LegacyAlias`;

function operationOf(method: string, path: string): Operation {
  const operation = OPERATIONS[`${method} ${path}`];
  if (operation === undefined) throw new Error(`${method} ${path} is not documented`);
  return operation;
}

const DESCRIPTION = `A wallet-authenticated spot exchange and its public market data.

- Protected routes require \`Authorization: Bearer <token>\`. The login routes issue a token for a wallet's signature.
- Amounts of trading routes are JSON numbers, written exactly; read them as decimals. Requests may carry decimal strings instead.
- Every error carries a stable \`code\`; branch on it, not on the message. Unknown routes answer 404 in the shape of \`UnexpectedError\`, unexpected errors 500.
- Limited routes count the requests of a session, or of an address without one, over any 60 seconds, and report the count in \`RateLimit-*\`. A 429 has the seconds to wait in \`Retry-After\`.
- \`GET\` routes answer \`HEAD\` too, and every path answers \`OPTIONS\`.
- There are two public WebSocket streams: see the [AsyncAPI document](/v1/asyncapi.json).`;

export function openApiDocument(settings: HttpSettings): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const route of documentedRoutes(settings)) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationPart(route) };
  }
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
    paths,
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

function operationPart(route: Documented): JsonObject {
  const { operation, caller, bucket, isDeprecated } = route;
  const limit = bucket === undefined || isDeprecated ? [] : [`${BUCKETS[bucket].limit} requests a minute.`];
  const description = [...(operation.description === undefined ? [] : [operation.description]), ...limit];
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(description.length > 0 && { description: description.join(' ') }),
    ...(isDeprecated && { deprecated: true }),
    security: caller === 'wallet' ? [{ session: [] }] : [],
    ...requestPart(route),
    responses: responsesPart(route),
  };
}

/** Returns parameters and body. Fields outside the body are path or query parameters. */
function requestPart({ path, endpoint, operation }: Documented): JsonObject {
  const parameters = Object.entries(operation.parameters ?? {}).map(([name, schema]) =>
    parameterPart(path, name, requestJsonSchema(schema), !schema.safeParse(undefined).success),
  );
  const { request, readsBody } = endpoint;
  if (request === undefined) return { parameters };
  if (readsBody) {
    const content =
      operation.bodies === undefined ? { schema: requestJsonSchema(request) } : anyOfThe(operation.bodies);
    const required = operation.bodyIsOptional !== true;
    return { parameters, requestBody: { required, content: { 'application/json': content } } };
  }
  const schema = requestJsonSchema(request);
  const properties = Object.entries(schema.properties as Record<string, JsonSchema>);
  return {
    parameters: properties.map(([name, property]) =>
      parameterPart(path, name, property, schema.required?.includes(name) ?? false),
    ),
  };
}

/** Returns a body of several shapes, each with an example. The viewer offers them as a choice. */
function anyOfThe(shapes: Readonly<Record<string, z.ZodType>>): JsonObject {
  const examples = Object.keys(shapes).map((name) => {
    const { title, examples = [] } = bodies.schemas[name]!;
    return [name, { summary: title, value: examples[0] }];
  });
  return {
    schema: { anyOf: Object.values(shapes).map((shape) => bodies.refTo(shape)) },
    examples: Object.fromEntries(examples),
  };
}

function parameterPart(path: string, name: string, json: JsonSchema, required: boolean): JsonObject {
  const { description, ...schema } = json;
  const place = path.includes(`:${name}`) ? 'path' : 'query';
  // The viewer prefills its form from this example and ignores examples inside the schema.
  const example = schema.examples?.[0];
  return {
    name,
    in: place,
    required,
    ...(description !== undefined && { description }),
    schema,
    ...(example !== undefined && { example }),
  };
}

function responsesPart(route: Documented): JsonObject {
  const { operation, caller } = route;
  const { reply, contentType = 'application/json', alsoWith = [] } = operation;
  const { alsoAs = {} } = operation;
  const schemas = Object.entries({ [contentType]: reply, ...alsoAs });
  const content = Object.fromEntries(
    schemas.map(([type, schema]) => [type, { schema: replies.refTo(schema) }]),
  );
  const own: readonly HeaderName[] =
    caller === 'public' ? ['ETag', 'Cache-Control'] : (operation.headers ?? []);
  const headers = headersPart(route, own);
  const responses: Record<string, JsonObject> = { 200: { description: operation.summary, headers, content } };
  for (const status of alsoWith)
    responses[status] = { description: 'the body names the reason', headers, content };
  if (caller === 'public') responses[304] = { description: 'unchanged since that ETag', headers };
  const codes = [...codesOf(route)];
  for (const status of new Set(codes.map((code) => ERRORS[code].status))) {
    const ofStatus = codes.filter((code) => ERRORS[code].status === status);
    responses[status] ??= errorPart(route, ofStatus);
  }
  return responses;
}

/** Returns every error code that a request to the route can get, from earlier checks or from the endpoint. */
function codesOf({ caller, endpoint, bucket, operation }: Documented): Set<ErrorCode> {
  return new Set<ErrorCode>([
    'EXPRESS_ERR_INVALID_URL',
    ...(caller === 'wallet' ? (['UNAUTHORIZED'] as const) : []),
    ...(caller === 'login' ? (['RESTRICTED_JURISDICTION'] as const) : []),
    ...(endpoint.readsBody ? BODY_CODES : []),
    ...(endpoint.request === undefined ? [] : (['VALIDATION_ERROR'] as const)),
    ...(operation.codes ?? []),
    ...(bucket === undefined ? [] : (['RATE_LIMITED'] as const)),
    'INTERNAL_ERROR',
    'SERVICE_UNAVAILABLE',
  ]);
}

const BODY_CODES: readonly ErrorCode[] = [
  'EXPRESS_ERR_INVALID_JSON',
  'EXPRESS_ERR_BODY_ABORTED',
  'EXPRESS_ERR_BODY_TOO_LARGE',
  'EXPRESS_ERR_UNSUPPORTED_MEDIA_TYPE',
];

const mayAskToWait = (code: ErrorCode): boolean => code === 'RATE_LIMITED' || code === 'SERVICE_UNAVAILABLE';

function errorPart(route: Documented, codes: readonly ErrorCode[]): JsonObject {
  const shape = codes.includes('INTERNAL_ERROR') ? unexpectedErrorSchema : errorSchema;
  const narrowed = { type: 'object', properties: { code: { type: 'string', enum: codes } } };
  return {
    description: codes.map((code) => `- \`${code}\`: ${ERRORS[code].meaning}`).join('\n'),
    headers: headersPart(route, codes.some(mayAskToWait) ? ['Retry-After'] : []),
    content: { 'application/json': { schema: { allOf: [replies.refTo(shape), narrowed] } } },
  };
}

function headersPart({ bucket, isDeprecated }: Documented, own: readonly HeaderName[]): JsonObject {
  const limits = bucket === undefined || isDeprecated ? [] : LIMIT_HEADERS;
  const deprecation: readonly HeaderName[] = isDeprecated ? ['Deprecation', 'Link'] : [];
  return headerRefs(['X-Request-Id', ...limits, ...deprecation, ...own]);
}
