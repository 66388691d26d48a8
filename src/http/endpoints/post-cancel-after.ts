/** `POST /v1/orders/cancel-after`: sets, renews or switches off the wallet's dead-man switch. */

import { z } from 'zod';
import { checked } from '../../contract/checked.ts';
import { decimal } from '../../contract/decimals.ts';
import { compareWith, type Decimal, isWhole, toInteger } from '../../domain/units.ts';
import { cancelAfterSchema } from '../../order/reply.ts';
import { timestamp } from '../replies/timestamp.ts';
import { walletRoute } from '../route.ts';

const MIN_MS = 5_000;
const MAX_MS = 86_400_000;

const isTimeout = (value: Decimal): boolean =>
  compareWith(value, 0) === 0 ||
  (isWhole(value) && compareWith(value, MIN_MS) >= 0 && compareWith(value, MAX_MS) <= 0);

const TIMEOUT_JSON = {
  oneOf: [
    { type: 'integer', minimum: MIN_MS, maximum: MAX_MS },
    { type: 'integer', const: 0 },
    {
      type: 'string',
      pattern: '^(0|[5-9]\\d{3}|[1-9]\\d{4,6}|[1-7]\\d{7}|8[0-5]\\d{6}|86[0-3]\\d{5}|86400000)$',
    },
  ],
};

const schema = z
  .object({
    timeoutMs: decimal
      .refine(isTimeout, 'must be 0 or a whole number from 5000 to 86400000')
      .meta({ ...TIMEOUT_JSON, description: 'milliseconds from now; 0 switches it off' }),
  })
  .meta({ examples: [{ timeoutMs: 30_000 }, { timeoutMs: 0 }] });

export const postCancelAfter = walletRoute({
  method: 'POST',
  path: '/v1/orders/cancel-after',
  id: 'setCancelAfter',
  tag: 'Trading',
  summary: 'Sets, renews or switches off the dead-man switch',
  description:
    'All live orders of the wallet are cancelled at `cancelAt` unless the request is made again in time. Each ' +
    'request replaces the one before. A wallet has one switch, whatever the session. The switch works while trading is ' +
    'paused. Orders that are placed after the cancelling began stay. A switch that was due while the service was ' +
    'away fires when the service is back. The cancelling ends the switch.',
  reply: cancelAfterSchema,
  request: schema,
  readsBody: true,
  async handle({ services, wallet, body }, write) {
    const timeoutMs = toInteger(checked(schema, body).timeoutMs);
    const dueMs = await services.engine.dueCancels.set(wallet, timeoutMs);
    return write.json({ cancelAt: dueMs === null ? null : timestamp(dueMs) });
  },
});
