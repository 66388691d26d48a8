/** `POST /v1/orders/batch`: places up to 50 orders, each as if it had come alone. */

import { checked } from '../../contract/checked.ts';
import type { errorSchema } from '../../contract/errors.ts';
import { clientOrderId } from '../../contract/fields.ts';
import type { Written } from '../../contract/written.ts';
import { ERRORS, Refusal } from '../../domain/errors.ts';
import { writeJson } from '../../domain/json.ts';
import { rejectReasonOf } from '../../domain/order.ts';
import { placedFills } from '../../history/order-history.ts';
import { newest, type OrderWithFills } from '../../history/shown-fills.ts';
import { orderBatchSchema } from '../../order/reply.ts';
import { orderBatchRequest } from '../../order/request.ts';
import { findMarkets } from '../replies/market.ts';
import { placingResult } from '../replies/order.ts';
import { jsonForSeveral } from '../replies/reply.ts';
import { type WalletCall, walletRoute } from '../route.ts';
import { type Asked, admitOrders, type Placed, placeOrder, readOrder, replayOrder } from './place-order.ts';

export const postOrderBatch = walletRoute({
  method: 'POST',
  path: '/v1/orders/batch',
  id: 'placeOrders',
  tag: 'Trading',
  summary: 'Places orders, up to 50',
  description:
    'Each order is placed or refused as if it had come alone to `POST /v1/orders`, and has a result of its own. Orders ' +
    'of one market are placed in the order given, and those of other wallets may come between them. The reply shows ' +
    '5,000 fills in all; `fillCount` is the number of all fills of an order. The body may have 64 KB.',
  reply: orderBatchSchema,
  request: orderBatchRequest,
  readsBody: true,
  countsOrders: true,
  // 50 orders with all their members.
  bodyLimits: { bytes: 64 * 1024, members: 1_024 },
  async handle(call) {
    const { orders } = checked(orderBatchRequest, call.body);
    if (call.countOrders !== undefined) await admitOrders(call, orders);
    const batch = new OrderBatch(call, orders);
    return jsonForSeveral(`{"results":[${(await batch.run()).join(',')}]}`);
  },
});

type ErrorResult = Written<typeof errorSchema> & { readonly status: number };

class OrderBatch {
  readonly #call: WalletCall;
  readonly #orders: readonly unknown[];
  readonly #results: string[] = [];
  /** Number of fills that the reply still has room for. */
  #room: number;

  constructor(call: WalletCall, orders: readonly unknown[]) {
    this.#call = call;
    this.#orders = orders;
    this.#room = call.services.settings.maxFillsPerReply;
  }

  /** Places the orders of each market in their order, and returns the results as JSON texts. */
  async run(): Promise<string[]> {
    const byMarket = new Map<unknown, number[]>();
    for (const [index, body] of this.#orders.entries()) {
      const market = isObject(body) ? body.market : undefined;
      byMarket.set(market, [...(byMarket.get(market) ?? []), index]);
    }
    const known = await Promise.all([...byMarket.values()].map((indexes) => this.#placeInOrder(indexes)));
    // One after the other, so that a request never occupies more than one connection of Postgres.
    for (const [index, orderId] of known.flat()) await this.#tell(index, () => this.#replay(orderId));
    return this.#results;
  }

  /**
   * Places orders of one market. They are sent together, except for one whose id only Postgres can tell: a look-up
   * there would let later orders pass it.
   * @returns those that repeat an earlier order
   */
  async #placeInOrder(indexes: readonly number[]): Promise<(readonly [index: number, orderId: string])[]> {
    const known: (readonly [number, string])[] = [];
    const place = (index: number, maxLooks?: number): Promise<void> =>
      this.#tell(index, async () => {
        const placed = await this.#place(this.#orders[index], maxLooks);
        if (placed.outcome === 'placed') return this.#written(placed);
        known.push([index, placed.orderId]);
        return '';
      });
    const isOpen = await this.#areOpen(indexes);
    if (isOpen === undefined) return [];
    let together: Promise<void>[] = [];
    for (const [at, index] of indexes.entries()) {
      if (!isOpen[at]) {
        together.push(place(index, 0));
        continue;
      }
      await Promise.all(together);
      together = [];
      await place(index);
    }
    await Promise.all(together);
    return known;
  }

  /**
   * Tells of each order if only Postgres knows whether its client order id was used.
   * @returns undefined when the engine does not answer: every order is refused for that, and none waits for it again
   */
  async #areOpen(indexes: readonly number[]): Promise<boolean[] | undefined> {
    try {
      return await Promise.all(indexes.map((index) => this.#isOpen(this.#orders[index])));
    } catch (error) {
      for (const index of indexes) await this.#tell(index, () => Promise.reject(error));
      return undefined;
    }
  }

  #place(body: unknown, maxLooks?: number): Promise<Placed> {
    return placeOrder(this.#call, body, readOneOf, maxLooks);
  }

  async #isOpen(body: unknown): Promise<boolean> {
    const id = clientOrderId.safeParse(isObject(body) ? body.clientOrderId : undefined);
    if (!id.success) return false;
    const { services, wallet } = this.#call;
    return (await services.engine.orders.find(wallet, id.data)).outcome === 'unchecked';
  }

  /** Notes the text of a result, or the error in its place. */
  async #tell(index: number, result: () => Promise<string> | string): Promise<void> {
    try {
      this.#results[index] = await result();
    } catch (error) {
      this.#call.report(error);
      this.#results[index] = writeJson(errorResult(error));
    }
  }

  #written({ order, trades, market }: Extract<Placed, { outcome: 'placed' }>): string {
    const shown = placedFills(order.id, trades, this.#call.services.settings);
    return placingResult(order, this.#cut(shown), market, rejectReasonOf(order));
  }

  #replay(orderId: string): Promise<string> {
    return replayOrder(this.#call, orderId, 'result', async ({ order, shown }) => {
      const marketOfOrder = await findMarkets(this.#call.services.engine, [order]);
      return placingResult(order, this.#cut(shown), marketOfOrder(order), null);
    });
  }

  /** Cuts the fills to the room that is left; `fillCount` still tells how many there are. */
  #cut({ fillCount, fills }: OrderWithFills['shown']): OrderWithFills['shown'] {
    const shown = this.#room > 0 ? newest(fills, this.#room) : [];
    this.#room -= shown.length;
    return { fillCount, fills: shown };
  }
}

function readOneOf(body: unknown, { wallet }: WalletCall): Asked {
  if (!isObject(body)) throw new Refusal('VALIDATION_ERROR', 'an order must be a JSON object');
  return { request: readOrder(body, wallet) };
}

const isObject = (body: unknown): body is Readonly<Record<string, unknown>> =>
  typeof body === 'object' && body !== null && !Array.isArray(body);

function errorResult(error: unknown): ErrorResult {
  if (error instanceof Refusal) return { status: error.status, error: error.message, code: error.code };
  const { status, meaning } = ERRORS.INTERNAL_ERROR;
  return { status, error: meaning, code: 'INTERNAL_ERROR' };
}
