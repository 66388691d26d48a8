/** An independent implementation of the ledger's state: plain maps, no SQL, no shared code. */

import type { EngineEvent, MovementKind } from '../../src/domain/event.ts';
import type { ClosedOrder, Order, Trade } from '../../src/domain/order.ts';

export type ReferenceOrder = Order & { fillCount: number; trades: Trade[] };

export interface ReferenceLedger {
  orders: ReferenceOrder[];
  trades: Trade[];
  movements: { kind: MovementKind; reference: string; amountAtoms: bigint; sequence: number }[];
  /** `account asset` to atoms. */
  balances: Map<string, bigint>;
}

/** The accounts that each kind of movement changes. */
const SIDES: Readonly<Record<MovementKind, readonly (readonly [account: string, sign: bigint])[]>> = {
  credited: [
    ['wallet', 1n],
    ['custody', -1n],
  ],
  debited: [
    ['wallet', -1n],
    ['custody', 1n],
  ],
  requested: [
    ['wallet', -1n],
    ['withdrawals', 1n],
  ],
  confirmed: [
    ['withdrawals', -1n],
    ['custody', 1n],
  ],
  returned: [
    ['withdrawals', -1n],
    ['wallet', 1n],
  ],
  announced: [],
  dropped: [],
};

export function referenceLedger(events: readonly EngineEvent[]): ReferenceLedger {
  const byId = new Map<string, ReferenceOrder>();
  const ledger: ReferenceLedger = { orders: [], trades: [], movements: [], balances: new Map() };

  const add = (account: string, asset: string, atoms: bigint): void => {
    const key = `${account} ${asset}`;
    ledger.balances.set(key, (ledger.balances.get(key) ?? 0n) + atoms);
  };
  const change = (id: string, timeMs: number, end?: ClosedOrder, trade?: Trade): void => {
    const order = byId.get(id)!;
    const filledSteps = order.filledSteps + (trade?.sizeSteps ?? 0n);
    const filled = filledSteps === order.sizeSteps ? 'filled' : 'partially_filled';
    const { status, reason } = end ?? { status: filled, reason: null };
    Object.assign(order, { filledSteps, status, reason, updatedAtMs: timeMs });
    if (trade) order.fillCount = order.trades.push(trade);
  };
  const trade = (made: Trade): void => {
    ledger.trades.push(made);
    const base = made.sizeSteps * made.units.baseAtomsPerStep;
    const quote = made.sizeSteps * made.priceTicks * made.units.quoteAtomsPerLot;
    const [buyer, seller] =
      made.takerSide === 'buy' ? [made.takerWallet, made.makerWallet] : [made.makerWallet, made.takerWallet];
    add(buyer, made.units.base, base);
    add(seller, made.units.base, -base);
    add(buyer, made.units.quote, -quote);
    add(seller, made.units.quote, quote);
    add(made.takerWallet, made.units.quote, -made.feeAtoms);
    add('house', made.units.quote, made.feeAtoms);
  };

  for (const event of events) {
    if (event.kind === 'order_placed') {
      const order: ReferenceOrder = {
        ...event.order,
        filledSteps: event.filledSteps,
        status: event.status,
        reason: event.reason,
        updatedAtMs: event.timeMs,
        fillCount: event.trades.length,
        trades: [...event.trades],
      };
      byId.set(order.id, order);
      ledger.orders.push(order);
      for (const made of event.trades) {
        trade(made);
        change(made.makerOrderId, event.timeMs, undefined, made);
      }
      for (const order of event.expired) change(order.id, event.timeMs, order);
    } else if (event.kind === 'orders_closed') {
      for (const order of event.orders) change(order.id, event.timeMs, order);
    } else if ('amountAtoms' in event) {
      for (const [account, sign] of SIDES[event.kind])
        add(account === 'wallet' ? event.wallet : account, event.asset, sign * event.amountAtoms);
      const { kind, wallet, asset, owedAtoms = 0n } = event;
      add(wallet, asset, kind === 'debited' ? owedAtoms : -owedAtoms);
      if (owedAtoms > 0n) add(`receivable:${wallet}`, asset, kind === 'debited' ? -owedAtoms : owedAtoms);
      ledger.movements.push(event);
    }
  }
  return ledger;
}
