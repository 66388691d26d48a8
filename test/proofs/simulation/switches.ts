/**
 * Dead-man switches as they were taken: each fires once. What the engine records of a taken switch is held against the
 * events of that moment, and orders of later events must stay.
 */

import type { OrderTerms } from '../../../src/domain/order.ts';
import { walletText } from '../../../src/engine/codec.ts';
import { KEYS } from '../../../src/engine/keys.ts';
import { Violation } from './journal.ts';
import type { World } from './world.ts';

const WALLET_BYTES = 20;
/** Bytes of a cut-off: epoch (2) | sequence (6) | time at which the switch was due (7). */
const SEQUENCE_AT = 2;
const DUE_AT = 9;

export class Switches {
  /** Sequence of the last event before the switch of a wallet was taken, by wallet and due time. */
  #taken = new Map<string, number>();
  /** The same of the server before, from which the present one has its records. */
  #takenBefore: ReadonlyMap<string, number> = new Map();
  /** The highest of them, by wallet. */
  readonly #cutOffs = new Map<string, number>();
  #watched: string | undefined;

  /** Clients cancel no order of the wallet from now on, so what is cancelled is cancelled by its switch. */
  watch(wallet: string): void {
    this.#watched = wallet;
  }

  /** Called after a command that may take switches. */
  async look({ redis, journal, nowMs }: Pick<World, 'redis' | 'journal' | 'nowMs'>): Promise<void> {
    const last = journal.last!;
    const found = (await redis.callBuffer('HGETALL', KEYS.cancelAfterCutOffs)) as Buffer[];
    for (let at = 0; at < found.length; at += 2) {
      // The other fields note when switches are due.
      if (found[at]!.length !== WALLET_BYTES) continue;
      const wallet = walletText(found[at]!);
      const cutOff = found[at + 1]!;
      const sequence = cutOff.readUIntBE(SEQUENCE_AT, 6);
      const dueMs = cutOff.readUIntBE(DUE_AT, 6);
      const known = this.#taken.get(`${wallet} ${dueMs}`);
      if (known === sequence) continue;
      if (known !== undefined)
        throw new Violation('a dead-man switch fires once', `${wallet} at ${known} and at ${sequence}`);
      const isCopied = this.#takenBefore.get(`${wallet} ${dueMs}`) === sequence;
      const isRight = isCopied || (sequence === last.sequence && dueMs <= Math.max(nowMs, last.timeMs));
      // A rebuilt engine goes on after the last event that Postgres has.
      if (!isRight && !journal.isLost)
        throw new Violation('a switch is taken when it is due', `${wallet}: ${sequence}, due ${dueMs}`);
      this.#taken.set(`${wallet} ${dueMs}`, sequence);
      this.#cutOffs.set(wallet, Math.max(sequence, this.#cutOffs.get(wallet) ?? 0));
    }
  }

  /** The server has become one that may not know which switches have fired. */
  forget(): void {
    this.#takenBefore = new Map([...this.#takenBefore, ...this.#taken]);
    this.#taken = new Map();
  }

  /** Returns false for an order that no switch of its wallet covers, and that nobody else cancels. */
  mayCancel({ wallet, sequence }: OrderTerms): boolean {
    return wallet !== this.#watched || sequence <= (this.#cutOffs.get(wallet) ?? 0);
  }
}
