/** Compares the fast parser of plain orders with the schema. */

import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { Refusal } from '../../src/domain/errors.ts';
import { formatDecimal } from '../../src/domain/units.ts';
import { describeIssues } from '../../src/http/endpoint.ts';
import { orderSchema, readOrder, readPlainOrder } from '../../src/http/endpoints/order-request.ts';
import { readJson } from '../../src/http/json.ts';
import { type Random, random, runSeed } from '../support/seed.ts';

const WALLET = `0x${'ab'.repeat(20)}`;

/** JSON texts for each member: valid ones first, then invalid or unusual ones. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  market: ['"ETH/USDC"', '"x"', '""', '1', 'null', '["ETH/USDC"]'],
  side: ['"buy"', '"sell"', '"BUY"', '"toString"', 'true', 'null'],
  type: ['"limit"', '"market"', '"stop"', '{}'],
  price: ['2000', '"2000.50"', '0.01', '"1e3"', '0', '-1', '"-0"', '""', '1e400', 'true', 'null', '{"a":1}'],
  size: ['1', '"0.001"', '1E-3', '0', '-1', '"one"', '[]', 'null'],
  quoteAmount: ['250.5', '"1"', '0', 'null'],
  clientOrderId: [
    '"an id"',
    '"é\u{1f600}"',
    `"${'x'.repeat(128)}"`,
    `"${'x'.repeat(129)}"`,
    '""',
    '"\\u0000"',
    '7',
    'null',
  ],
  timeInForce: ['"GTC"', '"IOC"', '"FOK"', '"DAY"', 'null'],
  postOnly: ['true', 'false', '"true"', '0', 'null'],
  reduceOnly: ['false', 'true', 'null'],
  leverage: ['5', '"50"', '1.5', '200', 'null'],
  account: [
    `"${WALLET}"`,
    `"${WALLET.toUpperCase().replace('X', 'x')}"`,
    `"0x${'cd'.repeat(20)}"`,
    '"0x"',
    'null',
  ],
  other: ['1', '"text"', 'null'],
};
const USUAL = new Set(['market', 'side', 'type', 'price', 'size', 'clientOrderId']);

function bodyOf(dice: Random): string {
  const isPlain = dice.chance(0.5);
  const members: string[] = [];
  for (const [name, values] of Object.entries(VALUES)) {
    if (dice.chance(USUAL.has(name) ? 0.95 : 0.15)) {
      const value =
        isPlain || dice.chance(0.7) ? values[dice.below(Math.min(2, values.length))] : dice.pick(values);
      members.push(`"${name}":${value}`);
    }
  }
  return `{${members.join(',')}}`;
}

/** Contents of an order or a refusal, with decimals as text because they have several representations. */
function said(outcome: object): unknown {
  if (outcome instanceof Refusal) return [outcome.code, outcome.message];
  const asText = (value: unknown): unknown =>
    typeof value === 'object' && value !== null ? formatDecimal(value as never) : value;
  return Object.fromEntries(Object.entries(outcome).map(([name, value]) => [name, asText(value)]));
}

/** Members as the schema alone parses them. */
function schemaSays(body: object): unknown {
  const { success, data, error } = orderSchema.safeParse(body);
  if (!success) return ['VALIDATION_ERROR', describeIssues(error)];
  const { account, ...order } = data;
  if (account !== undefined && account.toLowerCase() !== WALLET)
    return ['FORBIDDEN', 'account: must be the wallet of the session'];
  const defaults = { price: undefined, size: undefined, quoteAmount: undefined, clientOrderId: null };
  const more = { timeInForce: 'GTC', postOnly: false, reduceOnly: false, leverage: null };
  const given = Object.entries(order).filter(([, value]) => value !== undefined);
  return said({ ...defaults, ...more, ...Object.fromEntries(given) });
}

describe('requests to place an order', () => {
  it('take null in an optional field for no field', () => {
    const order = { market: 'ETH/USDC', side: 'buy', type: 'market' };
    const optional = [
      'price',
      'clientOrderId',
      'timeInForce',
      'postOnly',
      'reduceOnly',
      'leverage',
      'account',
    ];
    const nulls = Object.fromEntries(optional.map((name) => [name, null]));
    const read = (body: object): unknown => said(readOrder(readJson(JSON.stringify(body)) as object, WALLET));
    const bySize = { ...order, size: '1' };
    const byAmount = { ...order, quoteAmount: '1' };
    expect(read({ ...bySize, ...nulls, quoteAmount: null })).to.deep.equal(read(bySize));
    expect(read({ ...byAmount, ...nulls, size: null })).to.deep.equal(read(byAmount));
    const unpriced = { ...bySize, type: 'limit' };
    expect(read({ ...unpriced, price: null })).to.deep.equal(read(unpriced));
    for (const body of [
      { ...order, size: null },
      { ...order, size: null, quoteAmount: null },
      { ...bySize, market: null },
      { ...bySize, side: null },
    ])
      expect(read(body)).to.have.property('0', 'VALIDATION_ERROR');
  });

  it('are read as the schema reads them, and refused in its words, whichever way they are read', () => {
    const dice = random(runSeed());
    let [plain, refused] = [0, 0];
    for (let round = 0; round < 3_000; round += 1) {
      const text = bodyOf(dice);
      const body = readJson(text) as object;
      const expected = schemaSays(body);
      const own = said(readOrder(body, WALLET));
      // A plain comparison first, because chai's takes a second for all rounds.
      if (!isDeepStrictEqual(own, expected)) expect(own, text).to.deep.equal(expected);
      if (readPlainOrder(body) !== undefined) plain += 1;
      if (Array.isArray(expected)) refused += 1;
    }
    expect(plain).to.be.above(300);
    expect(refused).to.be.above(300);
  });
});
