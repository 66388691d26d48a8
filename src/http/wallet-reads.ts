/** Reads of wallets' histories: few at a time in all, and one at a time for each wallet. */

import type { ServerResponse } from 'node:http';
import { Refusal } from '../domain/errors.ts';

interface WalletReadsOptions {
  /** Reads under way at a time, of all wallets together. */
  readonly atOnce: number;
  /** Different reads of one wallet that may wait. */
  readonly mostWaiting?: number;
  /** Longest wait for a turn, in milliseconds. */
  readonly patienceMs?: number;
  /** Replies that clients have not taken yet, of these reads and of others. */
  readonly unsent?: UnsentReplies;
}

const MOST_UNSENT_BYTES = { ofWallet: 8 * 1024 * 1024, inAll: 128 * 1024 * 1024 };

/** Smaller replies are no burden, and most are sent before anybody could count them. */
const COUNTED_FROM_BYTES = 16 * 1024;

interface Unsent {
  readonly wallet: string;
  readonly bytes: number;
  readonly response: ServerResponse;
}

/** Counts the bytes of replies that wait for slow clients: a wallet that does not take them is given no more. */
export class UnsentReplies {
  readonly #replies = new Set<Unsent>();

  /** To be called when the reply is written; it counts until it is sent, or its client is gone. */
  add(wallet: string, bytes: number, response: ServerResponse): void {
    if (bytes < COUNTED_FROM_BYTES || response.destroyed) return;
    const reply = { wallet, bytes, response };
    this.#replies.add(reply);
    response.once('close', () => this.#replies.delete(reply));
  }

  /** @throws Refusal RATE_LIMITED when the wallet has too many bytes to take, SERVICE_UNAVAILABLE when all have */
  check(wallet: string): void {
    let [ofWallet, inAll] = [0, 0];
    for (const reply of this.#replies) {
      // A reply that waited behind another on its connection is not told that the connection is gone.
      if (reply.response.req.socket.destroyed) this.#replies.delete(reply);
      else {
        inAll += reply.bytes;
        if (reply.wallet === wallet) ofWallet += reply.bytes;
      }
    }
    if (ofWallet > MOST_UNSENT_BYTES.ofWallet) throw tooMany();
    if (inAll > MOST_UNSENT_BYTES.inAll) throw tooBusy();
  }
}

interface Waiting {
  readonly reply: Promise<unknown>;
  begin(): Promise<void>;
  refuse(error: unknown): void;
}

interface Lane {
  isReading: boolean;
  /** By what is read, in the order of arrival. */
  readonly waiting: Map<string, Waiting>;
}

const MOST_WALLETS = 1_000;
const RETRY_AFTER_SECONDS = 1;

/**
 * A read of a wallet waits for the one that is under way for this wallet, and begins after it was asked for. All who
 * wait for the same read share it. Wallets take turns, so one that asks for much delays itself.
 */
export class WalletReads {
  readonly #atOnce: number;
  readonly #mostWaiting: number;
  readonly #patienceMs: number;
  readonly #unsent: UnsentReplies | undefined;
  readonly #lanes = new Map<string, Lane>();
  /** Wallets that wait for a turn, in its order. */
  readonly #turns = new Set<string>();
  #underWay = 0;

  constructor({ atOnce, mostWaiting = 64, patienceMs = 2_000, unsent }: WalletReadsOptions) {
    this.#atOnce = atOnce;
    this.#mostWaiting = mostWaiting;
    this.#patienceMs = patienceMs;
    this.#unsent = unsent;
  }

  /**
   * @param name says what is read: equal names of one wallet are answered alike
   * @throws Refusal RATE_LIMITED when too many reads of the wallet wait, SERVICE_UNAVAILABLE when the wait is too long
   */
  async read<Reply>(wallet: string, name: string, read: () => Promise<Reply>): Promise<Reply> {
    this.#unsent?.check(wallet);
    const lane = this.#laneOf(wallet);
    let waiting = lane.waiting.get(name);
    if (waiting === undefined) {
      if (lane.waiting.size >= this.#mostWaiting) throw tooMany();
      waiting = this.#wait(lane, name, read);
      if (!lane.isReading) this.#turns.add(wallet);
      this.#beginNext();
    }
    return waiting.reply as Promise<Reply>;
  }

  #laneOf(wallet: string): Lane {
    const known = this.#lanes.get(wallet);
    if (known !== undefined) return known;
    if (this.#lanes.size >= MOST_WALLETS) throw tooBusy();
    const lane = { isReading: false, waiting: new Map<string, Waiting>() };
    this.#lanes.set(wallet, lane);
    return lane;
  }

  #wait(lane: Lane, name: string, read: () => Promise<unknown>): Waiting {
    let resolve!: (reply: unknown) => void;
    let reject!: (error: unknown) => void;
    const reply = new Promise<unknown>((onReply, onError) => {
      resolve = onReply;
      reject = onError;
    });
    const leave = (): void => {
      clearTimeout(timer);
      lane.waiting.delete(name);
    };
    const refuse = (error: unknown): void => {
      leave();
      reject(error);
    };
    const timer = setTimeout(() => refuse(tooBusy()), this.#patienceMs);
    const begin = async (): Promise<void> => {
      leave();
      try {
        resolve(await read());
      } catch (error) {
        reject(error);
        // A server that is away or hangs is waited for once.
        if (isAway(error)) for (const other of [...lane.waiting.values()]) other.refuse(error);
      }
    };
    const waiting = { reply, begin, refuse };
    lane.waiting.set(name, waiting);
    return waiting;
  }

  #beginNext(): void {
    for (const wallet of this.#turns) {
      if (this.#underWay >= this.#atOnce) return;
      this.#turns.delete(wallet);
      const lane = this.#lanes.get(wallet)!;
      const [next] = lane.waiting.values();
      if (next === undefined) this.#lanes.delete(wallet);
      else void this.#begin(wallet, lane, next);
    }
  }

  async #begin(wallet: string, lane: Lane, next: Waiting): Promise<void> {
    this.#underWay += 1;
    lane.isReading = true;
    await next.begin();
    lane.isReading = false;
    this.#underWay -= 1;
    if (lane.waiting.size > 0) this.#turns.add(wallet);
    else this.#lanes.delete(wallet);
    this.#beginNext();
  }
}

const isAway = (error: unknown): boolean => error instanceof Refusal && error.code === 'SERVICE_UNAVAILABLE';

const tooMany = (): Refusal =>
  new Refusal('RATE_LIMITED', 'too many reads of this wallet wait already: let them finish first', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

const tooBusy = (): Refusal =>
  new Refusal('SERVICE_UNAVAILABLE', 'too many reads are under way: try again in a moment');
