/**
 * Recomputes every invariant from what Redis and Postgres hold, while trading goes on.
 *
 * The engine is looked at one asset at a time, all its balances and resting orders at one event; as soon as
 * settlement has reached that event, the ledger is summed up to it and both are held against each other. What
 * happens in the meantime lies after the event and touches neither side.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorRefusal } from '../domain/errors.ts';
import type { Asset } from '../domain/market.ts';
import { formatScaled } from '../domain/units.ts';
import type { AssetSnapshot } from '../engine/index.ts';
import { CUSTODY, type LiveOrder } from '../ledger/index.ts';
import type { OperatorServices } from './services.ts';

type Servers = Pick<OperatorServices, 'engine' | 'ledger'>;

export interface Difference {
  /** What it is about: an account, an order, a transaction. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

export interface CheckResult {
  readonly name: string;
  /** The asset it is about, or null. */
  readonly asset: string | null;
  /** What must hold, in a sentence. */
  readonly meaning: string;
  /** How much was looked at, like `1204 accounts`. */
  readonly compared: string;
  /** How often it does not hold. */
  readonly count: number;
  /** The first of them. */
  readonly differences: readonly Difference[];
}

export interface Reconciliation {
  readonly holds: boolean;
  /** The event up to which everything was settled when the last check ran. */
  readonly sequence: number;
  readonly checks: readonly CheckResult[];
}

export interface ReconcileOptions {
  /** How long settlement may stand still before it is given up on. */
  readonly patienceMs: number;
  /** Told of each check as it is done. */
  readonly onCheck?: (check: CheckResult) => void;
}

const DIFFERENCES_KEPT = 20;
const LOOK_EVERY_MS = 50;

/** @throws OperatorRefusal SETTLEMENT_STALLED; Refusal SERVICE_UNAVAILABLE when a server is away */
export async function reconcile(servers: Servers, options: ReconcileOptions): Promise<Reconciliation> {
  const checks: CheckResult[] = [];
  for await (const check of allChecks(servers, options.patienceMs)) {
    checks.push(check);
    options.onCheck?.(check);
  }
  const { sequence } = await servers.ledger.cursor();
  return { holds: checks.every(({ count }) => count === 0), sequence, checks };
}

async function* allChecks(servers: Servers, patienceMs: number): AsyncGenerator<CheckResult> {
  yield await checkHistory(servers);
  for (const asset of await servers.engine.assets()) yield* checkAsset(servers, asset, patienceMs);
  yield await checkLiveList(servers, patienceMs);
  const { sequence, checks } = await servers.ledger.check();
  for (const { name, meaning, count, violations } of checks) {
    const differences = violations.slice(0, DIFFERENCES_KEPT);
    yield { name, asset: null, meaning, compared: `up to event ${sequence}`, count, differences };
  }
}

/** Counts what is compared and keeps the first differences. */
class Comparison {
  readonly #kept: Difference[] = [];
  #compared = 0;
  #count = 0;

  equal(subject: string, expected: string, found: string): void {
    this.#compared += 1;
    if (expected === found) return;
    this.#count += 1;
    if (this.#kept.length < DIFFERENCES_KEPT) this.#kept.push({ subject, expected, found });
  }

  /** @param compared what was looked at; `#` stands for how many comparisons there were */
  result(name: string, asset: string | null, compared: string, meaning: string): CheckResult {
    return {
      ...{ name, asset, meaning, compared: compared.replace('#', String(this.#compared)) },
      ...{ count: this.#count, differences: this.#kept },
    };
  }
}

/** Waits until the ledger contains an event. */
async function untilSettled({ ledger }: Servers, sequence: number, patienceMs: number): Promise<void> {
  let settled = (await ledger.cursor()).sequence;
  let movedAtMs = performance.now();
  while (settled < sequence) {
    if (performance.now() - movedAtMs > patienceMs) {
      throw new OperatorRefusal(
        'SETTLEMENT_STALLED',
        `settlement stands still at event ${settled}, the engine is at ${sequence} or later: is a settlement process running?`,
      );
    }
    await sleep(LOOK_EVERY_MS);
    const next = (await ledger.cursor()).sequence;
    if (next > settled) movedAtMs = performance.now();
    settled = next;
  }
}

/** The ledger's last event is the engine's, not another one in the same place. */
async function checkHistory({ engine, ledger }: Servers): Promise<CheckResult> {
  const comparison = new Comparison();
  const cursor = await ledger.cursor();
  const { sequence } = await engine.state();
  const [event] = cursor.sequence === 0 ? [] : await engine.readEvents(cursor, 1);
  const subject = `event ${cursor.epoch}-${cursor.sequence}`;
  if (sequence < cursor.sequence) comparison.equal(subject, 'an event of the engine', 'lost');
  if (event?.sequence === cursor.sequence) comparison.equal(subject, event.digest, String(cursor.digest));
  return comparison.result(
    'one history',
    null,
    subject,
    'the last event that Postgres has is the one the engine has in that place',
  );
}

async function* checkAsset(servers: Servers, asset: Asset, patienceMs: number): AsyncGenerator<CheckResult> {
  const snapshot = await servers.engine.snapshotAsset(asset.symbol);
  yield checkConservation(asset, snapshot);
  yield checkReservations(asset, snapshot);
  await untilSettled(servers, snapshot.sequence, patienceMs);
  yield* checkBalances(servers, asset, snapshot);
  yield await checkBook(servers, asset, snapshot);
}

function checkConservation({ symbol, scale }: Asset, snapshot: AssetSnapshot): CheckResult {
  const comparison = new Comparison();
  let sum = 0n;
  for (const { availableAtoms, reservedAtoms } of snapshot.balances.values()) {
    sum += availableAtoms + reservedAtoms;
  }
  comparison.equal('supply', formatScaled(snapshot.supplyAtoms, scale), formatScaled(sum, scale));
  return comparison.result(
    'conservation',
    symbol,
    `${snapshot.balances.size} accounts`,
    'all balances and the fees earned add up to what was deposited and not withdrawn',
  );
}

/** Per wallet; an ask reserves its rest in base, a bid the price of its rest in quote. */
function checkReservations({ symbol, scale }: Asset, snapshot: AssetSnapshot): CheckResult {
  const comparison = new Comparison();
  const needed = new Map<string, bigint>();
  for (const { wallet, side, priceTicks, remainingSteps, market } of snapshot.resting) {
    const atoms =
      side === 'sell'
        ? remainingSteps * market.baseAtomsPerStep
        : priceTicks * remainingSteps * market.quoteAtomsPerLot;
    needed.set(wallet, (needed.get(wallet) ?? 0n) + atoms);
  }
  for (const wallet of new Set([...needed.keys(), ...snapshot.balances.keys()])) {
    const { availableAtoms = 0n, reservedAtoms = 0n } = snapshot.balances.get(wallet) ?? {};
    comparison.equal(
      `reserved by ${wallet}`,
      formatScaled(needed.get(wallet) ?? 0n, scale),
      formatScaled(reservedAtoms, scale),
    );
    if (availableAtoms < 0n) {
      comparison.equal(`available to ${wallet}`, '0 or more', formatScaled(availableAtoms, scale));
    }
  }
  return comparison.result(
    'reserved = live orders',
    symbol,
    '# accounts',
    'what each account has reserved is what its resting orders need, and no balance is negative',
  );
}

/** Each account, and the supply, against the ledger summed up to the event of the snapshot. */
async function* checkBalances(
  { ledger }: Servers,
  { symbol, scale }: Asset,
  snapshot: AssetSnapshot,
): AsyncGenerator<CheckResult> {
  const supply = new Comparison();
  const accounts = new Comparison();
  const decimal = (atoms: bigint): string => formatScaled(atoms, scale);
  const inLedger = new Set<string>();
  let custodyAtoms = 0n;
  for await (const { account, atoms } of ledger.balancesAt(symbol, snapshot.sequence)) {
    if (account === CUSTODY) {
      custodyAtoms = atoms;
      continue;
    }
    inLedger.add(account);
    const { availableAtoms = 0n, reservedAtoms = 0n } = snapshot.balances.get(account) ?? {};
    accounts.equal(account, decimal(atoms), decimal(availableAtoms + reservedAtoms));
  }
  for (const [account, { availableAtoms, reservedAtoms }] of snapshot.balances) {
    if (!inLedger.has(account)) accounts.equal(account, '0', decimal(availableAtoms + reservedAtoms));
  }
  supply.equal('supply', decimal(-custodyAtoms), decimal(snapshot.supplyAtoms));
  yield supply.result(
    'supply = credits - debits',
    symbol,
    `event ${snapshot.sequence}`,
    'the supply in Redis is the deposits less the withdrawals in Postgres',
  );
  yield accounts.result(
    'Redis = Postgres',
    symbol,
    `# accounts at event ${snapshot.sequence}`,
    'each account has in Redis what its ledger entries in Postgres add up to at the same event',
  );
}

/** An order in all that both sides know of it. */
const orderText = (order: {
  wallet: string;
  side: string;
  symbol: string;
  priceTicks: bigint | null;
  remainingSteps: bigint;
}): string =>
  `${order.side} ${order.remainingSteps} steps at ${order.priceTicks} ticks on ${order.symbol} for ${order.wallet}`;

const NO_ORDER = 'no live order';

async function checkBook({ ledger }: Servers, asset: Asset, snapshot: AssetSnapshot): Promise<CheckResult> {
  const comparison = new Comparison();
  const resting = new Map(
    snapshot.resting.map((order) => [order.id, orderText({ ...order, symbol: order.market.symbol })]),
  );
  const reserves = ({ side, lot }: LiveOrder): boolean =>
    (side === 'sell' ? lot.base : lot.quote) === asset.symbol;
  for await (const order of ledger.liveOrdersAt(snapshot.sequence)) {
    if (!reserves(order)) continue;
    const expected = orderText({ ...order, symbol: order.market });
    comparison.equal(`order ${order.id}`, expected, resting.get(order.id) ?? NO_ORDER);
    resting.delete(order.id);
  }
  for (const [id, found] of resting) comparison.equal(`order ${id}`, NO_ORDER, found);
  return comparison.result(
    'book = live orders',
    asset.symbol,
    `# orders at event ${snapshot.sequence}`,
    'the books in Redis hold exactly the orders that are live in Postgres at the same event',
  );
}

/**
 * The engine's list of live orders is read between two events, `before` and `after`. What was live at both was
 * live all the time and must be listed; what is listed must have been live at one of them, or have come and gone
 * in between.
 */
async function checkLiveList(servers: Servers, patienceMs: number): Promise<CheckResult> {
  const { engine, ledger } = servers;
  const comparison = new Comparison();
  const before = (await engine.state()).sequence;
  const listed = await engine.snapshotLive();
  const after = (await engine.state()).sequence;
  await untilSettled(servers, after, patienceMs);

  const liveAt = async (sequence: number): Promise<Map<string, string>> => {
    const orders = new Map<string, string>();
    for await (const order of ledger.liveOrdersAt(sequence)) {
      orders.set(order.id, `live, of ${order.wallet}`);
    }
    return orders;
  };
  const first = await liveAt(before);
  const last = after === before ? first : await liveAt(after);
  for (const [id, expected] of first) {
    if (last.has(id) && !listed.has(id)) comparison.equal(`order ${id}`, expected, 'not listed');
  }
  for (const [id, { wallet }] of listed) {
    const expected = first.get(id) ?? last.get(id) ?? (await passedThrough(servers, id, before, after));
    comparison.equal(`order ${id}`, expected, `live, of ${wallet}`);
  }
  return comparison.result(
    'live list = live orders',
    null,
    `# orders at event ${before === after ? before : `${before} to ${after}`}`,
    'the engine lists exactly the orders that are live',
  );
}

async function passedThrough(
  { ledger }: Servers,
  id: string,
  before: number,
  after: number,
): Promise<string> {
  const { order } = await ledger.orderById(id);
  const isPassing = order !== null && order.sequence > before && order.sequence <= after;
  return isPassing ? `live, of ${order.wallet}` : NO_ORDER;
}
