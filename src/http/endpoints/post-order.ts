/** `POST /v1/orders`: places an order, or returns the order that already has its client order id. */

import { clientOrderId } from '../../contract/fields.ts';
import { Refusal } from '../../domain/errors.ts';
import { rejectReasonOf } from '../../domain/order.ts';
import { findOrder, placedFills } from '../../history/order-history.ts';
import { type OrderRequest, orderRequestSchema } from '../../order/request.ts';
import { checked } from '../checked.ts';
import type { WalletCall, WalletEndpoint } from '../endpoint.ts';
import { findMarkets } from '../replies/market.ts';
import { placingReply } from '../replies/order.ts';
import { jsonForSeveral, jsonText, type Reply } from '../replies/reply.ts';

/** Most lookups in Postgres. The first one counts unless it took minutes, or the engine wakes from minutes of rest. */
const MAX_LOOKS = 2;
const UNREADABLE = 'the order cannot be read at the moment';

/** Refusals that may have left events: a halted market, or an outcome that never reached the client. */
const MAY_HAVE_EVENTS: ReadonlySet<string> = new Set(['SETTLEMENT_FAILED', 'SERVICE_UNAVAILABLE']);

/** Message for an order whose client order id cannot be looked up because Postgres is unavailable. */
const UNKNOWN_ID =
  'clientOrderId: the ledger is unavailable, and only the ledger can tell whether this id was used before. ' +
  'Nothing was placed: retry later with the same id. Orders without a clientOrderId are accepted meanwhile.';

export const postOrder: WalletEndpoint = {
  request: orderRequestSchema,
  readsBody: true,
  async handle(call) {
    try {
      return await reply(call);
    } catch (error) {
      const code = error instanceof Refusal ? error.code : 'INTERNAL_ERROR';
      call.services.metrics.countOrder('refused', code);
      if (MAY_HAVE_EVENTS.has(code)) call.services.wakeSettlement();
      throw error;
    }
  },
};

/** A known client order id takes precedence: the rest of a refused request is then ignored. */
async function reply(call: WalletCall): Promise<Reply> {
  let request: OrderRequest;
  try {
    request = readOrder(call.body, call.wallet);
  } catch (refusal) {
    const known = await knownOrder(call);
    if (known === null) throw refusal;
    return replay(call, known);
  }
  return place(call, request);
}

/** @throws Refusal if the body is no order, or an order of another account than the wallet */
export function readOrder(body: unknown, wallet: string): OrderRequest {
  const order = checked(orderRequestSchema, body);
  if (order.account === undefined || order.account.toLowerCase() === wallet) return order;
  throw new Refusal('FORBIDDEN', 'account: must be the wallet of the session');
}

async function place(call: WalletCall, request: OrderRequest): Promise<Reply> {
  const { services, wallet, restricted } = call;
  const command = { wallet, request, restricted };
  let placement = await services.engine.orders.place(command);
  for (let looks = 0; placement.outcome === 'unchecked' && looks < MAX_LOOKS; looks += 1) {
    const known = await settledOrderId(call, request.clientOrderId!);
    if (known !== null) return replay(call, known);
    const { moment: checked, ticket } = placement;
    placement = await services.engine.orders.place({ ...command, checked, ticket });
  }
  switch (placement.outcome) {
    case 'placed': {
      services.wakeSettlement();
      const { order, trades } = placement;
      const rejectReason = rejectReasonOf(order);
      services.metrics.countOrder(order.status, rejectReason ?? '');
      const fills = placedFills(order.id, trades, services.settings);
      return jsonText(placingReply(order, fills, placement.market, rejectReason));
    }
    case 'claimed':
      return replay(call, placement.orderId);
    case 'unchecked':
      throw new Refusal('SERVICE_UNAVAILABLE', 'the ledger took too long to look up the client order id');
  }
}

/** Returns the id of the order that has the body's client order id. */
async function knownOrder({ services, wallet, body }: WalletCall): Promise<string | null> {
  const id = clientOrderId.safeParse((body as { clientOrderId?: unknown }).clientOrderId);
  if (!id.success) return null;
  const found = await services.engine.orders.find(wallet, id.data);
  if (found.outcome === 'claimed') return found.orderId;
  return found.outcome === 'unchecked' ? settledOrderId({ services, wallet }, id.data) : null;
}

/** Returns the id of an order that Postgres has and Redis no longer remembers. */
async function settledOrderId(
  { services, wallet }: Pick<WalletCall, 'services' | 'wallet'>,
  clientOrderId: string,
): Promise<string | null> {
  try {
    return await services.ledger.orders.placedId(wallet, clientOrderId);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'SERVICE_UNAVAILABLE') throw error;
    throw new Refusal('SERVICE_UNAVAILABLE', UNKNOWN_ID, { cause: error });
  }
}

async function replay({ services, reads, wallet }: WalletCall, orderId: string): Promise<Reply> {
  const replayed = await reads.orders.read(wallet, `replay ${orderId}`, async () => {
    const found = await findOrder(services, wallet, orderId);
    if (found === undefined) throw new Refusal('SERVICE_UNAVAILABLE', UNREADABLE);
    const { order, shown } = found;
    const marketOf = await findMarkets(services.engine, [order]);
    return jsonForSeveral(placingReply(order, shown, marketOf(order), null));
  });
  services.metrics.countOrder('replayed');
  return replayed;
}
