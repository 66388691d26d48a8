/**
 * Recomputes balances and statements from events with arithmetic of its own: nothing here reads a balance that Redbook
 * kept, or uses its code for entries.
 */

import type { EngineEvent } from '../../src/domain/event.ts';

/** A change of one asset of one account. */
export interface Change {
  readonly timeMs: number;
  readonly sequence: number;
  readonly account: string;
  readonly asset: string;
  readonly atoms: bigint;
  readonly what:
    | 'deposit'
    | 'withdrawal'
    | 'withdrawal_requested'
    | 'withdrawal_confirmed'
    | 'withdrawal_returned'
    | 'receivable'
    | 'trade'
    | 'fee';
}

interface Holding {
  readonly account: string;
  readonly asset: string;
  readonly atomsPerStep: bigint;
  steps: bigint;
}

export interface Figures {
  total: bigint;
  reserved: bigint;
}

/** Replays events in their order. */
export class Recomputed {
  readonly changes: Change[] = [];
  readonly #live = new Map<string, Holding>();
  readonly #totals = new Map<string, bigint>();

  apply(event: EngineEvent): void {
    if ('amountAtoms' in event) {
      const { asset, amountAtoms, wallet } = event;
      const move = (account: string, to: string, what: Change['what']): void => {
        this.#change(event, account, asset, -amountAtoms, what);
        this.#change(event, to, asset, amountAtoms, what);
      };
      if (event.kind === 'credited') move('custody', wallet, 'deposit');
      if (event.kind === 'debited') move(wallet, 'custody', 'withdrawal');
      if (event.kind === 'requested') move(wallet, 'withdrawals', 'withdrawal_requested');
      if (event.kind === 'confirmed') move('withdrawals', 'custody', 'withdrawal_confirmed');
      if (event.kind === 'returned') move('withdrawals', wallet, 'withdrawal_returned');
      const { owedAtoms = 0n } = event;
      const lent = event.kind === 'debited' ? owedAtoms : -owedAtoms;
      this.#change(event, `receivable:${wallet}`, asset, -lent, 'receivable');
      this.#change(event, wallet, asset, lent, 'receivable');
    } else if (event.kind === 'orders_closed') {
      for (const { id } of event.orders) this.#live.delete(id);
    } else if (event.kind === 'order_placed') {
      this.#place(event);
    }
  }

  /** Returns what every account has now, by `account asset`. */
  figures(): Map<string, Figures> {
    const figures = new Map<string, Figures>();
    const of = (key: string): Figures => {
      const known = figures.get(key) ?? { total: 0n, reserved: 0n };
      figures.set(key, known);
      return known;
    };
    for (const [key, total] of this.#totals) if (total !== 0n) of(key).total = total;
    for (const { account, asset, atomsPerStep, steps } of this.#live.values())
      of(`${account} ${asset}`).reserved += steps * atomsPerStep;
    return figures;
  }

  #place(event: EngineEvent & { kind: 'order_placed' }): void {
    const { order, trades } = event;
    for (const { id } of event.expired) this.#live.delete(id);
    for (const trade of trades) {
      const { units, sizeSteps, takerWallet, makerWallet, feeAtoms } = trade;
      const base = sizeSteps * units.baseAtomsPerStep;
      const notional = trade.priceTicks * sizeSteps * units.quoteAtomsPerLot;
      const [buyer, seller] =
        trade.takerSide === 'buy' ? [takerWallet, makerWallet] : [makerWallet, takerWallet];
      this.#change(event, buyer, units.base, base, 'trade');
      this.#change(event, seller, units.base, -base, 'trade');
      this.#change(event, buyer, units.quote, -notional, 'trade');
      this.#change(event, seller, units.quote, notional, 'trade');
      this.#change(event, takerWallet, units.quote, -feeAtoms, 'fee');
      this.#change(event, 'house', units.quote, feeAtoms, 'fee');
      const maker = this.#live.get(trade.makerOrderId)!;
      maker.steps -= sizeSteps;
      if (maker.steps === 0n) this.#live.delete(trade.makerOrderId);
    }
    if (event.status !== 'resting' && event.status !== 'partially_filled') return;
    const { units } = order;
    const isSell = order.side === 'sell';
    this.#live.set(order.id, {
      account: order.wallet,
      asset: isSell ? units.base : units.quote,
      atomsPerStep: isSell ? units.baseAtomsPerStep : order.priceTicks! * units.quoteAtomsPerLot,
      steps: order.sizeSteps - event.filledSteps,
    });
  }

  #change(event: EngineEvent, account: string, asset: string, atoms: bigint, what: Change['what']): void {
    if (atoms === 0n) return;
    const { timeMs, sequence } = event;
    this.changes.push({ timeMs, sequence, account, asset, atoms, what });
    const key = `${account} ${asset}`;
    this.#totals.set(key, (this.#totals.get(key) ?? 0n) + atoms);
  }
}
