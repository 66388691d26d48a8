/** The product as the simulation drives it: one process of it, and what its clients and operators ask of it. */

import type pg from 'pg';
import type { Logger } from 'pino';
import { creditDeposit, dropDeposit } from '../../../src/books/deposits.ts';
import { findMovement, moveFundsOnce } from '../../../src/books/movements.ts';
import { rebuildEngine } from '../../../src/books/rebuild.ts';
import { reconcile } from '../../../src/books/reconcile/index.ts';
import { endWithdrawal, releaseWithdrawal, takeWithdrawal } from '../../../src/books/withdrawals.ts';
import type { Candle, Timeframe } from '../../../src/domain/candle.ts';
import { OperatorRefusal } from '../../../src/domain/errors.ts';
import type { AccountMoved } from '../../../src/domain/event.ts';
import type { MarketChange } from '../../../src/domain/market-rules.ts';
import type { ClosedOrder, Order, Trade } from '../../../src/domain/order.ts';
import { type Engine, openEngine, type PlaceOrder, type SeenServer } from '../../../src/engine/index.ts';
import { type Ledger, openLedger } from '../../../src/ledger/index.ts';
import { type Figures, type MarketData, openMarketData } from '../../../src/market-data/index.ts';
import { adopt } from '../../../src/operator/copies.ts';
import { type HostPort, serverName } from '../../../src/redis/address.ts';
import { CopiesKeeper } from '../../../src/roles/copies-keeper.ts';
import { openCopies } from '../../../src/roles/engine-copies.ts';
import { keepEngineOpen } from '../../../src/roles/engine-gate.ts';
import { startDueCancels } from '../../../src/workers/due-cancels.ts';
import { createSettlementWorker } from '../../../src/workers/settlement.ts';
import type { SimulatedRedis } from './simulated-redis.ts';
import { LIMITS, type World } from './world.ts';

const ACT = { by: 'simulation', reason: 'a history' };
const silent = (): void => undefined;
const LOG = { info: silent, warn: silent, error: silent, debug: silent, fatal: silent } as unknown as Logger;

/** Small, so that a history has several batches and reads ahead. */
const BATCH = { batchSize: 3, heldWeight: 10 };
const PATIENCE_MS = 3_000;
/** Short, so that another primary is named and copies leave within a history. */
const COPIES = { minCopies: 2, downAfterMs: 800, copyLateMs: 1_000 };
const MAX_LISTED = 1_000;
/** As the endpoint has it. */
const MAX_LOOKS = 2;

export interface Parts {
  readonly engine: Engine;
  readonly ledger: Ledger;
}

/** Replaces pieces of the product, as a broken build does. */
export type Sabotage = (parts: Parts, makePool: (config: pg.PoolConfig) => pg.Pool) => void;

export type PlaceAnswer =
  | {
      readonly outcome: 'placed';
      readonly order: Order;
      readonly trades: readonly Trade[];
      readonly replaced: ClosedOrder | null;
    }
  | { readonly outcome: 'claimed'; readonly orderId: string }
  | { readonly outcome: 'unchecked' };

/** Connections of a process of an engine that has copies. */
export interface CopyConnections {
  readonly roundsRedis: SimulatedRedis;
  readonly servers: readonly HostPort[];
  /** Makes a keeper's connection to a server; absent where the process is none. */
  readonly keeps: ((server: HostPort) => SimulatedRedis) | undefined;
}

export interface ServiceOptions {
  readonly world: World;
  readonly redis: SimulatedRedis;
  readonly copies: CopyConnections | undefined;
  readonly makePool: (config: pg.PoolConfig) => pg.Pool;
  readonly filterBytes: number;
  readonly sabotage: Sabotage | undefined;
}

/** One process: its engine, its ledger, and the connections of both. */
export class Service {
  readonly #engine: Engine;
  readonly #ledger: Ledger;
  readonly #marketData: MarketData;
  #settlement: ReturnType<typeof createSettlementWorker> | undefined;
  /** The copies as an operator saw them last. */
  looked: ReadonlyMap<string, SeenServer | undefined> = new Map();

  constructor({ world, redis, copies: connections, makePool, filterBytes, sabotage }: ServiceOptions) {
    const ledger = openLedger({ databaseUrl: world.databaseUrl, makePool });
    const copies = connections && openCopiesOf(redis, connections, ledger);
    this.#engine = openEngine({
      redis,
      ...LIMITS,
      load: world.load,
      claimFilterBytes: filterBytes,
      epochs: copies?.epochs ?? { note: (begun) => ledger.epochs.note(begun) },
      rounds: copies?.rounds,
    });
    // The schema is there; a migration has a connection of its own.
    this.#ledger = { ...ledger, migrate: async () => undefined };
    sabotage?.(this.#parts, makePool);
    this.#marketData = openMarketData(this.#parts);
    const { checkPrimary } = copies ?? {};
    keepEngineOpen({ redis, engine: this.#engine, ledger: this.#ledger, logger: LOG, checkPrimary });
  }

  isOpen = (): boolean => this.#engine.lifecycle.isOpen();

  /** One pass of settlement, as the role makes it when it is woken. */
  async settle(): Promise<void> {
    const { engine, ledger } = this.#parts;
    this.#settlement ??= createSettlementWorker({ engine, ledger: ledger.settlement, log: LOG, ...BATCH });
    if (engine.lifecycle.isOpen()) await this.#settlement.run();
  }

  hasDiverged = (): boolean => this.#settlement?.diverged() ?? false;

  startDueCancels(): void {
    startDueCancels({ engine: this.#engine, log: LOG, wakeSettlement: silent, leaseMs: 2_000 });
  }

  /** Places an order as the endpoint does: an id that the engine cannot tell is looked for in Postgres. */
  async place(command: PlaceOrder): Promise<PlaceAnswer> {
    const { wallet, request } = command;
    let placement = await this.#engine.orders.place(command);
    for (let looks = 0; placement.outcome === 'unchecked' && looks < MAX_LOOKS; looks += 1) {
      const settled = await this.#ledger.orders.placedId(wallet, request.clientOrderId!);
      if (settled !== null) return { outcome: 'claimed', orderId: settled };
      placement = await this.#engine.orders.place({ ...command, checked: placement.moment });
    }
    return placement;
  }

  /** @returns the id of the order that a client order id stands for; null when it was never used */
  async find(wallet: string, clientOrderId: string): Promise<string | null> {
    const found = await this.#engine.orders.find(wallet, clientOrderId);
    if (found.outcome === 'claimed') return found.orderId;
    if (found.outcome === 'unclaimed') return null;
    return this.#ledger.orders.placedId(wallet, clientOrderId);
  }

  cancel = async (wallet: string, id: string): Promise<string[]> => [
    (await this.#engine.orders.cancel(wallet, id)).id,
  ];

  cancelAll = async (wallet: string, market: string | null): Promise<string[]> =>
    (await this.#engine.orders.cancelAll(wallet, market)).map(({ id }) => id);

  hold = async (wallet: string): Promise<string[]> =>
    (await this.#engine.switches.hold(wallet)).map(({ id }) => id);
  release = (wallet: string): Promise<void> => this.#engine.switches.release(wallet);
  voidOrder = async (id: string): Promise<string[]> => [(await this.#engine.orders.void(id)).id];
  clear = async (market: string): Promise<string[]> =>
    (await this.#engine.orders.clear(market)).map(({ id }) => id);
  pause = (isPaused: boolean): Promise<void> =>
    isPaused ? this.#engine.switches.pause() : this.#engine.switches.resume();
  setMarket = async (market: string, change: MarketChange): Promise<void> =>
    void (await this.#engine.markets.change(market, change));

  setSwitch = (wallet: string, timeoutMs: number): Promise<number | null> =>
    this.#engine.dueCancels.set(wallet, timeoutMs);

  endWithdrawal = (
    reference: string,
    kind: 'confirmed' | 'returned',
    takenBy: string,
  ): Promise<{ duplicate: boolean }> =>
    endWithdrawal(
      this.#parts,
      reference,
      kind === 'returned' ? { kind } : { kind, txid: `paid ${reference}`, takenBy },
      ACT,
    );
  take = (reference: string, by: string): Promise<boolean> =>
    takeWithdrawal(this.#parts, reference, { by, untilMs: Date.now() + 3_600_000 }, ACT);
  giveUp = (reference: string, by: string): Promise<boolean> =>
    releaseWithdrawal(this.#parts, reference, by, ACT);
  endDeposit = (reference: string, kind: 'arrived' | 'dropped'): Promise<{ duplicate: boolean }> =>
    (kind === 'arrived' ? creditDeposit : dropDeposit)(this.#parts, reference, ACT);

  /** Takes a part of a deposit back; its wallet and asset are those that it was booked with. */
  async reverse(of: string, amountAtoms: bigint, reference: string): Promise<void> {
    const deposit = await findMovement(this.#parts, 'credited', of);
    if (deposit?.kind !== 'credited') throw new OperatorRefusal('UNKNOWN_MOVEMENT', 'nothing to reverse');
    const { wallet, asset } = deposit;
    const movement = { kind: 'debited', wallet, asset, amountAtoms, reference, reverses: of } as const;
    await moveFundsOnce(this.#parts, movement, undefined, ACT);
  }
  move = (movement: AccountMoved): Promise<{ duplicate: boolean }> => moveFundsOnce(this.#parts, movement);

  /** Ids of a wallet's orders as a list has them: first the unsettled events, then Postgres. */
  async list(wallet: string): Promise<Set<string>> {
    const unsettled = await this.#engine.outbox.readUnsettled(wallet);
    const { orders } = await this.#ledger.orders.ofWallet(wallet, { limit: MAX_LISTED });
    const placed = unsettled.flatMap((event) => (event.kind === 'order_placed' ? [event.order.id] : []));
    return new Set([...placed, ...orders.map(({ id }) => id)]);
  }

  async best(market: string): Promise<{ bid: bigint | undefined; ask: bigint | undefined }> {
    const book = await this.#engine.reads.book(market, 5);
    return { bid: book?.bids[0]?.priceTicks, ask: book?.asks[0]?.priceTicks };
  }

  candles = (market: string, timeframe: Timeframe): Promise<Candle[]> =>
    this.#marketData.candles(market, timeframe, { limit: MAX_LISTED });

  figures = (): Promise<Figures> => this.#marketData.figures();

  /** @returns names of the checks that found a difference */
  async reconcile(): Promise<string[]> {
    const { checks } = await reconcile(this.#parts, { patienceMs: PATIENCE_MS });
    return checks
      .filter(({ count }) => count > 0)
      .map(({ name, differences }) => `${name}: ${JSON.stringify(differences)}`);
  }

  /** Takes the primary from the servers as the operator's command does, which looked at them at the last `looked`. */
  async adopt(): Promise<void> {
    await this.#adopt(undefined);
  }

  /** Takes the primary that the command suggests, once all servers answer. */
  async adoptAnyway(): Promise<void> {
    await this.#adopt(undefined).catch((error: Error) => {
      const suggested = /--confirm (\S+)$/.exec(error.message)?.[1];
      const allAnswer = [...this.looked.values()].every((server) => server !== undefined);
      if (suggested === undefined || !allAnswer) throw error;
      return this.#adopt(suggested);
    });
  }

  #adopt = (confirm: string | undefined) => adopt(confirm, this.looked, { ledger: this.#ledger });

  rebuild = async (): Promise<void> => void (await rebuildEngine(this.#parts));
  growFilter = async (): Promise<void> => void (await this.#engine.claimFilter.grow());

  get #parts(): Parts {
    return { engine: this.#engine, ledger: this.#ledger };
  }
}

/** Opens what the process needs for copies, and begins to keep them where it is a keeper. */
function openCopiesOf(engineRedis: SimulatedRedis, connections: CopyConnections, ledger: Ledger) {
  const { roundsRedis, servers, keeps: connect } = connections;
  const copies = openCopies({
    engineRedis,
    roundsRedis,
    register: ledger.copies,
    minCopies: COPIES.minCopies,
    at: { url: `redis+copies://${servers.map(serverName).join()}` },
    metrics: { observeRound: silent },
  });
  const { rounds } = copies;
  if (connect)
    new CopiesKeeper({ ...COPIES, servers, connect, register: ledger.copies, rounds, logger: LOG });
  return copies;
}
