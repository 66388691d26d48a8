/** Finds out what the lost events changed: the state of the engine before the tail, against that of the ledger. */

import type { Act } from '../../domain/act.ts';
import { OperatorRefusal } from '../../domain/errors.ts';
import type { EngineEvent, EventBody } from '../../domain/event.ts';
import type { Market } from '../../domain/market.ts';
import { canonicalMarketRecord, readMarketRecord } from '../../domain/market-record.ts';
import type { ClosedOrder, LiveOrder, OrderTerms } from '../../domain/order.ts';
import type { Switches } from '../../domain/switches.ts';
import { writeTake } from '../../domain/withdrawal-states.ts';
import { readBookMember, writeBookMember } from '../../engine/index.ts';
import { type Adoption, entriesOfMovement, type Ledger, type SettledCursor } from '../../ledger/index.ts';
import type { HeldState } from './still-engine.ts';
import { AccountSums, placeOf, type Tail } from './tail.ts';

/** Both sides of a seam. */
export interface Sides {
  readonly ledger: Ledger;
  readonly settled: SettledCursor;
  /** The engine with the tail. */
  readonly held: HeldState;
  readonly tail: Tail;
}

/** Changes of an account by the lost events. */
export interface ChangedBalance {
  readonly account: string;
  readonly asset: string;
  readonly atoms: bigint;
}

const inconsistent = (what: string): OperatorRefusal =>
  new OperatorRefusal('LEDGER_INCONSISTENT', `${what}: this Postgres is no earlier state of this engine`);

/** Events at the places of lost ones. */
export class LostEvents {
  readonly events: EngineEvent[] = [];
  readonly #place: { readonly epoch: number; readonly last: number; readonly after: number };
  /** Unix milliseconds of all of them. */
  readonly timeMs: number;
  #settings = 0;

  constructor({ settled, tail }: Sides, timeMs: number) {
    this.#place = { epoch: settled.epoch, last: tail.after, after: settled.sequence };
    this.timeMs = timeMs;
  }

  add(body: EventBody, sequence = this.#place.last, act?: Act): void {
    const { epoch } = this.#place;
    const recorded = act && { ...act, before: null };
    this.events.push({
      ...body,
      epoch,
      sequence,
      timeMs: this.timeMs,
      digest: { hex: '' },
      ...(recorded && { act: recorded }),
    });
  }

  /** Adds an event that has a place of its own: a lost event made each of these changes. */
  addApart(body: EventBody): void {
    const sequence = this.#place.last - this.#settings;
    if (sequence <= this.#place.after) throw inconsistent('more settings differ than events are lost');
    this.#settings += 1;
    this.add(body, sequence);
  }
}

/** Finds the settings that differ, other than those that the tail sets. */
export async function lostSettings({ ledger, held, tail }: Sides, lost: LostEvents): Promise<void> {
  const known = await ledger.state.switches();
  const scales = new Map((await ledger.state.assets()).map(({ symbol, scale }) => [symbol, scale]));
  for (const market of lostMarkets(known.markets, { held, tail })) {
    lost.add({ kind: 'market_changed', market });
    for (const { symbol, scale } of [market.base, market.quote]) scales.set(symbol, scale);
  }
  for (const [symbol, scale] of held.assets)
    if (scales.get(symbol) !== scale && !tail.assets.has(symbol))
      lost.addApart({ kind: 'asset_changed', asset: { symbol, scale } });
  const { switches } = tail;
  if (known.paused !== held.paused && switches.paused === undefined)
    lost.addApart({ kind: held.paused ? 'trading_paused' : 'trading_resumed' });
  if (known.termsVersion !== held.termsVersion && switches.termsVersion === undefined)
    lost.addApart({ kind: 'terms_required', version: held.termsVersion });
  const wasHeld = new Set(known.holds);
  for (const wallet of new Set([...wasHeld, ...held.holds]))
    if (wasHeld.has(wallet) !== held.holds.has(wallet) && !switches.holds.has(wallet))
      lost.addApart({ kind: held.holds.has(wallet) ? 'account_held' : 'account_released', wallet });
  for (const [wallet, version] of held.acceptedTerms)
    if (known.acceptedTerms.get(wallet) !== version && !switches.acceptedTerms.has(wallet))
      lost.addApart({ kind: 'terms_accepted', wallet, version });
  lostTakes(known, { held, tail }, lost);
}

function lostTakes(known: Switches, { held, tail }: Pick<Sides, 'held' | 'tail'>, lost: LostEvents): void {
  for (const reference of new Set([...known.takes.keys(), ...held.takes.keys()])) {
    const was = known.takes.get(reference);
    const take = held.takes.get(reference);
    if ((was && writeTake(was)) === (take && writeTake(take)) || tail.switches.takes.has(reference)) continue;
    // No row of a take has its wallet and asset: they are for acts, and nobody knows whose act this was.
    const of = { reference, wallet: '', asset: '' };
    if (take === undefined) lost.addApart({ kind: 'withdrawal_released', ...of });
    else lost.addApart({ kind: 'withdrawal_taken', ...of, take });
  }
}

/** Returns markets as they were before the tail, where the ledger has another record. */
function lostMarkets(known: readonly Market[], { held, tail }: Pick<Sides, 'held' | 'tail'>): Market[] {
  const records = new Map(known.map((market) => [market.symbol, canonicalMarketRecord(market)]));
  return [...held.markets.values()].flatMap((market) => {
    const before = tail.markets.get(market.symbol);
    // The tail made it, or does not tell what it was before.
    if (before === null) return [];
    const then = before === undefined ? market : readMarketRecord(before);
    return records.get(then.symbol) === canonicalMarketRecord(then) ? [] : [then];
  });
}

/** Changes of orders by the lost events. */
export interface LostOrders {
  readonly placed: number;
  readonly ended: number;
  readonly filled: Map<string, bigint>;
  readonly filledPlaced: Map<string, bigint>;
}

/** An order that was live before the tail. */
interface Survivor {
  readonly id: string;
  readonly wallet: string;
  readonly clientOrderId: string | null;
  /** Remaining steps before the tail; the least possible ones if the tail cancelled the order. */
  readonly steps: bigint;
  /** True if the tail cancelled it, so that nobody knows what was left of it. */
  readonly isCancelled: boolean;
  /** Steps that it had filled before the tail; the least possible ones if the tail ended the order. */
  readonly filledSteps: bigint;
}

/** Returns the orders that were live before the tail: those that are, and those that the tail filled or cancelled. */
function survivorsOf({ held, tail }: Sides): Map<string, Survivor> {
  const survivors = new Map<string, Survivor>();
  for (const id of new Set([...held.orders.keys(), ...tail.makers.keys(), ...tail.ends.keys()])) {
    if (placeOf(id) > tail.after) continue;
    const order = held.orders.get(id);
    const maker = tail.makers.get(id);
    const end = tail.ends.get(id);
    const filledByTail = maker?.steps ?? 0n;
    survivors.set(id, {
      id,
      wallet: (order ?? maker ?? end)!.wallet,
      clientOrderId: order?.clientOrderId ?? end?.clientOrderId ?? null,
      steps: (order?.remainingSteps ?? 0n) + filledByTail + (end === undefined ? 0n : 1n),
      isCancelled: end !== undefined,
      filledSteps:
        order === undefined
          ? leastFilled(end, filledByTail)
          : order.sizeSteps - order.remainingSteps - filledByTail,
    });
  }
  return survivors;
}

/** Returns the least steps that an order which the tail ended had filled before it. */
const leastFilled = (end: ClosedOrder | undefined, filledByTail: bigint): bigint =>
  filledByTail === 0n && end?.status === 'partially_filled_cancelled' ? 1n : 0n;

/** Finds the orders that the lost events placed, filled and ended. */
export async function lostOrders(sides: Sides, lost: LostEvents): Promise<LostOrders> {
  const { ledger, settled, tail } = sides;
  const survivors = survivorsOf(sides);
  const filled = new Map<string, bigint>();
  const ended: ClosedOrder[] = [];
  const known = new Set<string>();
  for await (const order of ledger.state.liveOrders(settled.sequence)) {
    known.add(order.id);
    const survivor = survivors.get(order.id);
    if (survivor === undefined) ended.push(endOf(order));
    else {
      const steps = stepsLost(order, survivor);
      if (steps > 0n) filled.set(order.id, steps);
    }
  }
  const filledPlaced = new Map<string, bigint>();
  const markets = new Map([...sides.held.markets.values()].map((market) => [market.number, market]));
  let placed = 0;
  for (const survivor of survivors.values()) {
    if (known.has(survivor.id)) continue;
    if (placeOf(survivor.id) <= settled.sequence)
      throw inconsistent(`order ${survivor.id} is live in the engine, and not in Postgres`);
    place(markets, survivor, lost);
    placed += 1;
    if (survivor.filledSteps > 0n) filledPlaced.set(survivor.id, survivor.filledSteps);
  }
  if (ended.length > 0) lost.add({ kind: 'orders_closed', orders: ended }, tail.after);
  return { placed, ended: ended.length, filled, filledPlaced };
}

/** Returns the end of an order of which nothing but its end is known. */
const endOf = ({ id, wallet, market, clientOrderId, sizeSteps, remainingSteps }: LiveOrder): ClosedOrder => ({
  id,
  wallet,
  market,
  clientOrderId,
  status: remainingSteps < sizeSteps ? 'partially_filled_cancelled' : 'cancelled',
  reason: null,
});

/** Returns the steps of an order of the ledger that lost trades filled. */
function stepsLost({ id, sizeSteps, remainingSteps }: LiveOrder, survivor: Survivor): bigint {
  const isFirstFill = survivor.filledSteps > 0n && remainingSteps === sizeSteps;
  const steps = survivor.isCancelled ? (isFirstFill ? 1n : 0n) : remainingSteps - survivor.steps;
  if (steps < 0n) throw inconsistent(`order ${id} has more left in the engine than in Postgres`);
  return steps;
}

/** Places an order of the lost events. Its size is what is known of it. */
function place(markets: ReadonlyMap<number, Market>, survivor: Survivor, lost: LostEvents): void {
  const { id, wallet, clientOrderId, steps, filledSteps } = survivor;
  const number = Number.parseInt(id.slice(0, 4), 16);
  const side = number % 2 === 1 ? 'sell' : 'buy';
  const market = markets.get(number >> 1);
  if (market === undefined) throw inconsistent(`order ${id} is of no market`);
  const member = writeBookMember(id, wallet, steps);
  const { base, quote, baseAtomsPerStep, quoteAtomsPerLot } = market;
  const order: OrderTerms = {
    id,
    wallet,
    market: market.symbol,
    side,
    type: 'limit',
    timeInForce: 'GTC',
    postOnly: false,
    leverage: null,
    priceTicks: readBookMember(member, market.number, side).priceTicks,
    sizeSteps: steps + filledSteps,
    clientOrderId,
    createdAtMs: lost.timeMs,
    sequence: placeOf(id),
    units: { base: base.symbol, quote: quote.symbol, baseAtomsPerStep, quoteAtomsPerLot },
  };
  const status = filledSteps > 0n ? 'partially_filled' : 'resting';
  const body = {
    kind: 'order_placed',
    order,
    status,
    filledSteps,
    reason: null,
    trades: [],
    expired: [],
  } as const;
  lost.add(body, order.sequence);
}

/** Requests of withdrawals that the tail ends, where neither the ledger nor the tail has the request. */
export async function lostRequests({ ledger, tail }: Sides, lost: LostEvents): Promise<AccountSums> {
  const moved = new AccountSums();
  let place = tail.after;
  for (const { wallet, asset, amountAtoms, reference } of tail.ended) {
    if ((await ledger.journal.movement('requested', reference)) !== null) continue;
    const request = { kind: 'requested', wallet, asset, amountAtoms, reference } as const;
    lost.add(request, place);
    for (const entry of entriesOfMovement(request)) moved.add(asset, entry.account, entry.amountAtoms);
    place -= 1;
  }
  return moved;
}

/** Returns the accounts that differ before the tail, beside those of lost requests. */
export async function lostBalances(
  { ledger, settled, held, tail }: Sides,
  requested: AccountSums,
): Promise<ChangedBalance[]> {
  const changed: ChangedBalance[] = [];
  for (const asset of [...held.assets.keys()].sort()) {
    const sums = new Map(held.balances.of(asset));
    const subtract = (account: string, atoms: bigint): unknown =>
      sums.set(account, (sums.get(account) ?? 0n) - atoms);
    for (const after of [tail.balances, requested])
      for (const [account, atoms] of after.of(asset)) subtract(account, atoms);
    for await (const { account, atoms } of ledger.state.balances(asset, settled.sequence))
      subtract(account, atoms);
    for (const [account, atoms] of [...sums].sort())
      if (atoms !== 0n) changed.push({ account, asset, atoms });
  }
  return changed;
}

/** Returns the last prices that lost trades made, and the last trade id before the tail. */
export async function lostPrices({
  ledger,
  held,
  tail,
}: Sides): Promise<Pick<Adoption, 'prices' | 'lastTradeId'>> {
  const known = await ledger.state.lastPrices();
  const prices = [...held.lastPrices].filter(
    ([market, ticks]) => known.get(market) !== ticks && !tail.tradedMarkets.has(market),
  );
  const lastTradeId = tail.firstTradeId === undefined ? held.lastTradeId : tail.firstTradeId - 1;
  return { prices: new Map(prices), lastTradeId };
}
