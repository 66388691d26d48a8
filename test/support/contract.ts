/**
 * Checks the replies of the tests against the API documents: anything undocumented fails the test that received it.
 * Importing this file checks every reply that supertest reads.
 */

import { Server } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { Test } from 'supertest';
import { asyncApiDocument } from '../../src/http/openapi/asyncapi.ts';
import { documentation } from '../../src/http/openapi/index.ts';
import { openApiDocument } from '../../src/http/openapi/openapi.ts';
import { operatorDocument } from '../../src/http/openapi/operators.ts';
import { OPERATOR_DOCUMENT_PATH } from '../../src/http/operator/app.ts';
import type { HttpSettings } from '../../src/http/services.ts';

export interface Reply {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Undefined if no body was read. */
  readonly text: string | undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: a document is walked by names that the document itself gives
export type Node = any;

/** Headers of HTTP itself, of browsers' rules, or equal on every reply. */
const PLAIN_HEADERS = new Set([
  'connection',
  'keep-alive',
  'date',
  'transfer-encoding',
  'content-type',
  'content-length',
  'vary',
  'content-encoding',
  'cache-control',
  'content-security-policy',
  'cross-origin-resource-policy',
  'referrer-policy',
  'strict-transport-security',
  'x-content-type-options',
  'x-frame-options',
  'access-control-allow-origin',
  'access-control-expose-headers',
]);

export const DOCUMENT_SETTINGS: HttpSettings = {
  webHosts: ['redbook.example'],
  trustProxyHops: 0,
  blockedCountries: [],
  webUrl: 'https://redbook.example',
  serviceName: 'Redbook',
  legacyPrefix: '/v1/coingecko',
  maxFillsPerOrder: 1_000,
  maxFillsPerReply: 5_000,
  demoFaucet: true,
};

/** Returns validators for the schemas of a document, by component name or by a schema inside the document. */
export function schemasOf(document: Node): (schema: Node) => ValidateFunction {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true, allErrors: true });
  addFormats.default(ajv);
  // References inside a document start at its root, which is not a schema, so the components become separate schemas.
  const standing = (node: Node): Node => {
    if (Array.isArray(node)) return node.map(standing);
    if (typeof node !== 'object' || node === null) return node;
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => [
        key,
        key === '$ref' ? (value as string).replace('#/components/schemas/', '/schemas/') : standing(value),
      ]),
    );
  };
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    ajv.addSchema(standing(schema), `/schemas/${name}`);
  }
  const compiled = new Map<Node, ValidateFunction>();
  return (schema) => {
    let validate = compiled.get(schema);
    if (validate === undefined) {
      validate = ajv.compile(standing(schema));
      compiled.set(schema, validate);
    }
    return validate;
  };
}

const complaints = (validate: ValidateFunction): string[] =>
  validate.errors!.map(
    ({ instancePath, message, params }) =>
      `${instancePath || 'the body'} ${message} ${JSON.stringify(params)}`,
  );

/** @returns a function that returns the undocumented parts of a reply */
export function contractOf(document: Node): (reply: Reply) => string[] {
  const schemaOf = schemasOf(document);
  const paths = Object.keys(document.paths)
    // Literal paths take precedence over paths with parameters.
    .sort((one, other) => one.split('{').length - other.split('{').length)
    .map((path) => ({ path, pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`) }));

  const operationOf = ({ method, path }: Reply): Node => {
    const [plain = ''] = path.split('?');
    const name = method === 'HEAD' ? 'get' : method.toLowerCase();
    return paths
      .filter(({ pattern }) => pattern.test(plain))
      .map(({ path }) => document.paths[path][name])
      .find((operation) => operation !== undefined);
  };

  const bodyProblems = ({ text = '', headers }: Reply, content: Node): string[] => {
    const [type = ''] = String(headers['content-type'] ?? '').split(';');
    if (content === undefined) return text === '' ? [] : ['a body is not documented'];
    if (content[type] === undefined) return [`the type ${type || '(none)'} is not documented`];
    const validate = schemaOf(content[type].schema);
    try {
      return validate(type === 'application/json' ? JSON.parse(text) : text) ? [] : complaints(validate);
    } catch (error) {
      return [`the body is no JSON: ${error}`];
    }
  };

  const headerProblems = ({ headers }: Reply, documented: Node): string[] => {
    const known = new Map(Object.keys(documented).map((name) => [name.toLowerCase(), name]));
    return Object.entries(headers).flatMap(([name, value]) => {
      const header = known.get(name);
      if (header === undefined)
        return PLAIN_HEADERS.has(name) ? [] : [`the header ${name} is not documented`];
      const { schema } = document.components.headers[header];
      const validate = schemaOf(schema);
      return validate(schema.type === 'integer' ? Number(value) : value)
        ? []
        : [`${name}: ${complaints(validate)}`];
    });
  };

  /** True for replies that are sent before a route is found. A reply to HEAD has no body that names its code. */
  const isOfNoRoute = ({ method, status, text = '' }: Reply): boolean => {
    const { schemas } = document.components;
    if (status === 400 && method === 'HEAD') return true;
    if (status === 404) return text === '' || schemaOf(schemas.UnexpectedError)(JSON.parse(text)) === true;
    if (status !== 400 || !text.includes('EXPRESS_ERR_INVALID_URL')) return false;
    return schemaOf(schemas.Error)(JSON.parse(text)) === true;
  };

  return (reply) => {
    if (reply.method === 'OPTIONS' || isOfNoRoute(reply)) return [];
    const operation = operationOf(reply);
    if (operation === undefined) return ['the route is not documented'];
    const response = operation.responses[reply.status];
    if (response === undefined) return [`the status ${reply.status} is not documented`];
    const body = reply.method === 'HEAD' ? [] : bodyProblems(reply, response.content);
    return [...headerProblems(reply, response.headers), ...body];
  };
}

type Contract = ReturnType<typeof contractOf>;

const contracts = new Map<string, Contract>();

/** The legacy prefix is the only setting that changes the documented routes. */
function contractUnder(legacyPrefix: string): Contract {
  let contract = contracts.get(legacyPrefix);
  if (contract === undefined) {
    contract = contractOf(openApiDocument({ ...DOCUMENT_SETTINGS, legacyPrefix }));
    contracts.set(legacyPrefix, contract);
  }
  return contract;
}

const operators = contractOf(operatorDocument(DOCUMENT_SETTINGS));

/** The documents, their reader page and the trading page are not part of the API. */
const ABOUT = new Set(documentation(DOCUMENT_SETTINGS).map(([path]) => path));
const PAGE = /^\/((trade|web)\/[^/?]+)?(\?.*)?$/;

/** @throws Error naming the undocumented parts of the reply */
export function checkReply(reply: Reply, legacyPrefix = DOCUMENT_SETTINGS.legacyPrefix): void {
  if (ABOUT.has(reply.path) || PAGE.test(reply.path)) return;
  if (reply.path === OPERATOR_DOCUMENT_PATH) return;
  const contract = reply.path.startsWith('/operator/') ? operators : contractUnder(legacyPrefix);
  const problems = contract(reply);
  if (problems.length === 0) return;
  const { method, path, status, text } = reply;
  // Requests to unknown routes are rate limited as well.
  if (status === 429 && problems.join() === 'the route is not documented') return;
  throw new Error(`${method} ${path} answered ${status}: ${problems.join('; ')}\n${text?.slice(0, 500)}`);
}

const frames = asyncApiDocument(DOCUMENT_SETTINGS) as Node;
const frameSchema = schemasOf(frames);

/** @throws Error naming the undocumented parts of a stream's frame */
export function checkFrame(text: string): void {
  const frame = JSON.parse(text);
  const name = `${frame.type?.[0]?.toUpperCase()}${frame.type?.slice(1)}Frame`;
  const schema = frames.components.schemas[name];
  if (schema === undefined) throw new Error(`the frame is not documented: ${text.slice(0, 500)}`);
  const validate = frameSchema(schema);
  if (!validate(frame)) throw new Error(`${complaints(validate).join('; ')}\n${text.slice(0, 500)}`);
}

const legacyPrefixes = new WeakMap<object, string>();

/** Sets the document that applies to an application; the default is that of the tests' settings. */
export function documentedBy<App extends object>(app: App, { legacyPrefix }: HttpSettings): App {
  legacyPrefixes.set(app, legacyPrefix);
  return app;
}

/** Checks each later reply that supertest reads, at the point where the test awaits it. */
function checkEveryReply(): void {
  const { assert } = Test.prototype as Node;
  (Test.prototype as Node).assert = function (error: Error | null, response: Node, done: Node) {
    assert.call(this, error, response, (failed: Error | null, ...rest: unknown[]) =>
      done.call(this, failed ?? problemWith(response, legacyPrefixes.get(applicationOf(this.app))), ...rest),
    );
  };
}

/** supertest wraps an application in a server. */
const applicationOf = (tested: Node): Node =>
  tested instanceof Server ? tested.listeners('request')[0] : tested;

function problemWith(response: Node, legacyPrefix: string | undefined): Error | null {
  const { method, path } = response.req;
  const { status, headers, text, body } = response;
  try {
    checkReply({ method, path, status, headers, text: text ?? textOf(body) }, legacyPrefix);
    return null;
  } catch (error) {
    return error as Error;
  }
}

/** Text of a body that a test reads as bytes. */
function textOf(body: unknown): string | undefined {
  if (!Buffer.isBuffer(body)) return undefined;
  return (body[0] === 0x1f ? gunzipSync(body) : body).toString();
}

checkEveryReply();
