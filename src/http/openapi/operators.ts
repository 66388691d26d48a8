/** Writes the OpenAPI 3.1 document of the routes for operators from their operations. */

import { operatorErrorSchema, unexpectedOperatorErrorSchema } from '../../contract/operator.ts';
import { livenessSchema, metricsText, readinessSchema } from '../../contract/probes.ts';
import { OPERATIONS } from '../../operator/nouns.ts';
import { OPERATOR_TAGS, type Operation, replyNames } from '../../operator/operation.ts';
import { pathOf } from '../operator/serve.ts';
import { PROBES } from '../routes.ts';
import { HEADERS } from './headers.ts';
import { type JsonObject, nameReplies, nameRequests } from './json-schema.ts';
import { type Documented, pathsPart } from './paths.ts';

const replies = nameReplies(
  {
    Error: operatorErrorSchema,
    UnexpectedError: unexpectedOperatorErrorSchema,
    Liveness: livenessSchema,
    Readiness: readinessSchema,
    Metrics: metricsText,
  },
  replyNames,
);

const COMPONENTS = {
  replies,
  bodies: nameRequests({}),
  errors: { usual: operatorErrorSchema, unexpected: unexpectedOperatorErrorSchema },
};

/** Where a path has parameters besides those of a query or a body, they are documented by themselves. */
function documented({ params, query, body, ...operation }: Operation): Documented {
  const needs = `Needs the right ${operation.rights.map((right) => `\`${right}\``).join(' or ')}.`;
  const request = body ?? query ?? params;
  return {
    ...operation,
    path: pathOf(operation),
    description: operation.description === undefined ? needs : `${operation.description} ${needs}`,
    ...(request !== undefined && { request }),
    ...(body !== undefined && { readsBody: true }),
    ...(params !== undefined && request !== params && { parameters: params.shape }),
    security: 'key',
    earlierCodes: ['UNAUTHORIZED', 'FORBIDDEN', 'VALIDATION_ERROR'],
  };
}

export const operatorDocument = ({ serviceName }: { readonly serviceName: string }): JsonObject => ({
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
  paths: pathsPart(
    [...OPERATIONS.map(documented), ...PROBES.map((probe) => ({ ...probe, earlierCodes: [] }))],
    COMPONENTS,
  ),
  components: {
    schemas: Object.fromEntries(Object.entries(replies.schemas).sort()),
    headers: HEADERS,
    securitySchemes: {
      key: { type: 'http', scheme: 'bearer', description: 'A key that `redbook key create` printed.' },
    },
  },
});
