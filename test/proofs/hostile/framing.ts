/** Attacks on HTTP itself: ambiguous lengths, broken heads, cut-off bodies, pipelining, bytes that are no HTTP. */

import type { Random } from '../../support/seed.ts';
import type { Pieces } from './wire.ts';
import type { World } from './world.ts';

export interface Attack {
  readonly name: string;
  readonly pieces: Pieces;
  /** Number of replies that must come. Otherwise none or one: more mean that a body was taken for a request. */
  readonly replies?: number;
  /** True if the server must refuse and close. */
  readonly mustClose?: boolean;
  /** True if the client ends its side after the last byte. */
  readonly endsSending?: boolean;
}

const text = (...lines: string[]): Buffer => Buffer.from(lines.join('\r\n'), 'latin1');

/** Answered with 404 if it is taken for a request of its own. */
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: redbook.example\r\n\r\n';
const BODY = '{"address":"0x0000000000000000000000000000000000000001"}';
const POST = [
  'POST /v1/auth/challenge HTTP/1.1',
  'Host: redbook.example',
  'X-Forwarded-For: 198.51.100.7',
  'Content-Type: application/json',
];

const refused = (name: string, ...lines: string[]): Attack => ({
  name,
  pieces: [text(...lines)],
  mustClose: true,
});

/** A request whose body has two lengths: a proxy and the service could disagree about its end. */
function ambiguous(dice: Random): Attack {
  const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
  const lengths = dice.pick([
    ['Content-Length: 4', 'Transfer-Encoding: chunked'],
    ['Transfer-Encoding: chunked', `Content-Length: ${chunked.length}`],
    ['Content-Length: 4', `Content-Length: ${BODY.length}`],
    [`Content-Length: ${BODY.length}`, `Content-Length: ${BODY.length}`],
    [`Content-Length: ${BODY.length}, ${BODY.length}`],
    [`Content-Length: +${BODY.length}`],
    [`Content-Length: -${BODY.length}`],
    [`Content-Length: 0x${BODY.length.toString(16)}`],
    ['Content-Length: 1e1'],
    ['Content-Length: 4 4'],
    [`Content-Length: ${'9'.repeat(40)}`],
    ['Content-Length: 18446744073709551617'],
    ['Transfer-Encoding: identity'],
    ['Transfer-Encoding: xchunked'],
    ['Transfer-Encoding: chunked, identity'],
    ['Transfer-Encoding : chunked'],
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: x'],
    ['Transfer-Encoding: "chunked"'],
  ]);
  return refused(`ambiguous length: ${lengths.join(' | ')}`, ...POST, ...lengths, '', chunked + SMUGGLED);
}

/** A chunked body that does not keep to the form. */
function badChunks(dice: Random): Attack {
  const chunk = dice.pick([
    'zz\r\n',
    '-5\r\n12345\r\n',
    '0x5\r\n12345\r\n',
    'ffffffffffffffffff\r\n',
    '5\r\n1234567\r\n',
    '5\r\n1234',
    '\r\n',
    `5;${'x'.repeat(20_000)}\r\n12345\r\n`,
    ' 5\r\n12345\r\n',
  ]);
  const pieces = [text(...POST, 'Transfer-Encoding: chunked', '', ''), 1, Buffer.from(chunk)];
  return {
    name: `bad chunk: ${JSON.stringify(chunk.slice(0, 30))}`,
    pieces,
    mustClose: true,
    endsSending: true,
  };
}

/** A head that is refused. Node's parser takes some others: two blanks, and HTTP/2.0 for HTTP/1.1. */
function badHead(dice: Random): Attack {
  const host = 'Host: redbook.example';
  const heads: readonly (readonly [name: string, head: string])[] = [
    ['two hosts', `GET /livez HTTP/1.1\r\n${host}\r\nHost: other\r\n\r\n`],
    ['no host', 'GET /livez HTTP/1.1\r\n\r\n'],
    ['folded header', `GET /livez HTTP/1.1\r\n${host}\r\nX: a\r\n b\r\n\r\n`],
    ['no colon', `GET /livez HTTP/1.1\r\n${host}\r\nX\r\n\r\n`],
    ['blank before the colon', `GET /livez HTTP/1.1\r\n${host}\r\nX : a\r\n\r\n`],
    ['NUL in a value', `GET /livez HTTP/1.1\r\n${host}\r\nX: a\u0000b\r\n\r\n`],
    ['NUL in a name', `GET /livez HTTP/1.1\r\n${host}\r\nX\u0000: a\r\n\r\n`],
    ['bare CR', `GET /livez HTTP/1.1\r\n${host}\r\nX: a\rb\r\n\r\n`],
    ['NUL in the path', `GET /li\u0000vez HTTP/1.1\r\n${host}\r\n\r\n`],
    ['blank in the path', `GET /li vez HTTP/1.1\r\n${host}\r\n\r\n`],
    ['lower-case method', `get /livez HTTP/1.1\r\n${host}\r\n\r\n`],
    ['long method', `${'G'.repeat(5_000)} /livez HTTP/1.1\r\n${host}\r\n\r\n`],
    ['HTTP/0.9', 'GET /livez\r\n\r\n'],
    ['HTTP/1.10', `GET /livez HTTP/1.10\r\n${host}\r\n\r\n`],
    ['HTTP/9.9', `GET /livez HTTP/9.9\r\n${host}\r\n\r\n`],
    ['preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['CONNECT', `CONNECT evil.example:443 HTTP/1.1\r\n${host}\r\n\r\n${SMUGGLED}`],
    ['head without end', `GET /livez HTTP/1.1\r\n${host}\r\nX: ${'x'.repeat(60_000)}`],
    ['many headers', `GET /livez HTTP/1.1\r\n${host}\r\n${'A: b\r\n'.repeat(10_000)}\r\n`],
    ['TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003\r\n\r\n'],
    ['SSH', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
    ['Redis', '*1\r\n$4\r\nPING\r\n\r\n'],
    ['noise', `${Array.from({ length: 1 + dice.below(300) }, noise).join('')}\r\n\r\n`],
  ];
  const [name, head] = dice.pick(heads);
  return refused(`head: ${name}`, head);

  function noise(): string {
    return String.fromCharCode(dice.below(256));
  }
}

/** A request that ends early: the client ends its side, which leaves the connection half open. */
function cutOff(dice: Random, { wallets }: World): Attack {
  const whole = text(
    'POST /v1/orders HTTP/1.1',
    'Host: redbook.example',
    `Authorization: Bearer ${dice.pick(wallets).token}`,
    'Content-Type: application/json',
    ...dice.pick([
      ['Content-Length: 500'],
      ['Transfer-Encoding: chunked'],
      ['Content-Length: 90', 'Expect: 100-continue'],
    ]),
    '',
    dice.pick(['', '{"market":', '1f']),
  );
  const at = dice.chance(0.3) ? 1 + dice.below(whole.length - 1) : whole.length;
  return {
    name: 'cut off',
    pieces: [whole.subarray(0, at)],
    mustClose: true,
    endsSending: true,
  };
}

/** Requests sent before their replies, which must come in order, and sometimes a malformed one behind them. */
function pipelined(dice: Random, { wallets }: World): Attack {
  const paths = ['/v1/markets', '/v1/status', '/v1/orders?limit=1', '/nowhere', '/v1/portfolio/0x0', '/%'];
  const count = 2 + dice.below(dice.pick([4, 30]));
  const requests = Array.from({ length: count }, (_none, number) =>
    [
      `GET ${dice.pick(paths)} HTTP/1.1`,
      'Host: redbook.example',
      `X-Forwarded-For: 10.9.${dice.below(256)}.${dice.below(256)}`,
      `X-Request-Id: pipelined-${number}`,
      `Authorization: Bearer ${dice.pick(wallets).token}`,
      '',
      '',
    ].join('\r\n'),
  );
  const isBad = dice.chance(0.5);
  const behind = isBad ? ['NONSENSE\r\n\r\n'] : [];
  return {
    name: isBad ? 'pipelined before nonsense' : 'pipelined',
    pieces: [Buffer.from([...requests, ...behind].join(''))],
    replies: count + behind.length,
    mustClose: isBad,
  };
}

/** A valid request, one byte at a time. */
function inBytes(dice: Random): Attack {
  const bytes = text(
    ...POST.slice(0, 3),
    'Content-Type: application/json',
    `Content-Length: ${BODY.length}`,
    '',
    BODY,
  );
  const step = 1 + dice.below(20);
  const pieces: (Buffer | number)[] = [];
  for (let at = 0; at < bytes.length; at += step) pieces.push(bytes.subarray(at, at + step), 0);
  return { name: 'in small pieces', pieces, replies: 1 };
}

export const drawAttack = (world: World, dice: Random): Attack =>
  dice.pick([
    () => ambiguous(dice),
    () => ambiguous(dice),
    () => badChunks(dice),
    () => badHead(dice),
    () => badHead(dice),
    () => cutOff(dice, world),
    () => pipelined(dice, world),
    () => inBytes(dice),
  ])();
