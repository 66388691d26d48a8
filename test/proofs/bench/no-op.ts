/**
 * The reference of the engine bench: a no-op script that receives the KEYS and arguments of placing an order at revision
 * d855f64. These are constants, so the reference does not shrink when the real calls do.
 */

import type { Redis } from 'ioredis';
import type { ScriptArgument } from '../../../src/redis/lua.ts';
import { NO_OP } from './script-cost.ts';

const WALLET = Buffer.alloc(20, 0xbb);
const CLIENT_ORDER_ID = `bench-${'0'.repeat(30)}`;

const BOOK_KEYS = [
  '{redbook}:engine',
  '{redbook}:events',
  '{redbook}:book:ETH/USDC:bids',
  '{redbook}:book:ETH/USDC:asks',
  '{redbook}:balances:ETH',
  '{redbook}:balances:USDC',
  '{redbook}:live',
];
const UNSETTLED_KEYS = ['{redbook}:unsettled:0', '{redbook}:unsettled:1'];
const LEVEL_KEYS = ['{redbook}:levels:ETH/USDC:bids', '{redbook}:levels:ETH/USDC:asks'];

const TERMS = {
  wallet: `0x${WALLET.toString('hex')}`,
  market: 0,
  side: 'buy',
  type: 'limit',
  timeInForce: 'GTC',
  postOnly: false,
  leverage: null,
  price: '12000',
  clientOrderId: CLIENT_ORDER_ID,
};

export interface Call {
  readonly keys: readonly string[];
  readonly args: readonly ScriptArgument[];
}

export const PLACING: Call = {
  keys: [
    ...BOOK_KEYS,
    '{redbook}:claims:0',
    '{redbook}:claims:1',
    '{redbook}:claim-filter',
    ...UNSETTLED_KEYS,
    '{redbook}:markets',
    ...LEVEL_KEYS,
  ],
  args: [
    '1',
    '1',
    '0',
    'ETH/USDC',
    WALLET,
    'buy',
    'limit',
    'GTC',
    '0',
    '12000',
    '10000',
    '',
    CLIENT_ORDER_ID,
    '15440272',
    Buffer.from('2000000400440800', 'hex'),
    '0',
    '10000',
    '1',
    '10',
    'expire_taker',
    '',
    '',
    '0',
    '0',
    '1000',
    '1000000',
    JSON.stringify(TERMS),
    '0',
    Buffer.from('3a74f0dc487e571cf0219a381fe3', 'hex'),
  ],
};

/** Calls the no-op script in sequence. */
export async function callNoOp(redis: Redis, { keys, args }: Call, calls: number): Promise<void> {
  await redis.script('LOAD', NO_OP.source);
  for (let call = 0; call < calls; call += 1)
    await redis.callBuffer('EVALSHA', NO_OP.sha, keys.length, ...keys, ...args);
}
