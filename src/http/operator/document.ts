/** Writes the OpenAPI 3.1 document of the routes for operators. */

import * as contract from '../../contract/operator.ts';
import { livenessSchema, metricsText, readinessSchema } from '../../contract/probes.ts';
import * as reports from '../../contract/reports.ts';
import { statementSchema, statementText } from '../../contract/statement.ts';
import { OPERATOR_TAGS } from '../../operator/operation.ts';
import { HEADERS } from '../openapi/headers.ts';
import { type JsonObject, nameReplies, nameRequests } from '../openapi/json-schema.ts';
import { type Documented, pathsPart } from '../openapi/paths.ts';
import { PROBES } from '../routes.ts';
import type { OperatorServices } from './route.ts';
import { OPERATOR_ROUTES } from './routes.ts';

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

const documented = (): Documented[] => [
  ...OPERATOR_ROUTES.map((route) => {
    const needs = `Needs the right ${route.rights.map((right) => `\`${right}\``).join(' or ')}.`;
    const description = [route.description, needs].filter((text) => text !== undefined).join(' ');
    return {
      ...route,
      description,
      security: 'key',
      earlierCodes: ['UNAUTHORIZED', 'FORBIDDEN'] as const,
    };
  }),
  ...PROBES.map((probe) => ({ ...probe, earlierCodes: [] })),
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
  tags: Object.entries(OPERATOR_TAGS).map(([name, description]) => ({ name, description })),
  paths: pathsPart(documented(), COMPONENTS),
  components: {
    schemas: replies.schemas,
    headers: HEADERS,
    securitySchemes: {
      key: { type: 'http', scheme: 'bearer', description: 'A key that `redbook key create` printed.' },
    },
  },
});
