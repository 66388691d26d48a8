/** Queues reads of wallets' histories: a limited number at a time, and one at a time for each wallet. */

import { Bound, type BoundRule, type Place } from '../domain/bound.ts';
import { WAITING_READS } from '../domain/bounds.ts';
import { Refusal } from '../domain/errors.ts';
import { inTurns } from '../domain/shared-read.ts';
import { ANSWER_WITHIN_MS, withTimeLimit } from '../domain/time-limit.ts';
import { ReadTurns } from './read-turns.ts';

interface WalletReadsOptions {
  readonly atOnce: number;
  /** Bounds the different reads that may wait. */
  readonly rule?: BoundRule;
  /** Timeout of the wait for a turn, in milliseconds. */
  readonly patienceMs?: number;
  /** Timeout of that wait and the read together, in milliseconds. */
  readonly answerMs?: number;
  /** Called before each read; throws if the wallet may not read now. */
  readonly admit?: (wallet: string) => void;
  /** Time by which reads are measured. */
  readonly nowMs?: () => number;
}

interface WaitingRead {
  /** Returns the reply for one more caller. */
  share(): Promise<unknown>;
  begin(): Promise<void>;
  refuse(error: unknown): void;
}

interface ReadLane {
  isReading: boolean;
  /** Waiting reads by name, in order of arrival. */
  readonly waiting: Map<string, WaitingRead>;
}

const RETRY_AFTER_SECONDS = 1;
/**
 * Runs one read per wallet at a time. A read never starts before it was requested. Callers that wait for the same read
 * share it. Wallets take turns by the time of their reads, so a wallet with many or long reads delays only itself.
 */
export class WalletReads {
  readonly #atOnce: number;
  readonly #bound: Bound;
  readonly #patienceMs: number;
  readonly #answerMs: number;
  readonly #admit: (wallet: string) => void;
  readonly #lanes = new Map<string, ReadLane>();
  readonly #nowMs: () => number;
  readonly #turns = new ReadTurns();
  #underWay = 0;

  constructor({
    atOnce,
    rule = WAITING_READS,
    patienceMs = 2_000,
    answerMs = ANSWER_WITHIN_MS,
    admit = () => undefined,
    nowMs = () => performance.now(),
  }: WalletReadsOptions) {
    this.#atOnce = atOnce;
    this.#bound = new Bound(rule);
    this.#patienceMs = patienceMs;
    this.#answerMs = answerMs;
    this.#admit = admit;
    this.#nowMs = nowMs;
  }

  /**
   * Answers a read when its turn has come. A read that takes too long continues, and keeps its turn until it ends.
   * @param name identifies the read: waiting reads of one wallet with equal names share an answer
   * @throws Refusal SERVICE_UNAVAILABLE if too many reads wait and the wallet has most of them, or the wait or the read
   *   takes too long
   */
  async read<Reply>(wallet: string, name: string, read: () => Promise<Reply>): Promise<Reply> {
    this.#admit(wallet);
    const lane = this.#laneOf(wallet);
    let waiting = lane.waiting.get(name);
    if (waiting === undefined) {
      waiting = this.#wait(wallet, lane, name, read);
      if (!lane.isReading) this.#turns.add(wallet);
      this.#beginNext();
    }
    return withTimeLimit(this.#answerMs, waiting.share() as Promise<Reply>, () => {
      throw tooSlow();
    });
  }

  #laneOf(wallet: string): ReadLane {
    const known = this.#lanes.get(wallet);
    if (known !== undefined) return known;
    return { isReading: false, waiting: new Map<string, WaitingRead>() };
  }

  #wait(wallet: string, lane: ReadLane, name: string, read: () => Promise<unknown>): WaitingRead {
    const place = this.#takePlace(wallet, () => refuse(tooManyReads()));
    let resolve!: (reply: unknown) => void;
    let reject!: (error: unknown) => void;
    const reply = new Promise<unknown>((onReply, onError) => {
      resolve = onReply;
      reject = onError;
    });
    const leave = (): void => {
      clearTimeout(timer);
      place.giveBack();
      lane.waiting.delete(name);
      if (lane.waiting.size === 0 && !lane.isReading) this.#forget(wallet);
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
        // If a server is unavailable or hangs, all waiting reads fail at once, so that each does not wait for the
        // timeout.
        if (isAway(error)) for (const other of [...lane.waiting.values()]) other.refuse(error);
      }
    };
    const waiting = { share: inTurns(reply), begin, refuse };
    lane.waiting.set(name, waiting);
    this.#lanes.set(wallet, lane);
    return waiting;
  }

  #takePlace(wallet: string, giveWay: () => void): Place {
    if (this.#bound.isFull(wallet)) throw tooManyReads();
    const place = this.#bound.take(wallet, 1, { giveWay });
    if (place === undefined) throw tooBusy();
    return place;
  }

  #beginNext(): void {
    while (this.#underWay < this.#atOnce) {
      const wallet = this.#turns.next();
      if (wallet === undefined) return;
      const lane = this.#lanes.get(wallet)!;
      const [next] = lane.waiting.values();
      void this.#begin(wallet, lane, next!);
    }
  }

  async #begin(wallet: string, lane: ReadLane, next: WaitingRead): Promise<void> {
    this.#underWay += 1;
    lane.isReading = true;
    const beganMs = this.#nowMs();
    await next.begin();
    const waits = lane.waiting.size > 0;
    this.#turns.ended(wallet, this.#nowMs() - beganMs, waits);
    lane.isReading = false;
    this.#underWay -= 1;
    if (!waits) this.#forget(wallet);
    this.#beginNext();
  }

  #forget(wallet: string): void {
    this.#lanes.delete(wallet);
    this.#turns.delete(wallet);
  }
}

const isAway = (error: unknown): boolean => error instanceof Refusal && error.code === 'SERVICE_UNAVAILABLE';

/** The contract has no request limit for these routes, so this is no 429. */
const unavailable = (message: string): Refusal =>
  new Refusal('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });

export const tooManyReads = (): Refusal =>
  unavailable('too many reads of this wallet wait already: let them finish first');
export const tooSlow = (): Refusal => unavailable('the read takes too long: try again in a moment');
export const tooBusy = (): Refusal => unavailable('too many reads are under way: try again in a moment');
