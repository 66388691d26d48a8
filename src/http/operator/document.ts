/** Writes the OpenAPI 3.1 document of the routes for operators. */

import * as contract from '../../contract/operator.ts';
import { livenessSchema, metricsText, readinessSchema } from '../../contract/probes.ts';
import * as reports from '../../contract/reports.ts';
import { statementSchema, statementText } from '../../contract/statement.ts';
import type { OperatorCode } from '../../domain/errors.ts';
import { HEADERS } from '../openapi/headers.ts';
import { type JsonObject, nameReplies, nameRequests } from '../openapi/json-schema.ts';
import { OPERATIONS } from '../openapi/operations.ts';
import { type Documented, pathsPart } from '../openapi/paths.ts';
import { PROBES } from '../routes.ts';
import { OPERATOR_ROUTES } from './routes.ts';
import type { OperatorServices } from './services.ts';

const replies = nameReplies({
  Error: contract.operatorErrorSchema,
  UnexpectedError: contract.unexpectedOperatorErrorSchema,
  MovementResult: contract.movementResultSchema,
  MovementResults: contract.movementResultsSchema,
  Movements: contract.movementsSchema,
  Withdrawal: contract.withdrawalSchema,
  Withdrawals: contract.withdrawalsSchema,
  Market: contract.operatorsMarketSchema,
  Markets: contract.operatorsMarketsSchema,
  Asset: contract.assetSchema,
  Account: contract.accountSchema,
  EndedOrder: contract.endedOrderSchema,
  Hold: contract.holdSchema,
  Holds: contract.holdsSchema,
  Closings: contract.closingsSchema,
  ClosedMonth: contract.closedMonthSchema,
  Cleared: contract.clearedSchema,
  Trading: contract.tradingSchema,
  RequiredTerms: contract.requiredTermsSchema,
  Balances: reports.balancesSchema,
  Fees: reports.feesSchema,
  Volumes: reports.volumesSchema,
  MovementsOfSpan: reports.movementsOfSpanSchema,
  Entries: reports.entriesSchema,
  ReportText: reports.reportText,
  LastReconcile: contract.lastReconcileSchema,
  ReconcileResults: contract.reconcileResultsSchema,
  Acts: contract.actsSchema,
  ServiceStatus: contract.serviceStatusSchema,
  Statement: statementSchema,
  StatementText: statementText,
  Liveness: livenessSchema,
  Readiness: readinessSchema,
  Metrics: metricsText,
});

const COMPONENTS = {
  replies,
  bodies: nameRequests({}),
  errors: { usual: contract.operatorErrorSchema, unexpected: contract.unexpectedOperatorErrorSchema },
};

const TAGS = {
  Money: 'Deposits and withdrawals, each under a reference that counts once.',
  Wallets: 'Balances, live orders, holds and statements.',
  Markets: 'Markets, assets and single orders.',
  Finance: 'Reports of any length, as JSON or CSV. Two at once; an answer that is cut off is no whole one.',
  Service: 'The kill switch, terms, and the state of the service.',
  Operation: 'Probes and metrics of the process.',
} as const;

type Described = Omit<Documented['operation'], 'tag'> & { readonly tag: keyof typeof TAGS };

const { symbolRequest, orderRequest, walletRequest } = contract;
const OF_ENDS: readonly OperatorCode[] = ['UNKNOWN_WITHDRAWAL', 'REFERENCE_CONFLICT'];
const OF_REQUESTS = [
  ...(['INVALID_AMOUNT', 'INVALID_REFERENCE', 'UNKNOWN_ASSET', 'INSUFFICIENT_BALANCE'] as const),
  ...(['CUSTODY_HOLD', 'CAP_EXCEEDED', 'REFERENCE_CONFLICT', 'SCALE_CHANGED'] as const),
];
const REPORT_TEXT = { 'text/csv': reports.reportText };
const OF_MARKETS: readonly OperatorCode[] = ['INVALID_MARKET', 'INVALID_ASSET', 'BOOK_NOT_EMPTY'];

const OPERATIONS_OF_OPERATORS: Readonly<Record<string, Described>> = {
  'POST /movements': {
    id: 'bookMovements',
    tag: 'Money',
    summary: 'Books deposits and withdrawals',
    description:
      'Each movement is answered by itself: 201 if it is new, 200 if it was booked before, 409 if its reference was used for another one. After a lost answer, send the same movements again.',
    reply: contract.movementResultsSchema,
  },
  'GET /movements/:reference': {
    id: 'findMovement',
    tag: 'Money',
    summary: 'Returns the movements that a reference stands for',
    description: 'A reference may stand for one deposit and one withdrawal.',
    reply: contract.movementsSchema,
    codes: ['NOT_FOUND'],
  },
  'POST /withdrawals': {
    id: 'requestWithdrawal',
    tag: 'Money',
    summary: 'Requests a withdrawal that custody pays later',
    description:
      'The amount leaves the wallet at once, and is pending until the withdrawal is confirmed or returned. 201 if it is new, 200 if it was requested before, 409 if its reference was used for another withdrawal. A custody hold that follows leaves it pending.',
    reply: contract.withdrawalSchema,
    mayCreate: true,
    codes: OF_REQUESTS,
  },
  'POST /withdrawals/:reference/confirm': {
    id: 'confirmWithdrawal',
    tag: 'Money',
    summary: 'Confirms that a transaction paid a withdrawal',
    description:
      'The same transaction again changes nothing. Another one, or a returned withdrawal, answers 409.',
    parameters: { reference: contract.referenceRequest.shape.reference },
    reply: contract.withdrawalSchema,
    codes: OF_ENDS,
  },
  'POST /withdrawals/:reference/return': {
    id: 'returnWithdrawal',
    tag: 'Money',
    summary: 'Returns the amount of a withdrawal that was not paid',
    description: 'A second return changes nothing. A confirmed withdrawal answers 409.',
    parameters: { reference: contract.referenceRequest.shape.reference },
    reply: contract.withdrawalSchema,
    codes: OF_ENDS,
  },
  'GET /withdrawals': {
    id: 'listWithdrawals',
    tag: 'Money',
    summary: 'Lists withdrawals of a state, in the order in which they came into it',
    description: 'Waits until settlement has all that was answered before.',
    reply: contract.withdrawalsSchema,
    codes: ['SETTLEMENT_STALLED'],
  },
  'GET /withdrawals/:reference': {
    id: 'getWithdrawal',
    tag: 'Money',
    summary: 'Returns a withdrawal and its state',
    reply: contract.withdrawalSchema,
    codes: ['UNKNOWN_WITHDRAWAL'],
  },
  'GET /wallets/:wallet': {
    id: 'getWallet',
    tag: 'Wallets',
    summary: 'Returns balances, live orders, hold and terms of a wallet',
    reply: contract.accountSchema,
  },
  'GET /wallets/:wallet/statement': {
    id: 'getWalletStatement',
    tag: 'Wallets',
    summary: 'Returns the statement of a wallet',
    description: 'At most 31 days a request.',
    parameters: { wallet: walletRequest.shape.wallet },
    reply: statementSchema,
    alsoAs: { 'text/csv': statementText },
    headers: ['Link'],
  },
  'GET /holds': {
    id: 'listHolds',
    tag: 'Wallets',
    summary: 'Lists the wallets on custody hold',
    reply: contract.holdsSchema,
  },
  'POST /wallets/:wallet/hold': {
    id: 'holdWallet',
    tag: 'Wallets',
    summary: 'Puts a wallet on custody hold and cancels its live orders',
    description: 'The wallet can then neither place orders nor withdraw.',
    parameters: { wallet: walletRequest.shape.wallet },
    reply: contract.holdSchema,
  },
  'POST /wallets/:wallet/release': {
    id: 'releaseWallet',
    tag: 'Wallets',
    summary: 'Ends the custody hold of a wallet',
    parameters: { wallet: walletRequest.shape.wallet },
    reply: contract.holdSchema,
  },
  'GET /markets': {
    id: 'getMarkets',
    tag: 'Markets',
    summary: 'Returns all markets, hidden ones too',
    reply: contract.operatorsMarketsSchema,
  },
  'POST /markets': {
    id: 'createMarket',
    tag: 'Markets',
    summary: 'Publishes a market',
    reply: contract.operatorsMarketSchema,
    codes: [...OF_MARKETS, 'MARKET_EXISTS'],
  },
  'POST /markets/:symbol': {
    id: 'changeMarket',
    tag: 'Markets',
    summary: 'Changes the rules of a market from the next order on',
    description: 'Absent members stay as they are. Tick size and size step cannot change.',
    parameters: { symbol: symbolRequest.shape.symbol },
    reply: contract.operatorsMarketSchema,
    codes: [...OF_MARKETS, 'MARKET_NOT_FOUND'],
  },
  'POST /markets/:symbol/clear': {
    id: 'clearMarket',
    tag: 'Markets',
    summary: 'Cancels all orders of a halted market',
    parameters: { symbol: symbolRequest.shape.symbol },
    reply: contract.clearedSchema,
    codes: ['MARKET_NOT_FOUND', 'MARKET_NOT_HALTED'],
  },
  'POST /assets': {
    id: 'setAsset',
    tag: 'Markets',
    summary: 'Sets the decimals of an asset before its first use',
    reply: contract.assetSchema,
    codes: ['INVALID_ASSET', 'ASSET_IN_USE'],
  },
  'POST /orders/:orderId/void': {
    id: 'voidOrder',
    tag: 'Markets',
    summary: 'Voids a live order: it ends as failed',
    parameters: { orderId: orderRequest.shape.orderId },
    reply: contract.endedOrderSchema,
    codes: ['ORDER_NOT_FOUND'],
  },
  'POST /trading/pause': {
    id: 'pauseTrading',
    tag: 'Service',
    summary: 'Refuses new orders on all markets',
    description: 'Cancels, deposits and withdrawals continue.',
    reply: contract.tradingSchema,
  },
  'POST /trading/resume': {
    id: 'resumeTrading',
    tag: 'Service',
    summary: 'Accepts new orders again',
    reply: contract.tradingSchema,
  },
  'POST /terms': {
    id: 'requireTerms',
    tag: 'Service',
    summary: 'Requires a version of the terms, or none',
    reply: contract.requiredTermsSchema,
  },
  'GET /balances': {
    id: 'listBalances',
    tag: 'Finance',
    summary: 'Lists the balances of all accounts at a time, and their sums by asset',
    reply: reports.balancesSchema,
    alsoAs: REPORT_TEXT,
    codes: ['UNKNOWN_ASSET'],
  },
  'GET /fees': {
    id: 'sumFees',
    tag: 'Finance',
    summary: 'Sums the fees that the house earned in a span of time',
    reply: reports.feesSchema,
    alsoAs: REPORT_TEXT,
  },
  'GET /volumes': {
    id: 'sumVolumes',
    tag: 'Finance',
    summary: 'Sums the volumes of trades in a span of time',
    reply: reports.volumesSchema,
    alsoAs: REPORT_TEXT,
  },
  'GET /movements': {
    id: 'listMovements',
    tag: 'Finance',
    summary: 'Lists deposits and withdrawals in a span of time',
    reply: reports.movementsOfSpanSchema,
    alsoAs: REPORT_TEXT,
    codes: ['UNKNOWN_ASSET'],
  },
  'GET /entries': {
    id: 'exportEntries',
    tag: 'Finance',
    summary: 'Returns the entries of the double-entry ledger in a span of time',
    description: 'To go on with an answer that was cut off, pass the id of its last whole entry as `after`.',
    reply: reports.entriesSchema,
    alsoAs: REPORT_TEXT,
  },
  'GET /status': {
    id: 'getServiceStatus',
    tag: 'Service',
    summary: 'Returns the state of the service as far as its servers answer',
    reply: contract.serviceStatusSchema,
  },
  'GET /acts': {
    id: 'listActs',
    tag: 'Service',
    summary: 'Lists what operators and keys changed, oldest first',
    reply: contract.actsSchema,
  },
  'GET /closings': {
    id: 'listClosings',
    tag: 'Finance',
    summary: 'Lists the closed months',
    reply: contract.closingsSchema,
  },
  'POST /closings': {
    id: 'closeMonth',
    tag: 'Finance',
    summary: 'Keeps the balances of all accounts at the end of a month',
    description:
      '201 if the month is closed now, 200 if it was closed before: nothing changes then. After a lost answer, send the same request again.',
    reply: contract.closedMonthSchema,
    mayCreate: true,
    codes: ['MONTH_NOT_OVER', 'SETTLEMENT_STALLED'],
  },
  'GET /reconcile': {
    id: 'getLastReconcile',
    tag: 'Service',
    summary: 'Returns the last reconcile, and each of its checks with its result',
    reply: contract.reconcileResultsSchema,
    codes: ['NOT_FOUND'],
  },
};

/** Parameters of a path are those of the endpoint's schema where it reads no body. */
const documented = (): Documented[] => [
  ...OPERATOR_ROUTES.map(({ method, path, rights, endpoint }) => {
    const operation = OPERATIONS_OF_OPERATORS[`${method} ${path.replace('/operator/v1', '')}`];
    if (operation === undefined) throw new Error(`${method} ${path} is not documented`);
    const needs = `Needs the right ${rights.map((right) => `\`${right}\``).join(' or ')}.`;
    const description = [operation.description, needs].filter((text) => text !== undefined).join(' ');
    return {
      method,
      path,
      endpoint,
      operation: { ...operation, description },
      security: 'key',
      earlierCodes: ['UNAUTHORIZED', 'FORBIDDEN'] as const,
    };
  }),
  ...PROBES.map(({ method, path }) => ({
    method,
    path,
    endpoint: {},
    earlierCodes: [],
    operation: OPERATIONS[`${method} ${path}`]!,
  })),
];

export const operatorDocument = ({ serviceName }: Pick<OperatorServices, 'serviceName'>): JsonObject => ({
  openapi: '3.1.1',
  info: {
    title: `${serviceName} for operators`,
    version: '1',
    description:
      'Routes for custody systems and for the desk of operators. Never put them behind a public ingress. Amounts in replies are decimal strings; requests may carry numbers or strings. Every error carries a stable `code`.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: '/', description: 'this service' }],
  tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
  paths: pathsPart(documented(), COMPONENTS),
  components: {
    schemas: replies.schemas,
    headers: HEADERS,
    securitySchemes: {
      key: { type: 'http', scheme: 'bearer', description: 'A key that `redbook key create` printed.' },
    },
  },
});
