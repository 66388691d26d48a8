/** Limits how many commands of one wallet may wait in this process. */

import { Refusal } from '../domain/errors.ts';

/** Most orders and cancels of one wallet that may wait. */
const MAX_WAITING = 256;
const RETRY_AFTER_SECONDS = 1;

export class WaitingCommands {
  readonly #counts = new Map<string, number>();

  /**
   * Runs a command of a wallet unless too many others wait.
   * @throws Refusal SERVICE_UNAVAILABLE when too many wait; the command was not begun
   */
  async admit<T>(wallet: string, command: () => Promise<T>): Promise<T> {
    const count = this.#counts.get(wallet) ?? 0;
    if (count >= MAX_WAITING) throw tooMany();
    this.#counts.set(wallet, count + 1);
    try {
      return await command();
    } finally {
      const left = this.#counts.get(wallet)! - 1;
      if (left > 0) this.#counts.set(wallet, left);
      else this.#counts.delete(wallet);
    }
  }
}

const tooMany = (): Refusal =>
  new Refusal(
    'SERVICE_UNAVAILABLE',
    `${MAX_WAITING} orders and cancels of this wallet wait already, and nothing was done: try again`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
