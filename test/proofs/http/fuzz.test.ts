/** Proves that random requests are answered as documented and cause no unexpected error. */

import { expect } from 'chai';
import request, { type Response } from 'supertest';
import { type Fixture, openFixture, type Trader } from '../../http/fixture.ts';
import { type Random, random, runSeed } from '../../support/seed.ts';
import { POISONED_TEXTS } from '../../support/seeded-events.ts';

const ROUNDS = 600;

const LITERALS = [
  '0',
  '-0',
  '1',
  '1e2',
  '1e-9',
  '1e400',
  '1e99999',
  '123456789012345678901234567890',
  '2000.05',
  '0.001',
  '"1"',
  '""',
  '"NaN"',
  'null',
  'true',
  'false',
  '[]',
  '{}',
  '[[[1]]]',
  '{"__proto__":1}',
  '"__proto__"',
  '"buy"',
  '"sell"',
  '"limit"',
  '"market"',
  '"GTC"',
  '"IOC"',
  '"FOK"',
  '"ETH/USDC"',
  '"NO/NE"',
  '"\\u0000"',
  '"\\ud800"',
  '"\\uffff"',
  '"\u202e"',
  `"${'9'.repeat(400)}"`,
  `"${'x'.repeat(4_000)}"`,
  ...POISONED_TEXTS.map((text) => JSON.stringify(text)),
];
const FIELDS = [
  'market',
  'side',
  'type',
  'price',
  'size',
  'quoteAmount',
  'clientOrderId',
  'timeInForce',
  'postOnly',
  'reduceOnly',
  'leverage',
  'account',
  'expiresAfter',
  '__proto__',
  'constructor',
  'toString',
  '',
  'length',
];
const BYTES = [
  '"',
  '{',
  '}',
  '[',
  ',',
  ':',
  '\\',
  '\u0000',
  '\ud800',
  '\u{1f40b}',
  '-',
  'e',
  '.',
  '\n',
  '\ufeff',
];

/** A mostly valid order with some fields replaced and sometimes a wrong byte. */
function bodyOf(dice: Random): string {
  const members = new Map([
    ['market', '"ETH/USDC"'],
    ['side', dice.pick(['"buy"', '"sell"'])],
    ['type', dice.pick(['"limit"', '"limit"', '"market"'])],
    ['price', String(1990 + dice.below(20))],
    ['size', String((1 + dice.below(50)) / 100)],
  ]);
  while (dice.chance(0.4)) members.set(dice.pick(FIELDS), dice.pick(LITERALS));
  if (dice.chance(0.1)) members.delete(dice.pick(FIELDS));
  const text = `{${[...members].map(([name, literal]) => `${JSON.stringify(name)}:${literal}`).join(',')}}`;
  if (dice.chance(0.9)) return text;
  const at = dice.below(text.length);
  return text.slice(0, at) + dice.pick(BYTES) + text.slice(at + dice.below(4));
}

function pathOf(dice: Random): string {
  const piece = (): string =>
    encodeURIComponent(dice.pick([...POISONED_TEXTS, 'ETH/USDC', '', '0', '-1', '1e9']));
  const path = dice.pick([
    '/v1/orders',
    '/v1/trades',
    '/v1/orders/',
    '/v1/portfolio/',
    '/api/auth/nonce',
    '/v1/',
  ]);
  const query = dice.pick([
    '',
    '?market=',
    '?limit=',
    '?address=',
    '?market=x&market=',
    '?limit[]=',
    '?__proto__=',
  ]);
  const noise = dice.chance(0.1)
    ? dice.pick(['%', '%f', '%ff%00', '%u0000', ';', '#', '?', '//', '/..'])
    : '';
  return `${path}${path.endsWith('/') ? piece() : ''}${query}${query === '' ? '' : piece()}${noise}`;
}

describe('fuzzed requests', () => {
  let fixture: Fixture;
  let traders: Trader[];
  let dice: Random;

  before(async () => {
    fixture = await openFixture();
    const funds = { USDC: '1000000', ETH: '1000' };
    traders = await Promise.all([fixture.trader(funds), fixture.trader(funds)]);
    dice = random(runSeed());
  });

  after(() => fixture.close());

  const expectDocumented = ({ status, body }: Response, sent: string): void => {
    expect(status, sent).to.be.oneOf([200, 400, 403, 404, 429]);
    if (status === 200) return;
    const fields = 'statusCode' in body ? ['statusCode', 'code', 'error', 'message'] : ['error', 'code'];
    expect(Object.keys(body), sent).to.deep.equal(fields);
  };

  it('place orders or reject them as documented', async () => {
    const outcomes = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const text = bodyOf(dice);
      const reply = await dice.pick(traders).post('/v1/orders', text);
      expectDocumented(reply, text);
      const outcome = reply.body.code ?? reply.body.status;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    for (const outcome of [
      'filled',
      'resting',
      'VALIDATION_ERROR',
      'EXPRESS_ERR_INVALID_JSON',
      'INVALID_ORDER',
    ]) {
      expect(outcomes.get(outcome), outcome).to.be.above(0);
    }
  });

  it('with random paths and queries are answered as documented', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const path = pathOf(dice);
      const method = dice.pick(['get', 'delete', 'post'] as const);
      const reply = await request(fixture.app)
        [method](path)
        .set('Authorization', `Bearer ${traders[0]!.token}`);
      expectDocumented(reply, `${method} ${path}`);
    }
  });

  it('cause no unexpected error, and nothing that settlement cannot settle', async () => {
    expect(fixture.log.filter((line) => line.includes('unexpected error'))).to.deep.equal([]);
    await fixture.settle();
    expect((await fixture.ledger.settlement.cursor()).sequence).to.equal(
      (await fixture.engine.reads.state()).sequence,
    );
    for (const { violations, name } of (await fixture.ledger.checks.run()).checks) {
      expect(violations, name).to.deep.equal([]);
    }
  });
});
