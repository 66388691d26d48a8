/**
 * In-memory model of the routes that placing an order uses. `order-route.test.ts` proves that it answers as the service
 * does. The acceptance of a new order is random.
 */

import type { Random } from '../support/seed.ts';
import { challengeAt } from './scripted-service.ts';

export interface RouteRequest {
  readonly method: string;
  /** Percent-encoded. */
  readonly path: string;
  readonly token: string | undefined;
  readonly requestId: string | undefined;
  readonly body: string | undefined;
}

export interface RouteAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** The engine's random decision about a new order. */
export type Verdict =
  | 'rest'
  | 'fill'
  | 'expire'
  | 'reject'
  | 'no funds'
  | 'settlement failed'
  | 'paused'
  | 'ledger away';

export interface OrderBody {
  readonly market?: string;
  readonly side?: string;
  readonly type?: string;
  readonly price?: string | undefined;
  readonly size?: string | undefined;
  readonly quoteAmount?: string | undefined;
  readonly clientOrderId?: string;
  readonly timeInForce?: string;
  readonly postOnly?: boolean;
  readonly expiresAfter?: number | null;
}

export interface RecordedOrder {
  readonly id: string;
  readonly status: string;
  readonly clientOrderId: string | null;
  readonly terms: OrderBody;
}

const CREATED_AT = '2026-01-05T09:30:00.000Z';

export class OrderRoute {
  readonly orders = new Map<string, RecordedOrder>();
  /** Time at which each order was recorded. */
  readonly recordedAt = new Map<string, number>();
  readonly #random: Random;
  readonly #now: () => number;
  readonly #aheadMs: number;
  readonly #verdict: (order: OrderBody) => Verdict;
  readonly #tokens = new Set<string>();
  #signIns = 0;

  /** @param aheadMs how far the service's clock is ahead, in `Date` headers and deadlines */
  constructor(random: Random, now: () => number, verdict?: (order: OrderBody) => Verdict, aheadMs = 0) {
    this.#random = random;
    this.#now = now;
    this.#aheadMs = aheadMs;
    this.#verdict = verdict ?? ((order) => this.#draw(order));
  }

  /** Revokes all tokens issued so far. */
  endSessions(): void {
    this.#tokens.clear();
  }

  handle(request: RouteRequest): RouteAnswer {
    const { method, path, requestId } = request;
    const answer = this.#route(`${method} ${path}`, request);
    const date = new Date(this.#serviceNow()).toUTCString();
    return {
      ...answer,
      headers: { ...answer.headers, Date: date, 'X-Request-Id': requestId ?? 'of the service' },
    };
  }

  #serviceNow = (): number => this.#now() + this.#aheadMs;

  #route(route: string, { token, body = '{}' }: RouteRequest): RouteAnswer {
    if (route === 'POST /v1/auth/challenge') {
      const { address } = JSON.parse(body) as { address: string };
      return json(200, challengeAt(this.#serviceNow(), address));
    }
    if (route === 'POST /v1/auth/verify') {
      const { address } = JSON.parse(body) as { address: string };
      return json(200, { verified: true, token: this.signIn(address) });
    }
    if (token === undefined || !this.#tokens.has(token)) return refusal(401, 'UNAUTHORIZED');
    if (route === 'POST /v1/orders') return this.#place(JSON.parse(body) as OrderBody);
    if (route === 'POST /v1/orders/batch')
      return this.#placeMany(JSON.parse(body) as { orders: OrderBody[] });
    const [, id] = /^GET \/v1\/orders\/by-client-id\/([^/]+)$/.exec(route) ?? [];
    if (id === undefined) return refusal(404, 'NOT_FOUND');
    // `fetch` removes dot segments from the path, so the request reaches another route.
    if (id === '.' || id === '..') return json(200, { orders: [], nextCursor: null });
    const order = this.orders.get(decodeURIComponent(id));
    return order === undefined ? refusal(404, 'NOT_FOUND') : json(200, { order: shown(order) });
  }

  /** Returns a token that is valid for eight hours. */
  signIn(address: string): string {
    this.#signIns += 1;
    const iat = Math.floor(this.#serviceNow() / 1_000);
    const claims = { sub: address.toLowerCase(), iat, exp: iat + 8 * 3_600, jti: this.#signIns };
    const token = `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
    this.#tokens.add(token);
    return token;
  }

  #placeMany({ orders }: { orders: readonly OrderBody[] }): RouteAnswer {
    const results = orders.map((order) => {
      const { status, text } = this.#place(order);
      return { ...(JSON.parse(text) as object), status: String(status) };
    });
    return json(200, { results });
  }

  #place(body: OrderBody): RouteAnswer {
    const { clientOrderId = null } = body;
    const known = clientOrderId === null ? undefined : this.orders.get(clientOrderId);
    if (known !== undefined) return json(200, placing(known));
    if (!isOrder(body)) return refusal(400, 'VALIDATION_ERROR');
    if (this.#serviceNow() > (body.expiresAfter ?? Infinity)) return refusal(400, 'BAD_REQUEST');
    const verdict = this.#verdict(body);
    switch (verdict) {
      case 'paused':
        return refusal(503, 'OPERATIONAL_PAUSED');
      case 'ledger away':
        return refusal(503, 'SERVICE_UNAVAILABLE');
      case 'no funds':
        return refusal(400, 'INSUFFICIENT_BALANCE');
      case 'settlement failed':
        this.record(body, 'rejected');
        return refusal(400, 'SETTLEMENT_FAILED');
      case 'reject': {
        const rejectCode = body.postOnly ? 'POST_ONLY_WOULD_CROSS' : 'FOK_NOT_FILLED';
        const order = this.record(body, 'rejected');
        return json(200, { ...placing(order), rejectCode, rejectReason: rejectCode });
      }
      default:
        return json(200, placing(this.record(body, STATUSES[verdict])));
    }
  }

  /** Records an order under its id. */
  record(terms: OrderBody, status: string): RecordedOrder {
    const { clientOrderId = null } = terms;
    const order = { id: `order ${this.orders.size + 1}`, status, clientOrderId, terms };
    this.orders.set(clientOrderId ?? order.id, order);
    this.recordedAt.set(clientOrderId ?? order.id, this.#now());
    return order;
  }

  #draw({ type, timeInForce, postOnly }: OrderBody): Verdict {
    const random = this.#random;
    if (random.chance(0.15)) return 'no funds';
    if (random.chance(0.03)) return random.pick(['paused', 'ledger away', 'settlement failed']);
    if ((postOnly || timeInForce === 'FOK') && random.chance(0.2)) return 'reject';
    if (timeInForce === 'FOK' || type === 'market') return 'fill';
    return timeInForce === 'IOC' ? random.pick(['fill', 'expire']) : random.pick(['rest', 'rest', 'fill']);
  }
}

const STATUSES = { rest: 'resting', fill: 'filled', expire: 'expired' } as const;

const isOrder = ({ market, side, type, size, quoteAmount }: OrderBody): boolean =>
  market !== undefined &&
  side !== undefined &&
  type !== undefined &&
  (size === undefined) !== (quoteAmount === undefined);

const shown = ({ id, status, clientOrderId, terms }: RecordedOrder): object => ({
  id,
  status,
  clientOrderId,
  market: terms.market,
  side: terms.side,
  type: terms.type,
  timeInForce: terms.timeInForce ?? 'GTC',
  postOnly: terms.postOnly ?? false,
  price: terms.type === 'limit' ? Number(terms.price) : null,
  size: Number(terms.size ?? 1),
  filledSize: 0,
  remainingSize: Number(terms.size ?? 1),
  createdAt: CREATED_AT,
  updatedAt: CREATED_AT,
  fillCount: 0,
  fills: [],
});

const placing = (order: RecordedOrder): object => ({
  ...shown(order),
  accepted: order.status !== 'rejected',
  order: shown(order),
});

const json = (status: number, body: object): RouteAnswer => ({
  status,
  headers: {},
  text: JSON.stringify(body),
});

const refusal = (status: number, code: string): RouteAnswer =>
  json(status, { error: 'as the service says', code });
