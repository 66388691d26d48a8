/** Limits how many commands wait in this process, in all and of one wallet. */

import { Bound } from '../domain/bound.ts';
import { WAITING_COMMANDS } from '../domain/bounds.ts';
import { Refusal } from '../domain/errors.ts';
import { neverSent } from './failures.ts';

const RETRY_AFTER_SECONDS = 1;

export class WaitingCommands {
  readonly #bound: Bound;
  /** One for all, because most of the cost of an error is the trace of its stack. */
  readonly #refusal: Refusal;

  constructor(rule = WAITING_COMMANDS) {
    this.#bound = new Bound(rule);
    this.#refusal = new Refusal(
      'SERVICE_UNAVAILABLE',
      `${rule.ofHolder} orders and cancels of this wallet wait already, and nothing was done: try again`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }

  /** @throws Refusal SERVICE_UNAVAILABLE when so many commands of the wallet wait that one more would be refused */
  check(wallet: string): void {
    if (this.#bound.isFull(wallet)) throw this.#refusal;
  }

  /**
   * Runs an order of a wallet unless too many of its commands wait.
   * @param giveUp called when the order should end unless it was sent, because this wallet has most commands of too many
   * @throws Refusal SERVICE_UNAVAILABLE when too many wait; the order was not begun
   */
  async admit<T>(wallet: string, order: () => Promise<T>, giveUp: () => void): Promise<T> {
    this.check(wallet);
    const place = this.#bound.take(wallet, 1, giveUp);
    if (place === undefined) throw neverSent();
    try {
      return await order();
    } finally {
      place.giveBack();
    }
  }

  /**
   * Runs a cancel of a wallet unless too many of its commands wait. Those of other wallets never refuse or end it.
   * @throws Refusal SERVICE_UNAVAILABLE when too many wait; the cancel was not begun
   */
  async admitCancel<T>(wallet: string, cancel: () => Promise<T>): Promise<T> {
    this.check(wallet);
    const place = this.#bound.take(wallet, 1, () => undefined);
    try {
      return await cancel();
    } finally {
      place?.giveBack();
    }
  }
}
