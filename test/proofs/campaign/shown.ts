/** Orders and executions that replies and frames showed: none of them may be gone at a rest. */

import type { Reply } from '../../support/http-exchange.ts';

export interface ShownIds {
  readonly orders: ReadonlySet<string>;
  readonly trades: ReadonlySet<string>;
  /** Notes what a reply or a frame shows. */
  look(body: unknown): void;
  /** Begins anew, because all of them were checked. */
  clear(): void;
  /** The service has honestly lost some of them: nothing counts until `begin`. */
  forget(): void;
  begin(): void;
}

interface Named {
  readonly id?: unknown;
  readonly trade_id?: unknown;
  readonly fills?: readonly Named[];
}

interface Body {
  readonly orders?: readonly Named[];
  readonly trades?: readonly Named[];
}

const ORDER_ID = /^[0-9a-f-]{32,36}$/;

export function openShownIds(): ShownIds {
  const orders = new Set<string>();
  const trades = new Set<string>();
  let isLossy = false;
  const noteOrder = ({ id, fills = [] }: Named): void => {
    if (typeof id === 'string' && ORDER_ID.test(id)) orders.add(id);
    for (const fill of fills) noteTrade(fill);
  };
  const noteTrade = ({ id, trade_id = id }: Named): void => {
    if (trade_id !== undefined) trades.add(String(trade_id));
  };
  const clear = (): void => {
    orders.clear();
    trades.clear();
  };
  return {
    orders,
    trades,
    look(body) {
      if (isLossy || typeof body !== 'object' || body === null) return;
      if (Array.isArray(body)) for (const one of body as Named[]) noteTrade({ trade_id: one.trade_id });
      const { orders: listed, trades: executed } = body as Body;
      if (Array.isArray(listed)) for (const order of listed) noteOrder(order);
      if (Array.isArray(executed)) for (const trade of executed) noteTrade(trade);
      noteOrder(body as Named);
    },
    clear,
    forget() {
      isLossy = true;
      clear();
    },
    begin() {
      isLossy = false;
    },
  };
}

/** The body of a reply that shows something. */
export const bodyOf = (reply: Reply | Error): unknown =>
  'status' in reply && reply.status === 200 ? reply.body : undefined;
