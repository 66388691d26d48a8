/** Runs random operations through the engine and the reference side by side. The first difference ends the run. */

import type { Redis } from 'ioredis';
import type { Cursor, EngineEvent, MovementKind } from '../../../src/domain/event.ts';
import type { Market } from '../../../src/domain/market.ts';
import type { ClosedOrder, OrderTerms, Trade } from '../../../src/domain/order.ts';
import { parseDecimal } from '../../../src/domain/units.ts';
import { endsWithdrawal } from '../../../src/domain/withdrawal-states.ts';
import type { EngineMoment } from '../../../src/engine/claims.ts';
import type { PostgresLook } from '../../../src/engine/funds.ts';
import { type Engine, openEngine, type Placement, type PlaceOrder } from '../../../src/engine/index.ts';
import { levelsKey } from '../../../src/engine/keys.ts';
import type { Script } from '../../../src/redis/lua.ts';
import { type AssetContents, assetContents, liveContents } from '../../support/engine-contents.ts';
import { random } from '../../support/seed.ts';
import { firstCome, inTurns } from '../../support/turn-order.ts';
import { compare, Divergence, outcomeOf, show } from './divergence.ts';
import {
  asEngineTakes,
  balancesIn,
  inOrder,
  movementIn,
  rulesIn,
  sortedClosings,
  sortedClosingsOfWallets,
  walletsOf,
  withClosedInOrder,
  withoutPlan,
} from './engine-words.ts';
import { Generator, type Operation } from './generator.ts';
import { Outcomes } from './outcomes.ts';
import {
  type ClosedRecord,
  type MovementRecord,
  type PlaceAnswer,
  type ReferenceEvent,
  ReferenceExchange,
  type ReferenceLimits,
  type ReferenceTrade,
  type Refused,
} from './reference-book.ts';
import type { ReferenceMarket } from './reference-rules.ts';
import { CLOSED, DEFAULT_SCALE, MARKETS, SCALES, TRADERS, WALLETS, WHALES } from './stage.ts';
import { type Closing, type Placed, type Placing, type Turn, Turns, takenBy } from './turns.ts';

type CloseAll =
  | Extract<Operation, { do: 'cancel_all' | 'clear' }>
  | { readonly do: 'hold'; readonly wallet: string };

export interface RunOptions {
  /** Flushed before the run. */
  readonly redis: Redis;
  readonly seed: number;
  readonly operations: number;
  readonly limits: ReferenceLimits;
  /** Loads a script. Tests pass altered scripts, which a run must detect. */
  readonly load?: (name: string) => Script;
  /** Called after every operation with the number of operations so far. */
  readonly onOperation?: (done: number, outcomes: Outcomes) => void;
  /** Number of operations between trims of settled events; by default events are never trimmed. */
  readonly trimEvery?: number;
  /** Chance that an operation is followed by a turn: 1 to 64 commands that the engine runs together. */
  readonly turns?: number;
  /** Called with the number of commands of a turn. */
  readonly onTurn?: (commands: number) => void;
}

const USUAL_TURNS = 0.04;
const ACT = { by: 'custody', reason: 'a withdrawal is paid' };
/** Small, because Redis clears it for each run. */
const FILTER_BYTES = 262_144;

/** State that commands may have changed. */
interface Touched {
  readonly assets: readonly string[];
  /** Symbols; undefined: any market of the assets. */
  readonly markets: readonly string[] | undefined;
}

const NOTHING: Touched = { assets: [], markets: [] };

const commandOf = (
  { wallet, request, isRestricted, replaces, filledSize }: Placing,
  idOf: (order: number) => string,
): PlaceOrder => ({
  wallet,
  request: asEngineTakes(request),
  restricted: isRestricted,
  ...(replaces !== undefined && { replaces: replaces === null ? 'no id' : idOf(replaces) }),
  ...(filledSize !== undefined && { filledSize: parseDecimal(filledSize)! }),
});

/**
 * Number of operations between comparisons of the whole state. In between, only state that an operation may have
 * changed is compared.
 */
const LOOK_AT_ALL_EVERY = 20;
const MAX_LEVELS = 250;
const UNKNOWN_ORDER_ID = `0000${'00'.repeat(15)}`;
/** An order's id begins with twice its market's number, plus its side. */
const marketNumberOf = (orderId: string): string => `${Number.parseInt(orderId.slice(0, 4), 16) >> 1}`;
const ORDER_ID = /^[0-9a-f]{34}$/;

export async function runEquivalence(options: RunOptions): Promise<Outcomes> {
  await options.redis.flushdb();
  // A connection per engine, because an engine listens on its connection for as long as the connection lives.
  const redis = options.redis.duplicate({ username: 'engine-all' });
  try {
    return await runOn(redis, options);
  } finally {
    redis.disconnect();
  }
}

async function runOn(redis: Redis, options: RunOptions): Promise<Outcomes> {
  const { limits, seed, operations, load, trimEvery, turns = USUAL_TURNS } = options;
  const engine = openEngine({ redis, claimFilterBytes: FILTER_BYTES, ...limits, ...(load && { load }) });
  await engine.lifecycle.open({ epoch: 0, sequence: 0 });
  const run = new Run(options.redis, engine, new ReferenceExchange(limits), trimEvery !== undefined);
  await run.prepare();
  const dice = random(seed + 1);
  const generator = new Generator(random(seed), run.reference, { steps: random(seed + 2) });
  const drawn = new Turns(dice, generator, run.reference);
  let place = (): string => 'the beginning';
  try {
    for (let done = 1; done <= operations; done += 1) {
      const operation = generator.next();
      place = () => `operation ${done}: ${show(operation)}`;
      await run.perform(operation);
      if (dice.chance(turns)) {
        const turn = drawn.next();
        place = () => `turn after operation ${done}: ${show(turn)}`;
        const commands = await run.performTurn(turn);
        options.onTurn?.(commands);
      }
      if (done % LOOK_AT_ALL_EVERY === 0 || done === operations) await run.lookAtAll();
      if (trimEvery && done % trimEvery === 0) await run.trim();
      options.onOperation?.(done, run.outcomes);
    }
    place = () => 'the end';
    if (!trimEvery) await run.lookAtUnsettled();
  } catch (error) {
    if (error instanceof Error) error.message = `seed ${seed}, ${place()}\n${error.message}`;
    throw error;
  }
  return run.outcomes;
}

class Run {
  readonly reference: ReferenceExchange;
  readonly outcomes = new Outcomes();
  readonly #redis: Redis;
  readonly #engine: Engine;
  readonly #trims: boolean;
  readonly #numbers = new Map<string, number>();
  readonly #ids: string[] = [];
  /** Sequences of the events that affect each wallet. */
  readonly #touched = new Map<string, number[]>();
  /** Versions that the engine gave each market, in order. */
  readonly #versions = new Map<string, number[]>();
  #cursor: Cursor = { epoch: 0, sequence: 0 };
  #last: EngineEvent | undefined;
  #lastTradeId = 0;
  /** Order times and trades of the last replies by order id. The events must match them. */
  readonly #replied = new Map<string, { readonly createdAtMs: number; readonly trades: readonly Trade[] }>();

  /** @param trims true if Postgres gets the events, so that Redis may forget movements */
  constructor(redis: Redis, engine: Engine, reference: ReferenceExchange, trims: boolean) {
    this.#redis = redis;
    this.#engine = engine;
    this.#trims = trims;
    this.reference = reference;
    reference.nowMs = Date.now();
  }

  /** Publishes the markets and funds the wallets in both the engine and the reference. */
  async prepare(): Promise<void> {
    for (const [symbol, scale] of SCALES) {
      await this.#engine.assets.set({ symbol, scale });
      this.reference.scales.set(symbol, scale);
    }
    // The reference writes no events for asset scales.
    await this.#readEvents();
    for (const rules of MARKETS) {
      const { tradingEnabled: _enabled, ...spec } = rules;
      for (const asset of rules.symbol.split('/')) {
        if (!this.reference.scales.has(asset)) this.reference.scales.set(asset, DEFAULT_SCALE);
      }
      await this.#engine.markets.create({ ...spec, status: rules.status as 'active', networkId: '1' });
      this.reference.publish(rules);
    }
    await this.#compareEvents();
    await this.perform({ do: 'change', market: CLOSED, change: { tradingEnabled: false } });
    await this.#fundAll();
    await this.lookAtAll();
  }

  /** Compares the state once after all movements, because many runs begin here. */
  async #fundAll(): Promise<void> {
    const movements: MovementRecord[] = [];
    const fund = (wallet: string, asset: string, atoms: bigint): void => {
      movements.push({ kind: 'credited', wallet, asset, atoms, reference: `opening ${wallet} ${asset}` });
    };
    for (const [asset, scale] of this.reference.scales) {
      const usual = BigInt(Math.round(300 * 10 ** scale));
      for (const wallet of TRADERS) fund(wallet, asset, usual);
    }
    for (const wallet of WHALES) {
      for (const asset of ['USD', 'WHALE']) fund(wallet, asset, 2n ** 57n);
      for (const asset of ['ALPHA', 'BETA', 'GAMMA', 'YEN']) fund(wallet, asset, 10n ** 13n);
    }
    // One after the other: movements that are sent together may reach the engine in another order.
    for (const movement of movements) await this.#move(movement);
    await this.#compareEvents();
  }

  async perform(operation: Operation): Promise<void> {
    let touched = this.#touchedBy(operation);
    switch (operation.do) {
      case 'place':
        await this.#place(operation);
        break;
      case 'cancel':
      case 'void':
        touched = await this.#closeOne(operation);
        break;
      case 'cancel_all':
      case 'clear':
      case 'hold':
        await this.#closeAll(operation as CloseAll);
        break;
      case 'move':
        await this.#move(operation.movement, operation.takenBy);
        break;
      case 'take':
      case 'give_up':
        await this.#take(operation);
        break;
      default:
        await this.#switch(operation);
    }
    // The event of a replaced order comes before that of the new one.
    await this.#compareEvents(operation.do === 'place' ? (events) => [...events] : sortedClosings);
    await this.#look(touched);
  }

  async #look(touched: Touched): Promise<void> {
    const levels = (touched.markets ?? []).map((market) => this.#lookAtLevels(market));
    await Promise.all([this.#lookAt(touched), this.#lookAtLive(), ...levels]);
  }

  // --- commands ------------------------------------------------------------------------------------------

  async #place(operation: Placing): Promise<void> {
    const expected = takenBy(this.reference, operation);
    this.outcomes.placed(operation, expected, this.reference);
    const command = this.#commandOf(operation);
    const actual = await outcomeOf(async () => {
      const placement = await this.#engine.orders.place(command);
      if (placement.outcome !== 'unchecked') return placement;
      // Redis no longer has the id, or the filter gives a false positive: the caller looks it up in Postgres.
      if ('replayed' in expected)
        return { outcome: 'claimed' as const, orderId: this.#ids[expected.replayed]! };
      return this.#engine.orders.place({ ...command, checked: placement.moment });
    });
    this.#checkPlaced(operation, expected, actual);
  }

  #commandOf(operation: Placing): PlaceOrder {
    return commandOf(operation, (order) => this.#ids[order] ?? UNKNOWN_ORDER_ID);
  }

  #checkPlaced({ request }: Placing, expected: PlaceAnswer, actual: Placement | { refused: string }): void {
    if ('refused' in actual || actual.outcome === 'claimed') {
      const answer = 'refused' in actual ? actual : { replayed: this.#numbers.get(actual.orderId) };
      compare('reply', answer, withoutPlan(expected));
      return;
    }
    if (actual.outcome === 'unchecked') throw new Divergence('reply', actual, expected);
    if (!('placed' in expected)) throw new Divergence('reply', actual, expected);
    this.#bind(actual.order.id, expected.placed.number);
    const market = this.reference.market(request.market)!;
    const { filledSteps, status, reason, createdAtMs } = actual.order;
    compare(
      'reply',
      {
        placed: { ...this.#termsIn(market, actual.order), filled: filledSteps * market.step, status, reason },
        trades: this.#tradesIn(market, actual.trades),
        ...(actual.replaced !== null && { replaced: this.#closedIn([actual.replaced])[0] }),
      },
      withoutPlan(expected),
    );
    this.#replied.set(actual.order.id, { createdAtMs, trades: actual.trades });
  }

  // --- turns ---------------------------------------------------------------------------------------------

  /** Sends the commands of a turn together. @returns how many they were */
  async performTurn(turn: Turn): Promise<number> {
    switch (turn.do) {
      case 'place_together': {
        await this.#placeTogether(turn.orders);
        await this.#look(this.#tradedOn(turn.orders.map(({ operation }) => operation.request.market)));
        return turn.orders.length;
      }
      case 'close_together':
        await this.#closeTogether(turn.closings);
        break;
      default:
        await this.#cancelAllTogether(turn.wallets);
    }
    await this.#look(this.#everything());
    return turn.do === 'close_together' ? turn.closings.length : turn.wallets.length;
  }

  async #placeTogether(orders: readonly Placed[]): Promise<void> {
    const { epoch } = this.#cursor;
    const answers = await Promise.all(
      orders.map(({ operation, expected }) => {
        // The API has already looked up in Postgres every id that Redis does not know.
        const checked = 'replayed' in expected ? {} : { checked: { epoch, timeMs: Date.now() } };
        const ticket = firstCome(operation.wallet);
        return outcomeOf(() =>
          this.#engine.orders.place({ ...this.#commandOf(operation), ...checked, ticket }),
        );
      }),
    );
    // Placed orders get their numbers before answers that refer to them are compared.
    for (const [index, { expected }] of orders.entries()) {
      const actual = answers[index]!;
      const isPlaced = 'outcome' in actual && actual.outcome === 'placed' && 'placed' in expected;
      if (isPlaced) this.#bind(actual.order.id, expected.placed.number);
    }
    for (const [index, { operation, expected }] of orders.entries()) {
      this.outcomes.placed(operation, expected, this.reference);
      this.#checkPlaced(operation, expected, answers[index]!);
    }
    this.outcomes.add('placed together', orders.length);
    await this.#compareEvents();
  }

  async #closeTogether(drawn: readonly Closing[]): Promise<void> {
    const closings = inTurns(
      drawn,
      (closing) => marketNumberOf(this.#idOf(closing)),
      (closing) => ('wallet' in closing ? closing.wallet : ''),
    );
    const expected = closings.map((closing) => this.#expectClosed(closing));
    const answers = await Promise.all(closings.map((closing) => this.#sendClosing(closing)));
    for (const [index, one] of expected.entries()) this.#checkClosed(closings[index]!, one, answers[index]);
    this.outcomes.add('closed together', closings.length);
    await this.#compareEvents();
  }

  async #cancelAllTogether(wallets: readonly string[]): Promise<void> {
    const expected = wallets.map((wallet) =>
      inOrder(this.reference.closeAll(wallet, null, 'user_cancelled')),
    );
    const answers = await Promise.all(
      wallets.map((wallet) =>
        outcomeOf(async () => this.#closedIn(await this.#engine.orders.cancelAll(wallet, null))),
      ),
    );
    compare('reply', answers, expected);
    this.outcomes.add('wallets cancelled together', wallets.length);
    await this.#compareEvents(sortedClosingsOfWallets);
  }

  /** Binds an id to an order's number. An id belongs to one order for ever. */
  #bind(id: string, number: number): void {
    if (this.#numbers.get(id) === number) return;
    if (!ORDER_ID.test(id) || this.#numbers.has(id)) throw new Divergence('order id', id, 'a new one');
    this.#numbers.set(id, number);
    this.#ids[number] = id;
  }

  async #closeOne(closing: Closing): Promise<Touched> {
    const expected = this.#expectClosed(closing);
    this.#checkClosed(closing, expected, await this.#sendClosing(closing));
    return 'refused' in expected ? NOTHING : this.#tradedOn([expected.market]);
  }

  #expectClosed(closing: Closing): ClosedRecord | Refused {
    const owner = closing.do === 'cancel' ? closing.wallet : null;
    const reason = closing.do === 'cancel' ? 'user_cancelled' : 'operator_voided';
    return this.reference.closeOne(owner, closing.order ?? -1, reason);
  }

  #sendClosing(closing: Closing): Promise<ClosedRecord[] | { refused: string }> {
    const id = this.#idOf(closing);
    return outcomeOf(async () => {
      const { wallet } = { wallet: null, ...closing };
      const closed = wallet === null ? this.#engine.orders.void(id) : this.#engine.orders.cancel(wallet, id);
      return this.#closedIn([await closed]);
    });
  }

  #idOf({ order }: Closing): string {
    return (order !== null && this.#ids[order]) || UNKNOWN_ORDER_ID;
  }

  #checkClosed(closing: Closing, expected: ClosedRecord | Refused, actual: unknown): void {
    compare('reply', actual, 'refused' in expected ? expected : [expected]);
    if ('refused' in expected) {
      this.outcomes.add(expected.refused);
      return;
    }
    this.outcomes.add(closing.do === 'void' ? 'voided' : 'cancelled');
    if (expected.status === 'partially_filled_cancelled') this.outcomes.add('cancelled after fills');
  }

  async #closeAll(operation: CloseAll): Promise<void> {
    const [expected, command] = this.#closings(operation);
    compare('reply', await outcomeOf(async () => this.#closedIn(await command())), inOrder(expected));
    if (expected.length > 1) this.outcomes.add('several cancelled at once');
  }

  #closings(operation: CloseAll): [ClosedRecord[], () => Promise<ClosedOrder[]>] {
    const { reference } = this;
    const engine = this.#engine;
    switch (operation.do) {
      case 'cancel_all': {
        const { wallet, market } = operation;
        return [
          reference.closeAll(wallet, market, 'user_cancelled'),
          () => engine.orders.cancelAll(wallet, market),
        ];
      }
      case 'clear': {
        const { market } = operation;
        return [reference.closeAll(null, market, 'market_cleared'), () => engine.orders.clear(market)];
      }
      default:
        return [reference.hold(operation.wallet), () => engine.switches.hold(operation.wallet)];
    }
  }

  async #move(movement: MovementRecord, takenBy = ''): Promise<void> {
    const { atoms, reverses, ...rest } = movement;
    const leftAtoms = this.#leftInPostgres(reverses);
    const expected = this.reference.move(movement, takenBy);
    const command = { ...rest, amountAtoms: atoms, ...(reverses !== undefined && { reverses }) };
    const ask = (look?: PostgresLook) =>
      this.#engine.funds.move(command, look, undefined, undefined, takenBy);
    const actual = await outcomeOf(async () => {
      let moved = await ask();
      if (moved.outcome === 'unchecked') {
        // The answer of Postgres: it knows the movement, or lacks the announcement.
        if ('known' in expected) return expected;
        if ('refused' in expected && expected.refused === 'UNKNOWN_DEPOSIT') return expected;
        moved = await ask({ ...moved.moment, leftAtoms });
      }
      if (moved.outcome === 'unchecked') throw new Divergence('reply', moved, expected);
      const answer = movementIn(moved.movement);
      return moved.outcome === 'moved' ? { moved: answer } : { known: answer };
    });
    compare('reply', actual, expected);
    this.#noteMoved(movement.kind, expected, reverses !== undefined);
    if (endsWithdrawal(movement.kind)) await this.#compareTake(movement.reference);
  }

  #noteMoved(kind: MovementKind, expected: ReturnType<ReferenceExchange['move']>, isReversal: boolean): void {
    if ('refused' in expected) {
      this.outcomes.add(expected.refused);
      return;
    }
    this.outcomes.add('moved' in expected ? 'moved' : 'movement known');
    if ('known' in expected) return;
    if (isReversal) this.outcomes.add('deposit reversed');
    else if (kind !== 'credited' && kind !== 'debited') this.outcomes.add(`withdrawal or deposit ${kind}`);
    if (expected.moved.owed !== undefined) this.outcomes.add(isReversal ? 'owes since' : 'pays what it owed');
  }

  /** The rest of a deposit by Postgres, which has no reversal of it while events are never trimmed. */
  #leftInPostgres(reverses: string | undefined): bigint {
    if (reverses === undefined) return 0n;
    if (this.#trims) return this.reference.leftOf(reverses);
    return this.reference.credits.find(({ reference }) => reference === reverses)?.atoms ?? 0n;
  }

  async #compareTake(reference: string): Promise<void> {
    const taken = await this.#engine.funds.takeOf(reference);
    compare('take', taken, this.reference.takes.get(reference) ?? null);
  }

  async #take(operation: Operation & { do: 'take' | 'give_up' }): Promise<void> {
    const { withdrawal } = operation;
    const { funds } = this.#engine;
    const [expected, send] =
      operation.do === 'take'
        ? ([
            this.reference.take(withdrawal, operation.take),
            (moment?: EngineMoment) => funds.take(withdrawal, operation.take, ACT, moment),
          ] as const)
        : ([
            this.reference.giveUp(withdrawal, operation.by),
            (moment?: EngineMoment) => funds.release(withdrawal, operation.by, ACT, moment),
          ] as const);
    const actual = await outcomeOf(async () => {
      let taken = await send();
      if (taken.outcome === 'unchecked') {
        if (typeof expected === 'object' && 'known' in expected) return expected;
        taken = await send(taken.moment);
      }
      if (taken.outcome === 'unchecked') throw new Divergence('reply', taken, expected);
      return taken.outcome === 'claimed' ? { known: movementIn(taken.movement) } : taken.outcome;
    });
    compare('reply', actual, expected);
    await this.#compareTake(withdrawal.reference);
    if (typeof expected === 'object')
      this.outcomes.add('refused' in expected ? expected.refused : 'movement known');
    else this.outcomes.add(expected === 'changed' ? `withdrawal: ${operation.do}` : 'take unchanged');
  }

  async #switch(operation: Operation): Promise<void> {
    const { reference } = this;
    const engine = this.#engine;
    const [expected, command] = ((): [unknown, () => Promise<unknown>] => {
      switch (operation.do) {
        case 'release':
          return [reference.release(operation.wallet), () => engine.switches.release(operation.wallet)];
        case 'pause':
          return [reference.pause(true), () => engine.switches.pause()];
        case 'resume':
          return [reference.pause(false), () => engine.switches.resume()];
        case 'require_terms':
          return [
            reference.requireTerms(operation.version),
            () => engine.switches.requireTerms(operation.version),
          ];
        case 'accept_terms': {
          const { wallet, version } = operation;
          return [reference.acceptTerms(wallet, version), () => engine.switches.acceptTerms(wallet, version)];
        }
        case 'change': {
          const { market, change } = operation;
          const { symbol: _symbol, tickSize: _tick, sizeStep: _step, ...changeable } = change;
          return [
            reference.change(market, change),
            async () => void (await engine.markets.change(market, changeable)),
          ];
        }
        default:
          throw new Error(`no such operation: ${operation.do}`);
      }
    })();
    compare('reply', await outcomeOf(command), expected);
  }

  // --- events --------------------------------------------------------------------------------------------

  async #compareEvents(sorted: typeof sortedClosings = sortedClosings): Promise<void> {
    const expected = this.reference.takeEvents();
    const events = await this.#readEvents();
    const actual = events.map((event) => this.#eventIn(event));
    compare('events', sorted(actual), sorted(expected.map(withClosedInOrder)));
    for (const event of events) this.#noteWallets(event);
    for (const event of events) {
      if (event.kind !== 'order_placed') continue;
      const { trades, timeMs: createdAtMs } = event;
      const replied = this.#replied.get(event.order.id);
      if (replied !== undefined) compare('event of a reply', { createdAtMs, trades }, replied);
    }
    this.#replied.clear();
  }

  /** Returns new events, and checks that the event at the cursor has not changed. */
  async #readEvents(): Promise<EngineEvent[]> {
    const found = await this.#engine.outbox.readEvents(this.#cursor, 1_000);
    if (this.#last !== undefined)
      compare('event at the cursor', found.shift()?.digest.hex, this.#last.digest.hex);
    for (const event of found) {
      const { epoch, sequence, timeMs } = event;
      compare('event sequence', sequence, this.#cursor.sequence + 1);
      if (timeMs < (this.#last?.timeMs ?? 0)) throw new Divergence('event time', timeMs, this.#last?.timeMs);
      this.#cursor = { epoch, sequence };
      this.#last = event;
    }
    return found;
  }

  #eventIn(event: EngineEvent): ReferenceEvent {
    switch (event.kind) {
      case 'order_placed': {
        const market = this.reference.market(event.order.market)!;
        const { status, filledSteps, reason } = event;
        compare('time of the order', event.order.createdAtMs, event.timeMs);
        for (const { tradeId } of event.trades) {
          if (tradeId <= this.#lastTradeId)
            throw new Divergence('trade id', tradeId, `> ${this.#lastTradeId}`);
          this.#lastTradeId = tradeId;
        }
        return {
          kind: event.kind,
          order: { ...this.#termsIn(market, event.order), filled: filledSteps * market.step, status, reason },
          trades: this.#tradesIn(market, event.trades),
          expired: this.#closedIn(event.expired),
        };
      }
      case 'orders_closed':
        return { kind: event.kind, orders: this.#closedIn(event.orders) };
      case 'credited':
      case 'debited':
      case 'requested':
      case 'confirmed':
      case 'returned':
      case 'announced':
      case 'dropped':
        return movementIn(event);
      case 'withdrawal_taken': {
        const { kind, reference, wallet, asset, take } = event;
        return { kind, reference, wallet, asset, take };
      }
      case 'withdrawal_released': {
        const { kind, reference, wallet, asset } = event;
        return { kind, reference, wallet, asset };
      }
      case 'market_changed':
        return { kind: event.kind, market: rulesIn(event.market), version: this.#changesUpTo(event.market) };
      case 'asset_changed':
        throw new Divergence('events', event, 'no change of an asset');
      case 'operator_acted':
        throw new Divergence('events', event, 'no act of an operator');
      default: {
        const { epoch: _epoch, sequence: _sequence, timeMs: _time, digest: _digest, ...body } = event;
        return body;
      }
    }
  }

  #termsIn(market: ReferenceMarket, order: OrderTerms) {
    const { wallet, side, type, timeInForce, postOnly, clientOrderId, priceTicks, sizeSteps, leverage } =
      order;
    const { base, quote, baseAtomsPerStep } = order.units;
    compare(
      'units',
      [base, quote, baseAtomsPerStep],
      [market.base, market.quote, market.step / market.baseAtom],
    );
    return {
      wallet,
      side,
      type,
      timeInForce,
      postOnly,
      clientOrderId,
      market: order.market,
      number: this.#numberOf(order.id),
      leverage: leverage === null ? null : String(leverage),
      price: priceTicks === null ? null : priceTicks * market.tick,
      size: sizeSteps * market.step,
    };
  }

  #tradesIn(market: ReferenceMarket, trades: readonly Trade[]): ReferenceTrade[] {
    return trades.map(({ makerOrderId, makerWallet, priceTicks, sizeSteps, feeAtoms }) => ({
      maker: this.#numberOf(makerOrderId),
      makerWallet,
      price: priceTicks * market.tick,
      size: sizeSteps * market.step,
      feeAtoms,
    }));
  }

  #closedIn(orders: readonly ClosedOrder[]): ClosedRecord[] {
    return inOrder(orders.map(({ id, ...rest }) => ({ ...rest, number: this.#numberOf(id) })));
  }

  /** Returns -1 for an id that belongs to no order. */
  #numberOf(id: string): number {
    return this.#numbers.get(id) ?? -1;
  }

  #noteWallets(event: EngineEvent): void {
    for (const wallet of walletsOf(event)) {
      const sequences = this.#touched.get(wallet) ?? [];
      sequences.push(event.sequence);
      this.#touched.set(wallet, sequences);
    }
  }

  // --- state ---------------------------------------------------------------------------------------------

  #touchedBy(operation: Operation): Touched {
    switch (operation.do) {
      case 'place':
        return this.#tradedOn([operation.request.market]);
      case 'move':
        return { assets: [operation.movement.asset], markets: [] };
      case 'cancel_all':
      case 'clear':
      case 'hold':
        return this.#everything();
      default:
        return NOTHING;
    }
  }

  #everything(): Touched {
    return { assets: [...this.reference.scales.keys()], markets: undefined };
  }

  /** @param symbols of markets, some of which may be unknown */
  #tradedOn(symbols: readonly string[]): Touched {
    const markets = [...new Set(symbols)].filter((symbol) => this.reference.market(symbol));
    const assets = markets.flatMap((symbol) => {
      const { base, quote } = this.reference.market(symbol)!;
      return [base, quote];
    });
    return { assets: [...new Set(assets)], markets };
  }

  /**
   * Compares balances, reservations and books with the reference and with one another. Unless all markets may have been
   * touched, only the reference tells what the assets' other markets reserve: each of their books would be a request.
   */
  async #lookAt({ assets, markets: touched }: Touched): Promise<void> {
    const best = new Map<string, { buy?: bigint; sell?: bigint }>();
    if (assets.length === 0) return;
    const known = await this.#engine.markets.all();
    const markets = known.filter(({ symbol }) => touched === undefined || touched.includes(symbol));
    const snapshots = await Promise.all(assets.map((asset) => assetContents(this.#engine, asset, markets)));
    for (const [index, { balances, owed, supplyAtoms, resting, sequence }] of snapshots.entries()) {
      const asset = assets[index]!;
      compare('sequence of a snapshot', sequence, this.#cursor.sequence);
      const reserved = new Map<string, bigint>();
      for (const { wallet, side, priceTicks, remainingSteps, market } of resting) {
        const { quoteAtomsPerLot, baseAtomsPerStep } = market;
        const atoms = remainingSteps * (side === 'buy' ? priceTicks * quoteAtomsPerLot : baseAtomsPerStep);
        reserved.set(wallet, (reserved.get(wallet) ?? 0n) + atoms);
        const quotes = best.get(market.symbol) ?? {};
        quotes[side] ??= priceTicks;
        best.set(market.symbol, quotes);
      }
      let total = 0n;
      for (const [account, { availableAtoms, reservedAtoms }] of balances) {
        total += availableAtoms + reservedAtoms;
        if (touched === undefined)
          compare(
            `invariant: reserved = live orders in ${asset}`,
            reservedAtoms,
            reserved.get(account) ?? 0n,
          );
        if (availableAtoms < 0n)
          throw new Divergence('invariant: a negative balance', availableAtoms, account);
      }
      compare(`invariant: conservation of ${asset}`, total, supplyAtoms);
      compare(`supply of ${asset}`, supplyAtoms, this.reference.supply.get(asset));
      compare(`balances of ${asset}`, balancesIn(balances), this.#balancesOf(asset));
      compare(`owed in ${asset}`, new Map([...owed].filter(([, atoms]) => atoms > 0n)), this.#owedIn(asset));
      this.#compareBooks(asset, resting, touched);
    }
    for (const [symbol, { buy, sell }] of best) {
      if (buy !== undefined && sell !== undefined && buy >= sell) {
        throw new Divergence(`invariant: the book of ${symbol} is crossed`, buy, sell);
      }
    }
  }

  #owedIn(asset: string): Map<string, bigint> {
    const owed = WALLETS.map(
      (wallet) => [wallet, this.reference.owed.get(`${wallet} ${asset}`) ?? 0n] as const,
    );
    return new Map(owed.filter(([, atoms]) => atoms > 0n));
  }

  #balancesOf(asset: string): Map<string, readonly [available: bigint, reserved: bigint]> {
    const house = this.reference.house.get(asset)!;
    const pending = this.reference.pending.get(asset) ?? 0n;
    const balances = new Map<string, readonly [bigint, bigint]>(house > 0n ? [['house', [house, 0n]]] : []);
    if (pending > 0n) balances.set('withdrawals', [pending, 0n]);
    for (const wallet of WALLETS) {
      const { available, reserved } = this.reference.account(wallet, asset);
      if (available !== 0n || reserved !== 0n) balances.set(wallet, [available, reserved]);
    }
    return balances;
  }

  #compareBooks(asset: string, resting: AssetContents['resting'], touched: Touched['markets']): void {
    const actual = resting.map(({ id, wallet, side, priceTicks, remainingSteps, market }) => {
      const { tick, step } = this.reference.market(market.symbol)!;
      const price = priceTicks * tick;
      const remaining = remainingSteps * step;
      return { order: this.#numberOf(id), market: market.symbol, side, wallet, price, remaining };
    });
    const expected = this.reference.markets.flatMap(({ base, quote, rules }) => {
      if (base !== asset && quote !== asset) return [];
      if (touched !== undefined && !touched.includes(rules.symbol)) return [];
      const side = base === asset ? 'sell' : 'buy';
      return this.reference.book(rules.symbol, side).map(({ number, wallet, price, size, filled }) => ({
        order: number,
        market: rules.symbol,
        side,
        wallet,
        price,
        remaining: size - filled,
      }));
    });
    compare(`books that reserve ${asset}`, actual, expected);
  }

  /** Checks that each level of a book is the sum of its orders. */
  async #lookAtLevels(symbol: string): Promise<void> {
    const { tick, step } = this.reference.market(symbol)!;
    const levels = (await this.#engine.reads.book(symbol, MAX_LEVELS))!;
    for (const [side, actual] of [
      ['buy', levels.bids],
      ['sell', levels.asks],
    ] as const) {
      const expected = new Map<bigint, bigint>();
      for (const { price, size, filled } of this.reference.book(symbol, side)) {
        expected.set(price! / tick, (expected.get(price! / tick) ?? 0n) + (size - filled) / step);
      }
      compare(
        `levels of ${symbol}`,
        actual.map(({ priceTicks, sizeSteps }) => [priceTicks, sizeSteps]),
        [...expected],
      );
    }
  }

  /** Readers skip a level of size zero, so only its hash shows whether it was removed. */
  async #countLevels(symbol: string): Promise<void> {
    for (const [side, name] of [
      ['buy', 'bids'],
      ['sell', 'asks'],
    ] as const) {
      const prices = new Set(this.reference.book(symbol, side).map(({ price }) => price));
      compare(`levels of ${symbol}`, await this.#redis.hlen(levelsKey(symbol, name)), prices.size);
    }
  }

  /** Checks that the lists of live orders match the books. */
  async #lookAtLive(): Promise<void> {
    const live = await liveContents(this.#engine);
    const actual = [...live].map(([id, { wallet }]) => ({ number: this.#numberOf(id), wallet }));
    const expected = this.reference.live.map(({ number, wallet }) => ({ number, wallet }));
    compare('live orders', inOrder(actual), inOrder(expected));
  }

  async lookAtAll(): Promise<void> {
    await this.#lookAt(this.#everything());
    await this.#lookAtMarkets();
    const wallet = WALLETS[this.#cursor.sequence % WALLETS.length]!;
    const balances = await this.#engine.funds.readBalances(wallet);
    for (const { asset, availableAtoms, reservedAtoms, owedAtoms } of balances) {
      const { available, reserved } = this.reference.account(wallet, asset);
      const owed = this.reference.owed.get(`${wallet} ${asset}`) ?? 0n;
      compare(
        `${asset} of ${wallet}`,
        [availableAtoms, reservedAtoms, owedAtoms],
        [available, reserved, owed],
      );
    }
    compare('hold', (await this.#engine.switches.readAccount(wallet)).held, this.reference.held.has(wallet));
    compare(
      'live orders of a wallet',
      await this.#engine.orders.liveCount(wallet),
      this.reference.liveOf(wallet).length,
    );
    const { sequence, paused, termsVersion } = await this.#engine.reads.state();
    compare(
      'state',
      { sequence, paused, termsVersion },
      {
        sequence: this.#cursor.sequence,
        paused: this.reference.isPaused,
        termsVersion: this.reference.requiredTerms,
      },
    );
  }

  /** Number of changes of a market, as the reference counts them. The engine's versions only increase. */
  #changesUpTo({ symbol, version }: Market): number {
    const versions = this.#versions.get(symbol) ?? [];
    this.#versions.set(symbol, versions);
    if (version > (versions.at(-1) ?? 0)) versions.push(version);
    return versions.indexOf(version) + 1;
  }

  async #lookAtMarkets(): Promise<void> {
    const { markets, quotes } = await this.#engine.reads.quotes((all) => all);
    compare(
      'markets',
      markets.map(rulesIn),
      this.reference.markets.map(({ rules }) => rules),
    );
    await Promise.all(markets.map(({ symbol }) => this.#lookAtLevels(symbol)));
    await Promise.all(markets.map(({ symbol }) => this.#countLevels(symbol)));
    for (const { rules, tick, last } of this.reference.markets) {
      const best = (side: 'buy' | 'sell'): bigint | null => {
        const [order] = this.reference.book(rules.symbol, side);
        return order === undefined ? null : order.price! / tick;
      };
      const lastTicks = last === null ? null : last / tick;
      compare(`quotes of ${rules.symbol}`, quotes.get(rules.symbol), {
        bestBidTicks: best('buy'),
        bestAskTicks: best('sell'),
        lastTicks,
      });
    }
  }

  /** Checks that every unsettled event that affects a wallet is found under the wallet. */
  async lookAtUnsettled(): Promise<void> {
    for (const wallet of WALLETS) {
      const events = await this.#engine.outbox.readUnsettled(wallet);
      compare(
        `unsettled events of ${wallet}`,
        events.map(({ sequence }) => sequence),
        this.#touched.get(wallet) ?? [],
      );
    }
  }

  /** Trims all events, as if settlement had settled them. */
  async trim(): Promise<void> {
    await this.#engine.outbox.trim(this.#cursor);
    this.#touched.clear();
  }
}
