/**
 * Runs one command of a wallet at a time. A command never starts before it was requested, and callers that wait for the
 * same command share its run, and get its result some at a time.
 */

import { inTurns } from '../domain/shared-read.ts';

export class SharedRuns<Result> {
  readonly #lanes = new Map<
    string,
    { last: Promise<unknown>; readonly waiting: Map<string, () => Promise<Result>> }
  >();

  /** @param name identifies the command among those of the wallet */
  run(wallet: string, name: string, command: () => Promise<Result>): Promise<Result> {
    const lane = this.#lanes.get(wallet) ?? {
      last: Promise.resolve(),
      waiting: new Map<string, () => Promise<Result>>(),
    };
    this.#lanes.set(wallet, lane);
    const joined = lane.waiting.get(name);
    if (joined !== undefined) return joined();
    const result = lane.last.then(() => {
      lane.waiting.delete(name);
      return command();
    });
    const share = inTurns(result);
    lane.waiting.set(name, share);
    const ended = result.then(
      () => undefined,
      () => undefined,
    );
    lane.last = ended;
    void ended.then(() => {
      if (lane.last === ended) this.#lanes.delete(wallet);
    });
    return share();
  }
}
