/** Places an order, for each route that takes one. */

import { z } from 'zod';
import { checked } from '../../contract/checked.ts';
import { clientOrderId } from '../../contract/fields.ts';
import { Refusal } from '../../domain/errors.ts';
import type { Placement, PlaceOrder } from '../../engine/index.ts';
import { findOrder } from '../../history/order-history.ts';
import type { OrderWithFills } from '../../history/shown-fills.ts';
import { type OrderRequest, orderRequestSchema } from '../../order/request.ts';
import type { WalletCall } from '../route.ts';
import type { Services } from '../services.ts';

/** Maximum look-ups in Postgres per request. A second is needed only if the first result has expired. */
const MAX_LOOKS = 2;
const UNREADABLE = 'the order cannot be read at the moment';

/** Refusals that may have left events: a halted market, or an outcome that never reached the client. */
const MAY_HAVE_EVENTS: ReadonlySet<string> = new Set(['SETTLEMENT_FAILED', 'SERVICE_UNAVAILABLE']);

/** Message for an order whose client order id cannot be looked up because Postgres is unavailable. */
const UNKNOWN_ID =
  'clientOrderId: the ledger is unavailable, and only the ledger can tell whether this id was used before. ' +
  'Nothing was placed: retry later with the same id. Orders without a clientOrderId are accepted meanwhile.';

/** An order that was placed, or the id of the order that already has the client order id. */
export type Placed = Exclude<Placement, { outcome: 'unchecked' }>;

/** Request that a body states. */
export type Asked = Pick<PlaceOrder, 'request' | 'replaces' | 'filledSize'>;

/**
 * Counts the orders of a request. Those that repeat an earlier one are answered also beyond the limit.
 * @throws Refusal RATE_LIMITED
 */
export async function admitOrders(call: WalletCall, bodies: readonly unknown[]): Promise<void> {
  const count = await call.countOrders?.(call.wallet, bodies.length);
  if (count === undefined) return;
  const isRefused = !count.isCounted && !(await areKnown(call, bodies));
  call.announce(count, isRefused);
  if (isRefused) throw new Refusal('RATE_LIMITED', `a wallet may place ${count.limit} orders in a minute`);
}

/**
 * Places the order of a body. A known client order id takes precedence: the rest of a refused request is then ignored.
 * @param body that of the call, or one of its parts
 * @param read reads the body, where it is more than an order @throws Refusal if it is no order
 * @param maxLooks maximum look-ups in Postgres
 */
export async function placeOrder(
  call: WalletCall,
  body: unknown,
  read: (body: unknown, call: WalletCall) => Asked | Promise<Asked> = readAsked,
  maxLooks = MAX_LOOKS,
): Promise<Placed> {
  const { services, wallet, restricted } = call;
  try {
    let asked: Asked;
    try {
      const reading = read(body, call);
      // An await costs, also of what is there.
      asked = reading instanceof Promise ? await reading : reading;
    } catch (refusal) {
      // Whoever could not be asked for the one order is not asked for the other.
      if (refusal instanceof Refusal && refusal.code === 'SERVICE_UNAVAILABLE') throw refusal;
      const orderId = await knownOrder(call, body);
      if (orderId === null) throw refusal;
      return { outcome: 'claimed', orderId };
    }
    const { request, replaces, filledSize } = asked;
    const command: PlaceOrder = { wallet, request, restricted, replaces, filledSize };
    const placement = await services.engine.orders.place(command);
    if (placement.outcome === 'unchecked') return await placeUnchecked(call, command, placement, maxLooks);
    count(services, placement);
    return placement;
  } catch (error) {
    const code = error instanceof Refusal ? error.code : 'INTERNAL_ERROR';
    services.metrics.countOrder('refused', code);
    if (MAY_HAVE_EVENTS.has(code)) services.wakeSettlement();
    throw error;
  }
}

/** @throws Refusal if so many commands of the wallet wait that its order would be refused */
export function refuseFullQueue({ engine, metrics }: Services, wallet: string): void {
  try {
    engine.orders.checkWaiting(wallet);
  } catch (refusal) {
    metrics.countOrder('refused', (refusal as Refusal).code);
    throw refusal;
  }
}

/** The schema as generated code: it takes a third of the time, and makes no objects for the members. */
const compiledRequest = z.compile(orderRequestSchema, { strict: true });

/** @throws Refusal if the body is no order, or an order of another account than the wallet */
export function readOrder(body: unknown, wallet: string): OrderRequest {
  const order = checked(compiledRequest, body);
  if (order.account === undefined || order.account.toLowerCase() === wallet) return order;
  throw new Refusal('FORBIDDEN', 'account: must be the wallet of the session');
}

function readAsked(body: unknown, { wallet }: WalletCall): Asked {
  return { request: readOrder(body, wallet) };
}

/** Places an order whose client order id only Postgres knows, or does not know. */
async function placeUnchecked(
  call: WalletCall,
  command: PlaceOrder,
  unchecked: Placement,
  maxLooks: number,
): Promise<Placed> {
  const { services } = call;
  let placement = unchecked;
  for (let looks = 0; placement.outcome === 'unchecked' && looks < maxLooks; looks += 1) {
    const orderId = await settledOrderId(call, command.request.clientOrderId!);
    if (orderId !== null) return { outcome: 'claimed', orderId };
    const { moment: checked, ticket } = placement;
    placement = await services.engine.orders.place({ ...command, checked, ticket });
  }
  if (placement.outcome === 'unchecked')
    throw new Refusal('SERVICE_UNAVAILABLE', 'the ledger took too long to look up the client order id');
  count(services, placement);
  return placement;
}

function count(services: Services, placed: Placed): void {
  if (placed.outcome !== 'placed') return;
  services.wakeSettlement();
  const { status, reason } = placed.order;
  services.metrics.countOrder(status, status === 'rejected' ? reason! : '');
}

/**
 * True if each body repeats an order. One after the other, so that a request beyond the limit never occupies more than
 * one connection of Postgres.
 */
async function areKnown(call: WalletCall, bodies: readonly unknown[]): Promise<boolean> {
  for (const body of bodies) if ((await knownOrder(call, body)) === null) return false;
  return true;
}

/** Returns the id of the order that has the body's client order id. */
async function knownOrder({ services, wallet }: WalletCall, body: unknown): Promise<string | null> {
  const id = clientOrderId.safeParse((body as { clientOrderId?: unknown } | null)?.clientOrderId);
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

/**
 * Reads an order that a request repeats.
 * @param form name of the text that `write` makes: repeated requests share the texts of one form
 */
export async function replayOrder<Written>(
  { services, reads, wallet }: WalletCall,
  orderId: string,
  form: 'reply' | 'result',
  write: (found: OrderWithFills) => Promise<Written>,
): Promise<Written> {
  const replayed = await reads.orders.read(wallet, `replay ${form} ${orderId}`, async () => {
    const found = await findOrder(services, wallet, orderId);
    if (found === undefined) throw new Refusal('SERVICE_UNAVAILABLE', UNREADABLE);
    return write(found);
  });
  services.metrics.countOrder('replayed');
  return replayed;
}
