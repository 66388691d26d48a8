/**
 * Places the orders of the rounds on the engine, step by step, and waits when settlement is behind. A step that was
 * begun before may be repeated: its orders are looked up in Postgres first, as a replica does for ids that the engine
 * may have forgotten.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { moveFundsOnce } from '../../../src/books/movements.ts';
import { Refusal } from '../../../src/domain/errors.ts';
import type { Engine, EngineMoment } from '../../../src/engine/index.ts';
import type { Ledger } from '../../../src/ledger/index.ts';
import { marketSpec } from '../../support/market-spec.ts';
import { firstCome } from '../../support/turn-order.ts';
import {
  cancelledAfter,
  marketOf,
  ordersAfter,
  ordersOf,
  type PlacedOrder,
  ROUNDS_A_STEP,
  type Shape,
  walletsOf,
} from './rounds.ts';
import type { Tail } from './tail.ts';

export interface DriverOptions {
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly shape: Shape;
  readonly tail: Tail;
  /** Events that may be unsettled before the driver waits. */
  readonly maxLag: number;
}

const CREDIT_ATOMS = 10n ** 15n;
const CREDITED_TOGETHER = 64;
/** Wallets take turns in setting a dead-man switch and switching it off. */
const SWITCH_MS = 60_000;
/** A busy machine may keep a server from answering for minutes, and a run takes hours. */
const PATIENCE_MS = 600_000;
const RETRY_MS = 500;
const POLL_MS = 20;
/** Ids of the two movements of a step. */
const MOVEMENTS_A_STEP = 2;

export class Driver {
  readonly #options: DriverOptions;
  /** Ids of orders that are cancelled later, by client order id. */
  readonly #ids = new Map<string, string>();
  #maxLag: number;

  constructor(options: DriverOptions) {
    this.#options = options;
    this.#maxLag = options.maxLag;
  }

  /** Publishes the markets and credits the wallets; what exists already stays as it is. */
  async prepare(): Promise<void> {
    const { engine, ledger, shape } = this.#options;
    await engine.assets.set({ symbol: 'USDC', scale: 6 });
    for (let market = 0; market < shape.markets; market += 1)
      if ((await engine.markets.bySymbol(marketOf(market))) === undefined)
        await engine.markets.create(marketSpec(marketOf(market)));
    const credits = walletsOf(shape).flatMap((wallet) =>
      assetsOf(shape).map((asset) => ({ wallet, asset, reference: `${wallet} ${asset}` })),
    );
    for (let at = 0; at < credits.length; at += CREDITED_TOGETHER)
      await Promise.all(
        credits
          .slice(at, at + CREDITED_TOGETHER)
          .map((credit) =>
            untilAnswered(() =>
              moveFundsOnce({ engine, ledger }, { ...credit, kind: 'credited', amountAtoms: CREDIT_ATOMS }),
            ),
          ),
      );
  }

  /** Returns the number of ids that are claimed after so many rounds. */
  idsAfter(rounds: number): number {
    const { shape } = this.#options;
    const steps = rounds / ROUNDS_A_STEP;
    const credits = walletsOf(shape).length * assetsOf(shape).length;
    return credits + ordersAfter(shape, rounds) + steps * MOVEMENTS_A_STEP;
  }

  /**
   * Makes the step that begins with a round.
   * @param isRepeated true when some of its orders may have been placed before
   */
  async step(round: number, isRepeated: boolean): Promise<void> {
    await untilAnswered((isFirst) => this.#step(round, isRepeated || !isFirst));
    await this.#keepPace(round + ROUNDS_A_STEP);
  }

  async #step(first: number, isRepeated: boolean): Promise<void> {
    const { engine, ledger, shape } = this.#options;
    const rounds = Array.from({ length: ROUNDS_A_STEP }, (_, at) => first + at);
    const wallet = walletsOf(shape)[(first / ROUNDS_A_STEP) % (2 * shape.wallets)]!;
    const move = (kind: 'credited' | 'debited'): Promise<unknown> =>
      moveFundsOnce(
        { engine, ledger },
        { kind, wallet, asset: 'USDC', amountAtoms: 1n, reference: `growth-${kind}-${first}` },
      );
    const markets = Array.from({ length: shape.markets }, (_, market) => market);
    const { epoch, timeMs } = await engine.reads.state();
    const checked: EngineMoment = { epoch, timeMs: Math.max(timeMs, Date.now()) };
    await all([
      ...markets.map((market) =>
        this.#place(
          rounds.flatMap((round) => ordersOf(shape, market, round)),
          checked,
          isRepeated,
        ),
      ),
      move('credited'),
      move('debited'),
      engine.dueCancels.set(wallet, SWITCH_MS),
    ]);
    await engine.dueCancels.set(wallet, 0);
    const cancels = markets.flatMap((market) =>
      rounds.flatMap((round) =>
        cancelledAfter(shape, round).map((order) => ordersOf(shape, market, order.round)[order.at]!),
      ),
    );
    await all(cancels.map((order) => this.#cancel(order, isRepeated)));
  }

  /**
   * Places orders of one market in their order.
   *
   * The filter rules out most new ids. For the few others Postgres would have to be asked, and such an order would come
   * after those behind it. So each order comes with a look into Postgres: one that the driver made if the order may have
   * been placed before. Otherwise none is needed, because each id is used once and this one was not.
   */
  async #place(orders: readonly PlacedOrder[], checked: EngineMoment, isRepeated: boolean): Promise<void> {
    const { engine, ledger } = this.#options;
    const isNew = isRepeated
      ? await Promise.all(orders.map(async (order) => (await this.#settledId(order, ledger)) === null))
      : orders.map(() => true);
    const news = orders.filter((_, at) => isNew[at]);
    await all(
      news.map(async ({ wallet, request, isCancelled }) => {
        const placed = await engine.orders.place({ wallet, request, checked, ticket: firstCome(wallet) });
        if (placed.outcome === 'claimed' && isRepeated) return;
        if (placed.outcome !== 'placed') throw new Error(`${request.clientOrderId}: ${placed.outcome}`);
        if (isCancelled) this.#ids.set(request.clientOrderId, placed.order.id);
      }),
    );
  }

  #settledId({ wallet, request }: PlacedOrder, ledger: Ledger): Promise<string | null> {
    return ledger.orders.placedId(wallet, request.clientOrderId);
  }

  async #cancel(order: PlacedOrder, isRepeated: boolean): Promise<void> {
    const { engine } = this.#options;
    const { wallet, request } = order;
    const id = this.#ids.get(request.clientOrderId) ?? (await this.#idOf(order));
    this.#ids.delete(request.clientOrderId);
    try {
      await engine.orders.cancel(wallet, id);
    } catch (error) {
      const isGone = error instanceof Refusal && error.code === 'ORDER_NOT_FOUND';
      if (!isGone || !isRepeated) throw error;
    }
  }

  /** Finds an order of an earlier run of this driver. */
  async #idOf(order: PlacedOrder): Promise<string> {
    const { engine, ledger } = this.#options;
    const found = await engine.orders.find(order.wallet, order.request.clientOrderId);
    const id = found.outcome === 'claimed' ? found.orderId : await this.#settledId(order, ledger);
    if (id === null) throw new Error(`${order.request.clientOrderId} was never placed`);
    return id;
  }

  /** Notes the position after so many rounds, and waits while too much is not settled. */
  async #keepPace(rounds: number): Promise<void> {
    const lag = await this.note(rounds);
    if (lag > this.#maxLag) await this.untilLag(this.#maxLag / 2, rounds);
  }

  /** @returns the number of events that are not settled */
  async note(rounds: number): Promise<number> {
    const { engine, ledger, tail } = this.#options;
    const { sequence: settled } = await untilAnswered(() => ledger.settlement.cursor());
    const { sequence } = await untilAnswered(() => engine.reads.state());
    tail.note({ timeMs: Date.now(), sequence, settled, ids: this.idsAfter(rounds) });
    return sequence - settled;
  }

  /**
   * Waits until at most so many events are unsettled.
   * @throws Error when settlement makes no progress for ten minutes
   */
  async untilLag(max: number, rounds: number): Promise<void> {
    let least = Number.POSITIVE_INFINITY;
    let sinceMs = Date.now();
    for (;;) {
      const lag = await this.note(rounds);
      if (lag <= max) return;
      if (lag < least) [least, sinceMs] = [lag, Date.now()];
      if (Date.now() - sinceMs > PATIENCE_MS)
        throw new Error(`settlement makes no progress: ${lag} events are not settled`);
      await sleep(POLL_MS);
    }
  }

  /** Runs work while no lag is waited for. */
  async withoutPace(work: () => Promise<void>): Promise<void> {
    this.#maxLag = Number.POSITIVE_INFINITY;
    try {
      await work();
    } finally {
      this.#maxLag = this.#options.maxLag;
    }
  }
}

const assetsOf = ({ markets }: Shape): string[] => [
  'USDC',
  ...Array.from({ length: markets }, (_, market) => `M${market}`),
];

/**
 * Repeats work while a server is unavailable.
 * @param work is told whether this is the first attempt
 * @throws Refusal SERVICE_UNAVAILABLE after ten minutes
 */
async function untilAnswered<Result>(work: (isFirst: boolean) => Promise<Result>): Promise<Result> {
  const givesUpMs = Date.now() + PATIENCE_MS;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await work(isFirst);
    } catch (error) {
      const isAway = error instanceof Refusal && error.code === 'SERVICE_UNAVAILABLE';
      if (!isAway || Date.now() > givesUpMs) throw error;
      await sleep(RETRY_MS);
    }
  }
}

/** Waits for all, so that nothing of a step runs when it is repeated; then throws the first failure. */
async function all(works: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find((work) => work.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
