/** `POST /v1/orders`: places an order, or answers the one that its client order id stands for. */

import { z } from 'zod';
import { Refusal } from '../../domain/errors.ts';
import type { OrderRequest } from '../../domain/placing.ts';
import { compareWith, type Decimal, isWhole } from '../../domain/units.ts';
import {
  type Answer,
  describeIssues,
  jsonForSeveral,
  jsonText,
  type WalletCall,
  type WalletEndpoint,
} from '../endpoint.ts';
import {
  address,
  clientOrderId,
  decimal,
  flag,
  oneOf,
  POSITIVE_DECIMAL_JSON,
  positiveDecimal,
  text,
} from '../fields.ts';
import { orderOf, placedFills } from '../order-history.ts';
import { marketsOf } from '../replies/market.ts';
import { placingReply } from '../replies/order.ts';

/** Above 100 it is the engine's to refuse, as INVALID_ORDER. */
const isLeverage = (value: Decimal): boolean =>
  compareWith(value, 100) > 0 ||
  (isWhole(value) && compareWith(value, 1) >= 0 && compareWith(value, 50) <= 0);

const LEVERAGE_JSON = {
  oneOf: [
    { type: 'integer', minimum: 1, maximum: 50 },
    { type: 'string', pattern: '^([1-9]|[1-4]\\d|50)$' },
  ],
};

/** The members of an order; `src/http/docs/order-bodies.ts` documents the shapes that they make. */
export const orderFields = {
  market: text.describe('symbol of a market'),
  side: oneOf(['buy', 'sell']),
  type: oneOf(['limit', 'market']),
  price: positiveDecimal.optional().describe('of limit orders, which need one: a multiple of `tickSize`'),
  // Any finite size passes here: the engine refuses one that is not positive as INVALID_ORDER, in its turn.
  size: decimal.meta({ ...POSITIVE_DECIMAL_JSON, description: 'in base units: a multiple of `sizeStep`' }),
  quoteAmount: positiveDecimal.describe(
    'market buys only, in place of `size`: buys the whole size steps that this pays for, its fee apart',
  ),
  clientOrderId: clientOrderId
    .optional()
    .describe(
      'unique per wallet and remembered for good: given again, it stands for the order it was first given for',
    ),
  timeInForce: oneOf(['GTC', 'IOC', 'FOK']).optional().describe('GTC unless given'),
  postOnly: flag.optional().describe('refuses an order that would take liquidity at once'),
  reduceOnly: flag.optional().describe('for position markets, of which there are none yet'),
  leverage: decimal
    .refine(isLeverage, 'must be a whole number from 1 to 50')
    .optional()
    .meta({ ...LEVERAGE_JSON, description: 'stored, without effect on spot markets' }),
  account: address.optional().describe('must be the wallet of the session'),
};

const { size, quoteAmount } = orderFields;

const schema = z
  .object({ ...orderFields, size: size.optional(), quoteAmount: quoteAmount.optional() })
  .refine(
    ({ size, quoteAmount }) => (size === undefined) !== (quoteAmount === undefined),
    'give exactly one of size and quoteAmount',
  )
  .refine(
    ({ quoteAmount, type, side }) => quoteAmount === undefined || (type === 'market' && side === 'buy'),
    'quoteAmount is only for market buys',
  );

type OrderBody = z.infer<typeof schema>;

const UNREADABLE = 'the order cannot be read at the moment';

/** Of a halted market, and of what was answered to nobody. */
const MAY_HAVE_EVENTS: ReadonlySet<string> = new Set(['SETTLEMENT_FAILED', 'SERVICE_UNAVAILABLE']);

/** Why an order with a client order id waits for Postgres, while one without is placed. */
const UNKNOWN_ID =
  'clientOrderId: the ledger is unavailable, and only the ledger can tell whether this id was used before. ' +
  'Nothing was placed: retry later with the same id. Orders without a clientOrderId are accepted meanwhile.';

export const postOrder: WalletEndpoint = {
  request: schema,
  readsBody: true,
  async handle(call) {
    try {
      return await answerTo(call);
    } catch (error) {
      const code = error instanceof Refusal ? error.code : 'INTERNAL_ERROR';
      call.services.metrics.countOrder('refused', code);
      if (MAY_HAVE_EVENTS.has(code)) call.services.wake();
      throw error;
    }
  },
};

async function answerTo(call: WalletCall): Promise<Answer> {
  const parsed = schema.safeParse(call.body);
  const refusal = parsed.success
    ? refusedAccount(parsed.data, call.wallet)
    : new Refusal('VALIDATION_ERROR', describeIssues(parsed.error));
  if (refusal === undefined) return place(call, requestOf(parsed.data!));
  // A known client order id comes first: the rest of the request counts for nothing then.
  const known = await knownOrder(call);
  if (known === null) throw refusal;
  return replay(call, known);
}

function refusedAccount({ account }: OrderBody, wallet: string): Refusal | undefined {
  return account === undefined || account.toLowerCase() === wallet
    ? undefined
    : new Refusal('FORBIDDEN', 'account: must be the wallet of the session');
}

const requestOf = (order: OrderBody): OrderRequest => ({
  market: order.market,
  side: order.side,
  type: order.type,
  price: order.price,
  size: order.size,
  quoteAmount: order.quoteAmount,
  clientOrderId: order.clientOrderId ?? null,
  timeInForce: order.timeInForce ?? 'GTC',
  postOnly: order.postOnly ?? false,
  reduceOnly: order.reduceOnly ?? false,
  leverage: order.leverage ?? null,
});

async function place(call: WalletCall, request: OrderRequest): Promise<Answer> {
  const { services, wallet, restricted } = call;
  const command = { wallet, request, restricted };
  let placement = await services.engine.placeOrder(command);
  if (placement.outcome === 'unchecked') {
    const known = await settledOrderId(call, request.clientOrderId!);
    if (known !== null) return replay(call, known);
    placement = await services.engine.placeOrder({ ...command, checked: placement.moment });
  }
  switch (placement.outcome) {
    case 'placed': {
      services.wake();
      const { order, trades, rejectReason } = placement;
      services.metrics.countOrder(order.status, rejectReason ?? '');
      const fills = placedFills(trades, services.settings);
      return jsonText(placingReply(order, fills, placement.market, rejectReason));
    }
    case 'claimed':
      return replay(call, placement.orderId);
    case 'unchecked':
      throw new Refusal('SERVICE_UNAVAILABLE', 'the ledger took too long to look up the client order id');
  }
}

/** The id of the order that the body's client order id stands for already. */
async function knownOrder({ services, wallet, body }: WalletCall): Promise<string | null> {
  const id = clientOrderId.safeParse((body as { clientOrderId?: unknown }).clientOrderId);
  if (!id.success) return null;
  const found = await services.engine.findClientOrder(wallet, id.data);
  if (found.outcome === 'claimed') return found.orderId;
  return found.outcome === 'unchecked' ? settledOrderId({ services, wallet }, id.data) : null;
}

/** The id of the order as Postgres knows it, for ids that Redis does not remember any more. */
async function settledOrderId(
  { services, wallet }: Pick<WalletCall, 'services' | 'wallet'>,
  clientOrderId: string,
): Promise<string | null> {
  try {
    return await services.ledger.placedOrderId(wallet, clientOrderId);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'SERVICE_UNAVAILABLE') throw error;
    throw new Refusal('SERVICE_UNAVAILABLE', UNKNOWN_ID, { cause: error });
  }
}

async function replay({ services, reads, wallet }: WalletCall, orderId: string): Promise<Answer> {
  const replayed = await reads.orders
    .read(wallet, `replay ${orderId}`, async () => {
      const order = await orderOf(services, wallet, orderId);
      if (order === undefined) throw new Refusal('SERVICE_UNAVAILABLE', UNREADABLE);
      const marketOf = await marketsOf(services.engine, [order]);
      return jsonForSeveral(placingReply(order, order, marketOf(order), null));
    })
    .catch((error) => {
      // The order was placed, whatever becomes of this reply: no other code may say otherwise.
      throw error instanceof Refusal && error.code === 'RATE_LIMITED'
        ? new Refusal('SERVICE_UNAVAILABLE', error.message)
        : error;
    });
  services.metrics.countOrder('replayed');
  return replayed;
}
