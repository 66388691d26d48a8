/** Writes the operations of an OpenAPI document from routes and the schemas of their requests and replies. */

import type { z } from 'zod';
import { ALL_ERRORS, type ErrorCode, type OperatorCode } from '../../domain/errors.ts';
import { BUCKETS, type Bucket } from '../limits/buckets.ts';
import type { Described, Reads } from '../route.ts';
import { type HeaderName, headerRefs, LIMIT_HEADERS } from './headers.ts';
import { type JsonObject, type JsonSchema, type NamedSchemas, requestJsonSchema } from './json-schema.ts';

type AnyCode = ErrorCode | OperatorCode;

/** A documented route, with the properties that determine its headers and refusals. */
export interface Documented extends Described, Pick<Reads, 'request' | 'readsBody'> {
  readonly method: string;
  /** As in the route table. */
  readonly path: string;
  readonly tag: string;
  /** Name of the security scheme that the caller needs; undefined for none. */
  readonly security?: string | undefined;
  /** True if caches may keep the reply. */
  readonly isPublic?: boolean;
  /** Codes of checks before the handler. */
  readonly earlierCodes: readonly ErrorCode[];
  readonly bucket?: Bucket | undefined;
  readonly isDeprecated?: boolean;
}

/** Named schemas of a document. */
export interface Components {
  readonly replies: NamedSchemas;
  readonly bodies: NamedSchemas;
  /** Schemas of errors, which are among the replies. */
  readonly errors: { readonly usual: z.ZodType; readonly unexpected: z.ZodType };
}

/** Returns the paths of a document. */
export function pathsPart(routes: readonly Documented[], components: Components): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationPart(route, components) };
  }
  return paths;
}

const ORDER_LIMIT =
  'An operator may limit the orders of a wallet in a minute; the headers then tell how many are left.';

function operationPart(route: Documented, components: Components): JsonObject {
  const { bucket, isDeprecated = false } = route;
  const limit = bucket === undefined || isDeprecated ? [] : [`${BUCKETS[bucket].limit} requests a minute.`];
  if (route.countsOrders) limit.push(ORDER_LIMIT);
  const description = [...(route.description === undefined ? [] : [route.description]), ...limit];
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    ...(description.length > 0 && { description: description.join(' ') }),
    ...(isDeprecated && { deprecated: true }),
    security: route.security === undefined ? [] : [{ [route.security]: [] }],
    ...requestPart(route, components),
    responses: responsesPart(route, components),
  };
}

/** Returns parameters and body. Fields outside the body are path or query parameters. */
function requestPart(route: Documented, components: Components): JsonObject {
  const { path } = route;
  const parameters = Object.entries(route.parameters ?? {}).map(([name, schema]) =>
    parameterPart(path, name, requestJsonSchema(schema), !schema.safeParse(undefined).success),
  );
  const { request, readsBody } = route;
  if (request === undefined) return { parameters };
  if (readsBody) {
    const content =
      route.bodies === undefined
        ? { schema: requestJsonSchema(request) }
        : anyOfThe(route.bodies, components);
    const required = route.bodyIsOptional !== true;
    return { parameters, requestBody: { required, content: { 'application/json': content } } };
  }
  const schema = requestJsonSchema(request);
  const properties = Object.entries(schema.properties as Record<string, JsonSchema>);
  const own = properties.map(([name, property]) =>
    parameterPart(path, name, property, schema.required?.includes(name) ?? false),
  );
  return { parameters: [...parameters, ...own] };
}

/** Returns a body of several shapes, each with an example. The viewer offers them as a choice. */
function anyOfThe(shapes: Readonly<Record<string, z.ZodType>>, { bodies }: Components): JsonObject {
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

function responsesPart(route: Documented, components: Components): JsonObject {
  const { isPublic } = route;
  const { replies } = components;
  const { reply, contentType = 'application/json', alsoWith = [] } = route;
  const { alsoAs = {} } = route;
  const schemas = Object.entries({ [contentType]: reply, ...alsoAs });
  const content = Object.fromEntries(
    schemas.map(([type, schema]) => [type, { schema: replies.refTo(schema) }]),
  );
  const own: readonly HeaderName[] = isPublic ? ['ETag', 'Cache-Control'] : (route.headers ?? []);
  const headers = headersPart(route, own);
  const responses: Record<string, JsonObject> = { 200: { description: route.summary, headers, content } };
  if (route.mayCreate) responses[201] = { description: `${route.summary}: it is new`, headers, content };
  for (const status of alsoWith)
    responses[status] = { description: 'the body names the reason', headers, content };
  if (isPublic) responses[304] = { description: 'unchanged since that ETag', headers };
  const codes = [...codesOf(route)];
  for (const status of new Set(codes.map((code) => ALL_ERRORS[code].status))) {
    const ofStatus = codes.filter((code) => ALL_ERRORS[code].status === status);
    responses[status] ??= errorPart(route, ofStatus, components);
  }
  return responses;
}

/** Returns every error code that a request to the route can get, from earlier checks or from the handler. */
function codesOf({
  earlierCodes,
  request,
  readsBody,
  bucket,
  codes,
  countsOrders,
}: Documented): Set<AnyCode> {
  return new Set<AnyCode>([
    'EXPRESS_ERR_INVALID_URL',
    ...earlierCodes,
    ...(readsBody ? BODY_CODES : []),
    ...(request === undefined ? [] : (['VALIDATION_ERROR'] as const)),
    ...(codes ?? []),
    ...(bucket === undefined && !countsOrders ? [] : (['RATE_LIMITED'] as const)),
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

const mayAskToWait = (code: AnyCode): boolean => code === 'RATE_LIMITED' || code === 'SERVICE_UNAVAILABLE';

function errorPart(route: Documented, codes: readonly AnyCode[], components: Components): JsonObject {
  const { replies, errors } = components;
  const shape = codes.includes('INTERNAL_ERROR') ? errors.unexpected : errors.usual;
  const narrowed = { type: 'object', properties: { code: { type: 'string', enum: codes } } };
  return {
    description: codes.map((code) => `- \`${code}\`: ${ALL_ERRORS[code].meaning}`).join('\n'),
    headers: headersPart(route, codes.some(mayAskToWait) ? ['Retry-After'] : []),
    content: { 'application/json': { schema: { allOf: [replies.refTo(shape), narrowed] } } },
  };
}

function headersPart(
  { bucket, countsOrders, isDeprecated = false }: Documented,
  own: readonly HeaderName[],
): JsonObject {
  const isLimited = (bucket !== undefined && !isDeprecated) || countsOrders === true;
  const limits = isLimited ? LIMIT_HEADERS : [];
  const deprecation: readonly HeaderName[] = isDeprecated ? ['Deprecation', 'Link'] : [];
  return headerRefs(['X-Request-Id', ...limits, ...deprecation, ...own]);
}
