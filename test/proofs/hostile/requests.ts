/** Requests that are whole HTTP messages and hostile in what they say: paths, queries, headers, bodies. */

import type { Random } from '../../support/seed.ts';
import { drawBody } from './bodies.ts';
import { HEADER_VALUES, NUMBERS, TEXTS } from './literals.ts';
import type { Operation } from './operations.ts';
import { plantedSignature, plantedToken } from './secrets.ts';
import { drawValue } from './values.ts';
import type { Pieces } from './wire.ts';
import type { SignedIn, World } from './world.ts';

export interface Drawn {
  /** Kind of attack, for the table. */
  readonly kind: string;
  /** Name of the operation that the request aims at. */
  readonly operation: string;
  readonly method: string;
  /** Path and query as sent. */
  readonly path: string;
  readonly pieces: Pieces;
  /** Wallet whose session the request may carry. */
  readonly wallet: SignedIn;
}

/** Paths outside the API document. */
const OUTSIDE: readonly string[] = [
  '/',
  '/docs',
  '/v1/openapi.json',
  '/v1/asyncapi.json',
  '/trade/ETH_USDC',
  '/trade/NO_NE',
  '/web/x',
  '/v1',
  '/v1/',
  '/v1/orders/',
  '//v1/orders',
  '/v1//orders',
  '/V1/Orders',
  '/v1/orders/../orders',
  '/v1/demo/faucet',
  '/api',
  '/favicon.ico',
  '/.env',
  '/.git/config',
  '/metrics/',
  '/ws',
  '/ws/market?symbol=ETH%2FUSDC',
  '*',
  '/%2e%2e/%2e%2e/etc/passwd',
  '/%',
  '/%ff',
  '/%00',
  '/%u0000',
  '/v1/markets;a=b',
  '/v1/markets#x',
  '/v1/markets%0d%0aX:%20y',
  'http://127.0.0.1/v1/markets',
  'http://user:password@evil.example/v1/markets?a=b',
  `/${'a'.repeat(8_000)}`,
  `/${'a/'.repeat(3_000)}`,
  `/v1/markets?${'a=b&'.repeat(2_500)}`,
  `/v1/markets?${'['.repeat(5_000)}`,
];

const METHODS: readonly string[] = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'MKCOL',
  'LOCK',
  'SEARCH',
  'M-SEARCH',
  'PURGE',
  'REPORT',
  'QUERY',
];

/** Headers that the service or Node reads. */
const READ_HEADERS: readonly string[] = [
  'Accept',
  'Accept-Encoding',
  'Accept-Language',
  'Cookie',
  'Forwarded',
  'If-Modified-Since',
  'If-None-Match',
  'Origin',
  'Range',
  'Referer',
  'TE',
  'User-Agent',
  'Via',
  'X-Country',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-HTTP-Method-Override',
  'X-Original-URL',
  'X-Request-Id',
  'Keep-Alive',
  'Max-Forwards',
  'Access-Control-Request-Method',
  'Access-Control-Request-Headers',
  '__proto__',
  'constructor',
];

/** Encodes a text for a path or a query. A lone surrogate is sent as the three bytes that UTF-8 does not allow. */
function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return '%ED%A0%80';
  }
}

function hostileText(dice: Random): string {
  const roll = dice.below(100);
  if (roll < 55) return encoded(dice.pick(TEXTS));
  if (roll < 85) return encoded(dice.pick(NUMBERS));
  if (roll < 93) return dice.pick(['%', '%f', '%zz', '%00', '%ff', '%u0000', '+', '%2f', '%252f', '~', ':']);
  return encoded('x'.repeat(dice.pick([200, 2_000, 6_000])));
}

interface Drawing {
  readonly operation: Operation;
  readonly world: World;
  readonly wallet: SignedIn;
  readonly dice: Random;
}

/** True if this part of the request is to be hostile. */
type IsHostile = (share: number) => boolean;

function drawPath(drawing: Drawing, isHostile: IsHostile): string {
  const { operation, dice } = drawing;
  const written = ({ name, schema }: Operation['parameters'][number]): string =>
    isHostile(0.5) ? hostileText(dice) : encoded(String(drawValue(name, schema, drawing)));
  const path = operation.parameters
    .filter(({ in: place }) => place === 'path')
    .reduce((text, one) => text.replace(`{${one.name}}`, () => written(one)), operation.path);
  const query = operation.parameters
    .filter(({ in: place, isRequired }) => place === 'query' && (isRequired || dice.chance(0.4)))
    .map((one) => `${one.name}=${written(one)}`);
  if (isHostile(0.3)) {
    const names = [...operation.parameters.map(({ name }) => name), '__proto__', 'constructor', 'token', ''];
    for (let left = 1 + dice.below(3); left > 0; left -= 1) {
      const name = dice.pick(names);
      const suffix = dice.pick(['', '', '[]', '[0]', '[a]', '[__proto__]', '%5B%5D', '.a', '%00']);
      query.push(dice.pick([`${name}${suffix}=${hostileText(dice)}`, name, `${name}=`, '=', '&&', '?']));
    }
  }
  if (isHostile(0.03)) query.push(secretQuery(dice));
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

/** Secrets in a URL, under the names that clients would choose. */
const secretQuery = (dice: Random): string =>
  dice.pick([
    `token=${plantedToken(dice.below(100))}`,
    `access_token=${plantedToken(dice.below(100))}`,
    `x=${plantedToken(dice.below(100))}`,
    `signature=${plantedSignature(dice.below(100))}`,
    `nonce=${plantedSignature(dice.below(100)).slice(2, 34)}`,
  ]);

function authorization({ operation, wallet, dice }: Drawing, isHostile: IsHostile): string[] {
  const session = `Authorization: Bearer ${wallet.token}`;
  if (!isHostile(0.2)) return operation.needsSession || dice.chance(0.2) ? [session] : [];
  const forged = plantedToken(dice.below(100));
  return dice
    .pick<readonly string[]>([
      [],
      ['Authorization:'],
      ['Authorization: Bearer'],
      [`Authorization: Bearer ${forged}`],
      [`Authorization: bearer   ${wallet.token}`],
      [`Authorization: ${wallet.token}`],
      [`Authorization: Bearer ${wallet.token.slice(0, -3)}`],
      [`Authorization: Bearer ${wallet.token}, Bearer ${forged}`],
      [`Authorization: Bearer ${forged}`, session],
      [`Authorization: Basic ${Buffer.from(`user:${forged}`).toString('base64')}`],
      [`Authorization: Bearer ${'a.'.repeat(1_000)}`],
      [`Cookie: token=${forged}; session=${wallet.token}`],
      [`X-Api-Key: ${forged}`, session],
    ])
    .slice();
}

/** The address that the proxy in front appends: most requests come from addresses of their own. */
const forwardedFor = (dice: Random): string =>
  dice.chance(0.05)
    ? '203.0.113.1'
    : dice.chance(0.2)
      ? `2001:db8:${dice.below(65_536).toString(16)}:${dice.below(65_536).toString(16)}::1`
      : `10.${dice.below(256)}.${dice.below(256)}.${dice.below(256)}`;

function hostileHeaders(dice: Random): string[] {
  const roll = dice.below(100);
  if (roll < 4) return [`X-Huge: ${'x'.repeat(dice.pick([8_000, 15_000, 17_000, 60_000]))}`];
  if (roll < 6) return Array.from({ length: dice.pick([100, 990, 1_010]) }, (_none, index) => `X${index}: y`);
  if (roll < 9) return ['Expect: 100-continue'];
  if (roll < 11) return [`Expect: ${dice.pick(HEADER_VALUES)}`];
  if (roll < 14) return ['Connection: Upgrade', `Upgrade: ${dice.pick(['h2c', 'websocket', 'TLS/1.0', ''])}`];
  return Array.from(
    { length: 1 + dice.below(4) },
    () => `${dice.pick(READ_HEADERS)}: ${dice.pick(HEADER_VALUES)}`,
  );
}

/** Writes a body with its length, or in chunks. */
function framed(body: Buffer, dice: Random): { lines: string[]; pieces: Buffer[] } {
  if (dice.chance(0.8)) return { lines: [`Content-Length: ${body.length}`], pieces: [body] };
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const chunk = body.subarray(at, at + 1 + dice.below(Math.max(1, body.length)));
    const extension = dice.chance(0.1) ? ';a=b' : '';
    pieces.push(Buffer.from(`${chunk.length.toString(16)}${extension}\r\n`), chunk, Buffer.from('\r\n'));
    at += chunk.length;
  }
  const trailer = dice.chance(0.1) ? 'X-Trailer: y\r\n' : '';
  return {
    lines: ['Transfer-Encoding: chunked'],
    pieces: [...pieces, Buffer.from(`0\r\n${trailer}\r\n`)],
  };
}

const SILENT: IsHostile = () => false;

/** Valid requests that each operation gets at first, one after another, from one wallet that learns its own ids. */
export const FIRST_TURNS = 6;

/**
 * Draws a request to an operation, or to a path outside the API document.
 * @param number of the request in the run
 */
export function drawRequest(
  operations: readonly Operation[],
  world: World,
  dice: Random,
  number: number,
): Drawn {
  const turn = Math.floor(number / operations.length);
  const isFirst = turn < FIRST_TURNS;
  // Each operation has the same share, whenever it came.
  const operation = operations[number % operations.length]!;
  const wallet = isFirst ? world.wallets[0]! : dice.pick(world.wallets);
  const drawing: Drawing = { operation, world, wallet, dice };
  const isValid = isFirst || dice.chance(0.25);
  const isHostile: IsHostile = isValid ? SILENT : (share) => dice.chance(share);
  const isOutside = isHostile(0.08);
  const path = isOutside ? dice.pick(OUTSIDE) : drawPath(drawing, isHostile);
  const method = isHostile(0.08) ? dice.pick(METHODS) : operation.method;
  const hasBody = operation.body !== undefined || isHostile(0.05);
  const body = hasBody
    ? drawBody(operation, world, wallet, dice, !isValid && dice.chance(0.85), turn)
    : undefined;
  const { lines, pieces } = body === undefined ? { lines: [], pieces: [] } : framed(body.bytes, dice);
  const type = body?.contentType === undefined ? [] : [`Content-Type: ${body.contentType}`];
  const encoding = body?.contentEncoding === undefined ? [] : [`Content-Encoding: ${body.contentEncoding}`];
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: redbook.example',
    ...authorization(drawing, isHostile),
    ...(isHostile(0.3) ? hostileHeaders(dice) : []),
    ...type,
    ...encoding,
    ...lines,
    `X-Forwarded-For: ${forwardedFor(dice)}`,
  ];
  return {
    kind: isValid ? 'valid' : isOutside ? 'outside' : hasBody ? 'body' : 'query',
    operation: operation.name,
    wallet,
    method,
    path,
    pieces: [Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), ...pieces],
  };
}
