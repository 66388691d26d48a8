/** Checks what `POST /v1/orders` accepts in each member of its body, and what an absent member means. */

import { expect } from 'chai';
import type { Refusal } from '../../src/domain/errors.ts';
import { formatDecimal } from '../../src/domain/units.ts';
import { readOrder } from '../../src/http/endpoints/place-order.ts';
import { readJson } from '../../src/http/json.ts';
import type { OrderRequest } from '../../src/order/request.ts';

const WALLET = `0x${'ab'.repeat(20)}`;
const LONGEST_ID = 'x'.repeat(128);

/** JSON texts of an order that has every required member. */
const ORDER = { market: '"ETH/USDC"', side: '"buy"', type: '"limit"', price: '2000', size: '1' };
const MARKET_BUY = { ...ORDER, type: '"market"', size: 'null' };

/** JSON texts that each member accepts, with the values that they stand for. */
const ACCEPTED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  market: { '"x"': 'x' },
  side: { '"sell"': 'sell' },
  type: { '"market"': 'market' },
  price: { '"2000.50"': '2000.5', '0.01': '0.01', '"1e3"': '1000', null: undefined },
  // The engine refuses a size that is not positive.
  size: { '"0.001"': '0.001', '1E-3': '0.001', '0': '0', '-1': '-1' },
  clientOrderId: {
    '"an id"': 'an id',
    '"é\u{1f600}"': 'é\u{1f600}',
    [`"${LONGEST_ID}"`]: LONGEST_ID,
    null: null,
  },
  timeInForce: { '"GTC"': 'GTC', '"IOC"': 'IOC', '"FOK"': 'FOK', null: 'GTC' },
  postOnly: { true: true, false: false, null: false },
  reduceOnly: { true: true, false: false, null: false },
  // The engine refuses a leverage above 100.
  leverage: { '5': 5, '"50"': 50, '200': 200, null: null },
  // A call has 48 bits for it.
  expiresAfter: {
    '1': 1,
    '1.5e3': 1_500,
    '"1795000000000"': 1_795_000_000_000,
    '9e307': 2 ** 48 - 1,
    null: undefined,
  },
};

const REQUIRED = 'is required';
const AS_TEXT = 'must be a string';
const AS_DECIMAL = 'must be a finite decimal number';
const POSITIVE = 'must be positive';
const AS_FLAG = 'must be true or false';
const LENGTH = 'must have 1 to 128 characters';
const LEVERAGE = 'must be a whole number from 1 to 50';
const MOMENT = 'must be a positive whole number';

/** JSON texts that each member rejects, with the message. `undefined` leaves the member out. */
const REJECTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  market: {
    undefined: REQUIRED,
    '""': 'must not be empty',
    '1': AS_TEXT,
    null: AS_TEXT,
    '["ETH/USDC"]': AS_TEXT,
  },
  side: {
    undefined: REQUIRED,
    '"BUY"': 'must be one of buy, sell',
    '"toString"': 'must be one of buy, sell',
  },
  type: {
    undefined: REQUIRED,
    '"stop"': 'must be one of limit, market',
    '{}': 'must be one of limit, market',
  },
  price: {
    '0': POSITIVE,
    '-1': POSITIVE,
    '"-0"': POSITIVE,
    '""': AS_DECIMAL,
    '1e400': AS_DECIMAL,
    true: AS_DECIMAL,
  },
  size: { '"one"': AS_DECIMAL, '[]': AS_DECIMAL, '1e400': AS_DECIMAL },
  clientOrderId: {
    [`"${LONGEST_ID}x"`]: LENGTH,
    '""': LENGTH,
    '"\\u0000"': 'must be valid text without U+0000',
    '7': AS_TEXT,
  },
  timeInForce: { '"DAY"': 'must be one of GTC, IOC, FOK' },
  postOnly: { '"true"': AS_FLAG, '0': AS_FLAG },
  reduceOnly: { '1': AS_FLAG },
  leverage: { '1.5': LEVERAGE, '0': LEVERAGE, '51': LEVERAGE },
  expiresAfter: { '0': MOMENT, '-1': MOMENT, '1.5': MOMENT, '"soon"': AS_DECIMAL, true: AS_DECIMAL },
  account: { '"0x"': 'must be 0x and 40 hex digits', '7': AS_TEXT },
};

/** Contents of an order, or of a refusal. Decimals are text, because they have several representations. */
function read(members: Readonly<Record<string, string>>): Record<string, unknown> {
  const given = Object.entries(members).filter(([, text]) => text !== 'undefined');
  const body = readJson(`{${given.map(([name, text]) => `"${name}":${text}`).join(',')}}`);
  let order: OrderRequest;
  try {
    order = readOrder(body, WALLET);
  } catch (error) {
    const { code, message } = error as Refusal;
    return { code, message };
  }
  const asText = (value: unknown): unknown =>
    typeof value === 'object' && value !== null ? formatDecimal(value as never) : value;
  const { account: _account, ...read } = order;
  return Object.fromEntries(Object.entries(read).map(([name, value]) => [name, asText(value)]));
}

describe('requests to place an order', () => {
  it('have the defaults of absent members', () => {
    expect(read(ORDER)).to.deep.equal({
      market: 'ETH/USDC',
      side: 'buy',
      type: 'limit',
      price: '2000',
      size: '1',
      clientOrderId: null,
      timeInForce: 'GTC',
      postOnly: false,
      reduceOnly: false,
      leverage: null,
    });
    expect(read({ ...ORDER, other: '1' })).to.deep.equal(read(ORDER));
  });

  it('are accepted with each accepted value of each member', () => {
    for (const [name, values] of Object.entries(ACCEPTED))
      for (const [text, value] of Object.entries(values))
        expect(read({ ...ORDER, [name]: text }), `${name}: ${text}`).to.deep.equal({
          ...read(ORDER),
          [name]: value,
        });
  });

  it('are rejected with the name of the member when its value is invalid', () => {
    for (const [name, values] of Object.entries(REJECTED))
      for (const [text, problem] of Object.entries(values))
        expect(read({ ...ORDER, [name]: text }), `${name}: ${text}`).to.deep.equal({
          code: 'VALIDATION_ERROR',
          message: `${name}: ${problem}`,
        });
  });

  it('have a size or, for a market buy, a quote amount', () => {
    expect(read({ ...MARKET_BUY, quoteAmount: '250.5' })).to.include({
      size: undefined,
      quoteAmount: '250.5',
    });
    expect(read({ ...MARKET_BUY, quoteAmount: '0' })).to.include({ message: `quoteAmount: ${POSITIVE}` });
    for (const size of ['undefined', 'null'])
      for (const quoteAmount of ['undefined', 'null'])
        expect(read({ ...MARKET_BUY, size, quoteAmount })).to.include({
          message: 'give exactly one of size and quoteAmount',
        });
    expect(read({ ...MARKET_BUY, size: '1', quoteAmount: '1' })).to.include({
      message: 'give exactly one of size and quoteAmount',
    });
    for (const other of [{ side: '"sell"' }, { type: '"limit"' }])
      expect(read({ ...MARKET_BUY, quoteAmount: '1', ...other })).to.include({
        message: 'quoteAmount is only for market buys',
      });
  });

  it('are rejected when they name another account than that of the session', () => {
    for (const account of [WALLET, WALLET.toUpperCase().replace('X', 'x')])
      expect(read({ ...ORDER, account: `"${account}"` })).to.deep.equal(read(ORDER));
    expect(read({ ...ORDER, account: 'null' })).to.deep.equal(read(ORDER));
    expect(read({ ...ORDER, account: `"0x${'cd'.repeat(20)}"` })).to.deep.equal({
      code: 'FORBIDDEN',
      message: 'account: must be the wallet of the session',
    });
  });
});
