/** Limits the sign-ins that are under way in this process, in all and of one address. */

import { Bound } from '../domain/bound.ts';
import { SIGN_INS } from '../domain/bounds.ts';
import { Refusal } from '../domain/errors.ts';

const RETRY_AFTER_SECONDS = 1;

const unavailable = (message: string): Refusal =>
  new Refusal('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });

export class SignIns {
  readonly #bound: Bound;

  constructor(rule = SIGN_INS) {
    this.#bound = new Bound(rule);
  }

  /** Number of sign-ins that are under way. */
  get count(): number {
    return this.#bound.held;
  }

  /**
   * Runs a step of a sign-in. One that gives way is answered at once, and its late outcome is ignored.
   * @throws Refusal SERVICE_UNAVAILABLE if too many are under way and the address has most of them
   */
  async admit<T>(address: string, step: () => Promise<T>): Promise<T> {
    if (this.#bound.isFull(address))
      throw unavailable('too many sign-ins of this address are under way: let them finish first');
    const tooBusy = (): Refusal => unavailable('too many sign-ins are under way: try again in a moment');
    return new Promise((resolve, reject) => {
      const place = this.#bound.take(address, 1, { giveWay: () => reject(tooBusy()) });
      if (place === undefined) throw tooBusy();
      step()
        .finally(() => place.giveBack())
        .then(resolve, reject);
    });
  }
}
