/** Values in replies and stream frames: amounts, times and names. */

import { z } from 'zod';
import { MAX_FEE_BPS } from '../domain/market-rules.ts';

/**
 * An amount of the trading routes and the streams (money, size or price) as an exact decimal. The brand distinguishes
 * it, also in types from `z.infer`, from counts, times and percentages, which are plain numbers.
 */
export const amount = z.number().min(0).brand<'Amount'>().describe('exact decimal, not negative');

/** An amount that is never zero. */
export const positiveAmount = z.number().positive().brand<'Amount'>();

/** A change of a balance. */
export const signedAmount = z.number().brand<'Amount'>().describe('exact decimal');

/** Type of an amount of the trading routes and the streams. */
export type Amount = z.infer<typeof amount>;

/** An amount of the public market data. */
export const decimalText = z
  .string()
  .regex(/^\d+(\.\d+)?$/)
  .describe('exact plain decimal');

/** A percentage with up to two decimals. */
export const percentText = z
  .string()
  .regex(/^-?\d+(\.\d{1,2})?$/)
  .describe('percent, up to two decimals');

export const timestamp = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: 'date-time', description: 'ISO 8601, UTC, milliseconds' });

export const wallet = z
  .string()
  .regex(/^0x[0-9a-f]{40}$/)
  .describe('wallet address in lower case');

export const assetSymbol = z.string().regex(/^[A-Z0-9]{1,16}$/);

export const marketSymbol = z
  .string()
  .regex(/^[A-Z0-9]{1,16}\/[A-Z0-9]{1,16}$/)
  .describe('`BASE/QUOTE`');

export const tickerId = z
  .string()
  .regex(/^[A-Z0-9]{1,16}_[A-Z0-9]{1,16}$/)
  .describe('`BASE_QUOTE`');

export const side = z.enum(['buy', 'sell']);

export const feeBps = z.int().min(0).max(MAX_FEE_BPS);
