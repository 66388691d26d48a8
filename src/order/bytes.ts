/** The fields of an order in the bytes of its call and its event. */

import { codeOf, type Field, hexOf, mapped, text16, u8, u16, u56 } from '../redis/layout.ts';
import { type FieldName, TIMES_IN_FORCE } from './fields.ts';

/** Code of `type`, and of the unit of the amount. */
export const FORMS = { limit: 0, marketForSize: 1, marketForBudget: 2 };

/** Fields in the order of their bytes. The wallet comes first, the text last. */
export const SENT = {
  wallet: mapped(
    hexOf(20),
    (wallet: string) => wallet.slice(2),
    (digits) => `0x${digits}`,
  ),
  /** Number of the market. */
  market: u16,
  side: codeOf(['buy', 'sell']),
  /** Value of `FORMS`. */
  type: u8,
  timeInForce: codeOf(TIMES_IN_FORCE),
  postOnly: codeOf([false, true]),
  leverage: mapped(
    u8,
    (leverage: number | null) => leverage ?? 0,
    (byte) => (byte === 0 ? null : byte),
  ),
  /** 0 on a market order. */
  priceTicks: mapped(
    u56,
    (ticks: bigint | null) => Number(ticks),
    (ticks) => (ticks === 0 ? null : BigInt(ticks)),
  ),
  clientOrderId: mapped(
    text16,
    (id: string | null) => id ?? '',
    (id) => (id === '' ? null : id),
  ),
} satisfies { readonly [Name in FieldName]?: Pick<Field<unknown>, 'format'> };

export const SENT_NAMES = Object.keys(SENT) as (keyof typeof SENT)[];
