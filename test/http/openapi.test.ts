/** Proves that the OpenAPI document is valid and complete, and accepts the same orders as the service. */

import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect } from 'chai';
import request from 'supertest';
import { ERRORS, type ErrorCode } from '../../src/domain/errors.ts';
import { readJson } from '../../src/http/json.ts';
import { asyncApiDocument } from '../../src/http/openapi/asyncapi.ts';
import { openApiDocument } from '../../src/http/openapi/openapi.ts';
import { LOCAL_ROUTES, legacyRoutes, PROBES, ROUTES } from '../../src/http/routes.ts';
import {
  checkFrame,
  contractOf,
  DOCUMENT_SETTINGS,
  documentedBy,
  type Node,
  type Reply,
  schemasOf,
} from '../support/contract.ts';
import { type Fixture, openFixture } from './fixture.ts';

/** Documented, but not returned yet. */
const RESERVED: readonly ErrorCode[] = ['RISK_LIMIT'];

const openApi = openApiDocument(DOCUMENT_SETTINGS) as Node;
const asyncApi = asyncApiDocument(DOCUMENT_SETTINGS) as Node;
const DOCUMENTS = { 'openapi.json': openApi, 'asyncapi.json': asyncApi };

const operations = Object.entries<Node>(openApi.paths).flatMap(([path, item]) =>
  Object.entries<Node>(item).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    operation,
  })),
);

/** Yields every object inside a document, with its path. */
function* nodesOf(
  node: Node,
  way: readonly string[] = [],
): Generator<{ node: Node; way: readonly string[] }> {
  if (typeof node !== 'object' || node === null) return;
  yield { node, way };
  for (const [key, value] of Object.entries(node)) yield* nodesOf(value, [...way, key]);
}

const nodes = (document: Node) => [...nodesOf(document)].filter(({ way }) => !way.includes('examples'));

/** True if the path is a place of a schema. Everything below it may be a schema too. */
const isSchema = (way: readonly string[]): boolean =>
  ['schema', 'items', 'additionalProperties', 'payload', 'query'].includes(way.at(-1)!) ||
  ['properties', 'schemas', 'oneOf', 'anyOf', 'allOf', 'prefixItems'].includes(way.at(-2)!);

/** Generators treat `additionalProperties: false` as a keyword, not as a schema. */
const isBooleanSchema = (way: readonly string[], key: string): boolean =>
  ['schema', 'items', 'not', 'payload', 'contains', 'propertyNames'].includes(key) ||
  ['properties', 'schemas', 'patternProperties', 'oneOf', 'anyOf', 'allOf', 'prefixItems'].includes(
    way.at(-1)!,
  );

/** Suffixes that generators append to the name of an operation. */
const ENDINGS = [
  '',
  'Data',
  'Response',
  'Responses',
  'Error',
  'Errors',
  'Body',
  'Params',
  'Result',
  'Request',
];

/** Names of files and types that generators derive from a document, each with its origin. */
function generatedNames(document: Node): [name: string, origin: string][] {
  const { components, channels = {}, operations: streamOperations = {} } = document;
  return [
    ...Object.keys(components.schemas).map((name): [string, string] => [name, `schema ${name}`]),
    ...Object.keys(components.messages ?? {}).map((name): [string, string] => [name, `message ${name}`]),
    ...Object.keys(channels).map((name): [string, string] => [name, `channel ${name}`]),
    ...Object.keys(streamOperations).map((name): [string, string] => [name, `operation ${name}`]),
    ...Object.values<Node>(document.paths ?? {})
      .flatMap((item) => Object.values<Node>(item))
      .flatMap(({ operationId }) =>
        ENDINGS.map((ending): [string, string] => [`${operationId}${ending}`, `operation ${operationId}`]),
      ),
  ];
}

function clashesAmong(names: readonly (readonly [string, string])[]): string[] {
  const origins = new Map<string, string>();
  return names.flatMap(([name, origin]) => {
    const key = name.toLowerCase();
    const other = origins.get(key);
    origins.set(key, origin);
    return other === undefined || other === origin ? [] : [`${other} and ${origin}: ${name}`];
  });
}

describe('the documents', () => {
  it('use the same names for the same schemas, so that clients of both fit in one folder', () => {
    const http = openApi.components.schemas;
    const streams = asyncApi.components.schemas;
    for (const name of Object.keys(streams)) {
      const alike = Object.keys(http).filter((other) => other.toLowerCase() === name.toLowerCase());
      for (const other of alike) {
        expect(other).to.equal(name);
        expect(http[other], name).to.deep.equal(streams[name]);
      }
    }
  });

  it('give clients of the streams an address and a protocol that work', () => {
    const serverOf = (webUrl: string): Node =>
      (asyncApiDocument({ ...DOCUMENT_SETTINGS, webUrl }) as Node).servers.service;
    expect(serverOf('http://localhost:18080')).to.include({ host: 'localhost:18080', protocol: 'ws' });
    expect(serverOf('https://exchange.example')).to.include({ host: 'exchange.example', protocol: 'wss' });
  });

  it('fill the forms of the viewer with a market', () => {
    for (const { name, operation } of operations)
      for (const { name: parameter, example } of operation.parameters)
        if (parameter === 'ticker_id') expect(example, name).to.equal('ETH_USDC');
  });

  for (const [name, document] of Object.entries(DOCUMENTS)) {
    describe(name, () => {
      it('passes a linter with its strictest rules', async () => {
        // Both streams are public, so their operations define no security.
        const rules = name === 'asyncapi.json' ? { 'security-defined': 'off' as const } : {};
        const config = await createConfig({ extends: ['recommended-strict'], rules });
        const source = JSON.stringify(document);
        const problems = await lintFromString({ source, absoluteRef: `/${name}`, config });
        const told = problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]);
        expect(told).to.deep.equal([]);
      });

      it('has no empty schema', () => {
        const silent = nodes(document).filter(
          ({ node, way }) => isSchema(way) && Object.keys(node).length === 0,
        );
        expect(silent.map(({ way }) => way.join('/'))).to.deep.equal([]);
      });

      it('ends every block of code on a line of its own', () => {
        const texts = nodes(document).flatMap(({ node }) =>
          node.description?.includes?.('```') ? [node.description] : [],
        );
        for (const text of texts as string[]) {
          const fences = text.split('\n').filter((line) => line.includes('```'));
          expect(fences.length % 2, text).to.equal(0);
          for (const fence of fences) expect(fence).to.match(/^```\w*$/);
        }
        expect(texts.length).to.equal(name === 'openapi.json' ? 1 : 0);
      });

      it('has every property of the replies', () => {
        const references = nodes(document).filter(({ node }) => node.$ref !== undefined);
        const isOfRequests = ([, kind, name]: readonly string[]): boolean => {
          const of = references.filter(({ node }) => node.$ref === `#/components/${kind}/${name}`);
          return of.length > 0 && of.every(({ way }) => way.includes('requestBody'));
        };
        const open = nodes(document).filter(
          ({ node, way }) =>
            node.type === 'object' &&
            node.properties !== undefined &&
            node.additionalProperties !== false &&
            // The service ignores unknown members of requests; a narrowed schema is next to the closed one.
            !way.some((step) => ['requestBody', 'allOf', 'query'].includes(step)) &&
            !isOfRequests(way),
        );
        expect(open.map(({ way }) => way.join('/'))).to.deep.equal([]);
      });

      it('has examples and defaults that match their schemas', () => {
        const schemaOf = schemasOf(document);
        const wrong = nodes(document).flatMap(({ node, way }) => {
          if (!isSchema(way)) return [];
          const given = [...(node.examples ?? []), ...(node.default === undefined ? [] : [node.default])];
          return given.filter((example) => !schemaOf(node)(example)).map(() => way.join('/'));
        });
        expect(wrong).to.deep.equal([]);
      });

      it('has no boolean in place of a schema, which generators of clients fail on', () => {
        const booleans = nodes(document).flatMap(({ node, way }) =>
          Object.entries<Node>(node)
            .filter(([key, value]) => typeof value === 'boolean' && isBooleanSchema(way, key))
            .map(([key]) => [...way, key].join('/')),
        );
        expect(booleans).to.deep.equal([]);
      });

      it('has no properties beside a union, where generators of clients pass over them', () => {
        const beside = nodes(document).filter(
          ({ node, way }) =>
            isSchema(way) && node.properties !== undefined && (node.oneOf ?? node.anyOf ?? node.allOf),
        );
        expect(beside.map(({ way }) => way.join('/'))).to.deep.equal([]);
      });

      it('gives every constant a type, which generators of clients need', () => {
        const untyped = nodes(document).filter(({ node }) => 'const' in node && node.type === undefined);
        expect(untyped.map(({ way }) => way.join('/'))).to.deep.equal([]);
      });

      it('has no two names that generators turn into one', () => {
        expect(clashesAmong(generatedNames(document))).to.deep.equal([]);
      });

      it('uses every named schema', () => {
        const used = new Set(nodes(document).map(({ node }) => node.$ref));
        const named = Object.keys(document.components.schemas);
        expect(named.filter((name) => !used.has(`#/components/schemas/${name}`))).to.deep.equal([]);
      });
    });
  }

  describe('openapi.json', () => {
    it('has every route, and no other', () => {
      const legacy = legacyRoutes(DOCUMENT_SETTINGS.legacyPrefix);
      const routes = [...ROUTES, ...LOCAL_ROUTES, ...legacy, ...PROBES];
      const names = routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
      expect(operations.map(({ name }) => name)).to.have.members(names);
    });

    it('leaves out the faucet when it is not served', () => {
      const without = openApiDocument({ ...DOCUMENT_SETTINGS, demoFaucet: false }) as Node;
      expect(Object.keys(openApi.paths)).to.have.members([...Object.keys(without.paths), '/v1/demo/faucet']);
      const { FaucetCredit, ...schemas } = openApi.components.schemas;
      expect(FaucetCredit).to.be.an('object');
      expect(without.components.schemas).to.deep.equal(schemas);
    });

    it('has every error code with its status and meaning', () => {
      const { ErrorCode } = openApi.components.schemas;
      expect(ErrorCode.enum).to.have.members(Object.keys(ERRORS));
      const answered = new Set<string>();
      for (const { operation } of operations) {
        for (const [status, { content }] of Object.entries<Node>(operation.responses)) {
          const codes: ErrorCode[] =
            content?.['application/json']?.schema.allOf?.[1].properties.code.enum ?? [];
          for (const code of codes) {
            expect(ERRORS[code].status, code).to.equal(Number(status));
            answered.add(code);
          }
        }
      }
      for (const [code, { status, meaning, producer }] of Object.entries(ERRORS)) {
        expect(ErrorCode.description).to.include(`| \`${code}\` | ${status} | ${meaning} |`);
        const isOfRoutes = producer !== 'the server, before any route';
        expect(answered.has(code), code).to.equal(isOfRoutes && !RESERVED.includes(code as ErrorCode));
      }
    });

    it('marks authenticated, rate-limited and deprecated routes', () => {
      for (const { method, path, caller, bucket, countsOrders = false } of ROUTES) {
        const isLimited = bucket !== undefined || countsOrders;
        const name = `${method} ${path.replace(/:(\w+)/g, '{$1}')}`;
        const { operation } = operations.find((one) => one.name === name)!;
        expect(operation.security, name).to.deep.equal(caller === 'wallet' ? [{ session: [] }] : []);
        expect('RateLimit-Reset' in operation.responses[200].headers, name).to.equal(isLimited);
        expect(429 in operation.responses, name).to.equal(isLimited);
        for (const status of isLimited ? [429, 503] : [503])
          expect(operation.responses[status].headers, name).to.include.keys('Retry-After');
        expect(operation, name).to.not.have.property('deprecated');
      }
      for (const { name, operation } of operations.filter((one) => one.name.includes('/v1/coingecko/'))) {
        expect(operation.deprecated, name).to.equal(true);
        expect(operation.responses[200].headers).to.include.keys('Deprecation', 'Link');
        expect(operation.responses[200].headers).to.not.have.any.keys('RateLimit-Reset');
      }
    });
  });

  const orderBody = openApi.paths['/v1/orders'].post.requestBody.content['application/json'];

  it('show an order of each shape and the lookup, of which each fits one schema only', () => {
    const shapes: Node[] = orderBody.schema.anyOf;
    const names = shapes.map(({ $ref }) => $ref.replace('#/components/schemas/', ''));
    expect(Object.keys(orderBody.examples)).to.have.members(names);
    for (const [name, { value }] of Object.entries<Node>(orderBody.examples)) {
      const shapesOfValue = shapes.filter((shape) => schemasOf(openApi)(shape)(value));
      expect(shapesOfValue, name).to.deep.equal([{ $ref: `#/components/schemas/${name}` }]);
    }
  });

  it('keep the shapes of an order apart for generators that ignore `not` and allow open objects', () => {
    const plain: Node = JSON.parse(JSON.stringify(openApi), (key, value) =>
      key === 'not' || key === 'additionalProperties' ? undefined : value,
    );
    const isTaken = schemasOf(plain)(orderBody.schema);
    const order = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 1, clientOrderId: 'an-id' };
    const [sized, forAnAmount] = [
      { ...order, size: 1 },
      { ...order, type: 'market', quoteAmount: 1 },
    ];
    for (const body of [sized, forAnAmount, { clientOrderId: 'an-id' }]) expect(isTaken(body)).to.equal(true);
    for (const body of [
      ...['hold', 'BUY', '', 1].flatMap((side) => [
        { ...sized, side },
        { ...forAnAmount, side },
      ]),
      { ...sized, quoteAmount: 1 },
      { ...forAnAmount, size: 1 },
      { ...forAnAmount, side: 'sell' },
      { ...forAnAmount, type: 'limit' },
      order,
    ])
      expect(isTaken(body), JSON.stringify(body)).to.equal(false);
  });

  it('accept and reject the same orders as the service', () => {
    const isDocumented = schemasOf(openApi)(orderBody.schema);
    const placing = ROUTES.find(({ method, path }) => method === 'POST' && path === '/v1/orders')!.request!;
    const order = { market: '"ETH/USDC"', side: '"buy"', type: '"limit"', price: '2000', size: '1' };
    const market = { ...order, type: '"market"', price: undefined };
    const amounts = [
      '1',
      '0.1',
      '1e3',
      '"1"',
      '"0.5"',
      '".5"',
      '"5."',
      '"1e-3"',
      '0',
      '-1',
      '"0"',
      '"0e5"',
      '"-1"',
    ];
    const wrong = [
      '""',
      '"x"',
      '"1,5"',
      '" 1"',
      '"0x10"',
      '"NaN"',
      '"Infinity"',
      'null',
      'true',
      '[]',
      '{}',
      '"1e9999"',
    ];
    const ids = [1, 128, 129].flatMap((length) => ['a', '\u{1f600}'].map((text) => text.repeat(length)));
    const bodies: Record<string, string | undefined>[] = [
      ...[...amounts, ...wrong].flatMap((price) => [
        { ...order, price },
        { ...market, size: undefined, quoteAmount: price },
      ]),
      ...wrong.map((size) => ({ ...order, size })),
      ...['1', '50', '51', '0', '-1', '1.5', '"7"', '"50"', '"51"', '"0"', '"x"', 'null'].map((leverage) => ({
        ...order,
        leverage,
      })),
      ...['1', '1795000000000', '0', '-1', '1.5', '"7"', '"0"', '"x"', 'null'].map((expiresAfter) => ({
        ...order,
        expiresAfter,
      })),
      ...[...ids, '', 'a\0b'].map((id) => ({ ...order, clientOrderId: JSON.stringify(id) })),
      ...['"GTC"', '"IOC"', '"FOK"', '"gtc"', 'null', '1'].map((timeInForce) => ({ ...order, timeInForce })),
      ...['true', 'false', '"true"', '0'].map((postOnly) => ({ ...order, postOnly, reduceOnly: postOnly })),
      ...[`"0x${'aB'.repeat(20)}"`, '"0x12"', '""', '1'].map((account) => ({ ...order, account })),
      ...Object.keys(order).map((key) => ({ ...order, [key]: undefined })),
      { ...market, quoteAmount: '1' },
      { ...order, quoteAmount: '1' },
      { ...order, size: undefined, quoteAmount: '1' },
      { ...market, size: undefined, quoteAmount: '1', side: '"sell"' },
      { ...order, further: '{"unknown": 1}' },
    ];
    for (const body of bodies) {
      const members = Object.entries(body).filter(([, value]) => value !== undefined);
      const text = `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
      const isTaken = placing.safeParse(readJson(text)).success;
      expect(isDocumented(JSON.parse(text)), text).to.equal(isTaken);
    }
  });

  describe('as they are served', () => {
    let fixture: Fixture;

    before(async () => {
      fixture = await openFixture();
    });

    after(() => fixture.close());

    it('equal those of this test', async () => {
      for (const [name, document] of Object.entries(DOCUMENTS)) {
        const { status, headers, text } = await request(fixture.app).get(`/v1/${name}`);
        expect([status, headers['content-type']]).to.deep.equal([200, 'application/json; charset=utf-8']);
        expect(headers['access-control-allow-origin']).to.equal('*');
        expect(text).to.equal(JSON.stringify(document));
        const again = await request(fixture.app).get(`/v1/${name}`).set('If-None-Match', headers.etag!);
        expect(again.status).to.equal(304);
      }
    });

    it('have a viewer that loads nothing from other hosts', async () => {
      const { status, headers, text } = await request(fixture.app).get('/docs');
      expect([status, headers['content-type']]).to.deep.equal([200, 'text/html; charset=utf-8']);
      const policy = headers['content-security-policy']!.split(';').map((rule) => rule.split(' '));
      expect(policy[0]).to.deep.equal(['default-src', "'none'"]);
      expect(policy.flatMap(([, ...sources]) => sources)).to.have.members([
        "'none'",
        "'self'",
        "'self'",
        "'self'",
        'data:',
        "'self'",
        "'none'",
        "'none'",
        "'none'",
      ]);
      expect(text).to.not.match(/(src|href)="(https?:|\/\/)/);
      const files = [...text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, file]) => file!);
      expect(files.length).to.equal(3);
      for (const file of files) {
        const reply = await request(fixture.app).get(`/${file}`).set('Accept-Encoding', 'gzip');
        expect(reply.status, file).to.equal(200);
        const isStyle = file.endsWith('.css');
        expect(reply.headers['content-type']).to.equal(
          `text/${isStyle ? 'css' : 'javascript'}; charset=utf-8`,
        );
        expect(reply.headers['content-encoding']).to.equal('gzip');
        const staysAsItIs = /\d+\.\d+\.\d+/.test(file);
        expect(reply.headers['cache-control']).to.include(staysAsItIs ? 'immutable' : 'must-revalidate');
        expect(reply.headers['content-security-policy']).to.equal(
          "default-src 'none';frame-ancestors 'none'",
        );
      }
    });

    it('have the name of the service and its old prefix from the settings', async () => {
      const { app } = await fixture.replica({ serviceName: 'A & <B>', legacyPrefix: '/old/data' });
      expect((await request(app).get('/docs')).text).to.include('<title>A &amp; &lt;B&gt; API</title>');
      const { body } = await request(app).get('/v1/openapi.json');
      expect(body.info.title).to.equal('A & <B> API');
      expect(body.paths).to.include.keys('/old/data/pairs').and.not.include.keys('/v1/coingecko/pairs');
    });
  });
});

describe('the check of replies', () => {
  const problemsOf = contractOf(openApi);
  const reply: Reply = {
    method: 'GET',
    path: '/v1/trades?limit=1',
    status: 200,
    text: '{"trades":[],"nextCursor":null}',
    headers: { 'content-type': 'application/json; charset=utf-8', 'x-request-id': '1' },
  };

  const ticker = {
    type: 'ticker',
    symbol: 'A/B',
    mark: 1,
    index: null,
    volume24h: 0,
    openInterest: 0,
    change24h: -1,
    time: 1,
    sequence: 1,
  };

  it('passes documented replies', () => {
    expect(problemsOf(reply)).to.deep.equal([]);
    checkFrame(JSON.stringify(ticker));
  });

  it('reports an undocumented status, header, type, property, amount or code', () => {
    const found = (changed: Partial<Reply>) => problemsOf({ ...reply, ...changed }).join();
    const refused = (code: string) => found({ status: 400, text: JSON.stringify({ error: 'x', code }) });
    expect(found({ status: 201 })).to.equal('the status 201 is not documented');
    expect(found({ headers: { ...reply.headers, 'x-more': '1' } })).to.equal(
      'the header x-more is not documented',
    );
    expect(found({ headers: { ...reply.headers, 'ratelimit-limit': '30' } })).to.include('ratelimit-limit');
    expect(found({ headers: { 'content-type': 'text/html' } })).to.equal(
      'the type text/html is not documented',
    );
    expect(found({ text: '{"trades":[],"nextCursor":null,"more":1}' }))
      .to.include('additional properties')
      .and.include('more');
    expect(found({ text: '{"trades":[{}]}' })).to.include("/trades/0 must have required property 'price'");
    expect(found({ text: '{' })).to.include('the body is no JSON');
    expect(refused('MARKET_NOT_FOUND')).to.equal('');
    expect(refused('SELL_DISABLED')).to.include('/code');
    expect(found({ path: '/v1/nothing' })).to.equal('the route is not documented');
    expect(() => checkFrame(JSON.stringify({ ...ticker, more: 1 }))).to.throw('additional properties');
    expect(() => checkFrame('{"type":"news"}')).to.throw('not documented');
  });

  it('fails the test that received the reply', async () => {
    const server = documentedBy(
      (_request: unknown, response: Node) => response.writeHead(418).end(),
      DOCUMENT_SETTINGS,
    );
    const failure = await request(server)
      .get('/livez')
      .then(
        () => undefined,
        (error: Error) => error.message,
      );
    expect(failure).to.include('GET /livez answered 418: the status 418 is not documented');
  });
});
