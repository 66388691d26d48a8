/** Limits how many commands wait in this process, in all and of one wallet. */

import { Bound, type Place, type Taker } from '../domain/bound.ts';
import { WAITING_COMMANDS } from '../domain/bounds.ts';
import { Refusal } from '../domain/errors.ts';
import { neverSent } from './failures.ts';

const RETRY_AFTER_SECONDS = 1;

const TO_ITS_END: Taker = { giveWay: () => undefined };

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
   * Counts an order of a wallet until its place is given back.
   * @param order given up when it should end unless it was sent, because this wallet has most commands of too many
   * @throws Refusal SERVICE_UNAVAILABLE when too many wait
   */
  admit(wallet: string, order: Taker): Place {
    this.check(wallet);
    const place = this.#bound.take(wallet, 1, order);
    if (place === undefined) throw neverSent();
    return place;
  }

  /**
   * Counts a cancel of a wallet until its place is given back. Commands of other wallets never refuse or end it.
   * @returns undefined for a cancel that is not counted, because too many commands wait in all
   * @throws Refusal SERVICE_UNAVAILABLE when too many of the wallet wait
   */
  admitCancel(wallet: string): Place | undefined {
    this.check(wallet);
    return this.#bound.take(wallet, 1, TO_ITS_END);
  }
}
