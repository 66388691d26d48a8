/** Makes an engine of what the ledger knows: books, balances, switches, used ids. */

import { OperatorRefusal } from '../domain/errors.ts';
import type { Cursor } from '../domain/event.ts';
import type { Asset } from '../domain/market.ts';
import { writeMarketRecord } from '../domain/market-record.ts';
import { heldAtoms, type LiveOrder } from '../domain/order.ts';
import type { Switches } from '../domain/switches.ts';
import { beginRebuild, endRebuild } from './begin-rebuild.ts';
import { type FilterLayout, writeFilterState } from './claim-filter.ts';
import type { UsedId } from './claims.ts';
import { levelOfMember, walletBytes, writeBookMember, writeLiveMember } from './codec.ts';
import type { EngineCore } from './core.ts';
import { Filling } from './filling.ts';
import { fillFilter } from './filter-rebuild.ts';
import { balancesKey, bookKey, KEYS, levelsKey } from './keys.ts';
import { FORMAT_1_SEQUENCE, rulesField, rulesText, STATE } from './state.ts';
import { walletField } from './switches.ts';

/** All that an engine must know to go on after an event. Nothing of it may change while it is read. */
export interface EngineImage {
  /** The event, and its time in Unix milliseconds; all 0 while nothing is settled. */
  readonly cursor: Cursor & { readonly timeMs: number };
  readonly switches: Switches;
  readonly assets: readonly Asset[];
  /** Ticks of the last execution, by symbol. */
  readonly lastPrices: ReadonlyMap<string, bigint>;
  liveOrders(): AsyncIterable<LiveOrder>;
  /**
   * Yields the total balance, available and reserved together, of every account that ever had the asset, and of
   * `house`.
   */
  balancesOf(asset: string): AsyncIterable<{ readonly account: string; readonly atoms: bigint }>;
  usedIds(): AsyncIterable<UsedId>;
  /** Called when all is in place: what the lost engine did in earlier epochs must not come into the ledger any more. */
  fence(epoch: number): Promise<void>;
}

/** Contents of a rebuilt engine. */
export interface Rebuilt {
  /** The event that the engine goes on after. */
  readonly sequence: number;
  readonly markets: number;
  readonly accounts: number;
  readonly liveOrders: number;
  readonly usedIds: number;
  /** False: there were no dead-man switches to keep. An engine of another format leaves its own. */
  readonly keepsSwitches: boolean;
}

/**
 * The lost engine may have begun epochs of which nothing was settled, and given out ids in them. It began one only at
 * a start that found Postgres there, so there were never nearly as many; and there are 65,535 to be had.
 */
const EPOCHS_SKIPPED = 100;
const HIGHEST_EPOCH = 65_535;

/** Atoms that a wallet's orders reserve, by wallet, by asset. */
type Reserved = Map<string, Map<string, bigint>>;

/**
 * The engine's epoch until it is opened, which begins the next one.
 * @throws OperatorRefusal EPOCHS_EXHAUSTED
 */
function epochAfter({ epoch }: Cursor): number {
  const next = epoch + EPOCHS_SKIPPED;
  if (next >= HIGHEST_EPOCH)
    throw new OperatorRefusal('EPOCHS_EXHAUSTED', `${epoch} epochs have gone by: no ids are left`);
  return next;
}

export async function rebuild(core: EngineCore, image: EngineImage): Promise<Rebuilt> {
  const epoch = epochAfter(image.cursor);
  await core.checkServer();
  const layout: FilterLayout = { generation: 0, bytes: core.filterBytes };
  const begun = await beginRebuild(core, layout, image);
  const filling = new Filling(core, begun.token);
  const { liveOrders, reserved } = await fillBooks(filling, image);
  const accounts = await fillBalances(filling, image, reserved);
  await fillMarkets(filling, image);
  // The filter tells only that an id was used. Postgres tells its meaning when the id comes again.
  const usedIds = await fillFilter(layout, image.usedIds, (key, offset, piece) =>
    filling.send('setrange', key, `${offset}`, piece),
  );
  await fillEngine(filling, layout, image);
  await filling.flush();
  await image.fence(epoch);
  const { sequence } = image.cursor;
  await endRebuild(core, begun.token, { epoch, sequence });
  const { keepsSwitches } = begun;
  return { sequence, markets: image.switches.markets.length, accounts, liveOrders, usedIds, keepsSwitches };
}

/** Every resting order where it stood, by its id; what it holds is reserved. */
async function fillBooks(
  filling: Filling,
  image: EngineImage,
): Promise<{ liveOrders: number; reserved: Reserved }> {
  const reserved: Reserved = new Map();
  const levels = new Map<string, Map<string, bigint>>();
  let liveOrders = 0;
  for await (const order of image.liveOrders()) {
    const { id, wallet, market, side, remainingSteps: steps, sizeSteps } = order;
    const member = writeBookMember(id, wallet, { hadFills: steps < sizeSteps, steps });
    const sideName = side === 'buy' ? 'bids' : 'asks';
    await filling.add('zadd', bookKey(market, sideName), '0', member);
    await filling.add('zadd', KEYS.live, '0', writeLiveMember(id, wallet, order.clientOrderId));
    addTo(levels, levelsKey(market, sideName), levelOfMember(member).toString('hex'), steps);
    addTo(reserved, side === 'buy' ? order.lot.quote : order.lot.base, wallet, reservedBy(order));
    liveOrders += 1;
  }
  for (const [key, sums] of levels)
    for (const [field, steps] of sums) await filling.add('hset', key, Buffer.from(field, 'hex'), `${steps}`);
  return { liveOrders, reserved };
}

function addTo(sums: Map<string, Map<string, bigint>>, outer: string, inner: string, amount: bigint): void {
  let found = sums.get(outer);
  if (found === undefined) {
    found = new Map();
    sums.set(outer, found);
  }
  found.set(inner, (found.get(inner) ?? 0n) + amount);
}

const inconsistent = (what: string): OperatorRefusal =>
  new OperatorRefusal('LEDGER_INCONSISTENT', `${what}: nothing may trade on it`);

/** @throws OperatorRefusal LEDGER_INCONSISTENT for an order that no book can hold */
function reservedBy(order: LiveOrder): bigint {
  const { id, priceTicks, remainingSteps, lot } = order;
  if (priceTicks === null || remainingSteps <= 0n)
    throw inconsistent(`order ${id} is live in the ledger and cannot rest`);
  return heldAtoms({ ...order, priceTicks }, lot);
}

/** Fills in balances: the part that is not reserved is available, and the supply is the sum of all. */
async function fillBalances(filling: Filling, image: EngineImage, reserved: Reserved): Promise<number> {
  let accounts = 0;
  for (const { symbol } of image.assets) {
    const [key, held] = [balancesKey(symbol), reserved.get(symbol) ?? new Map<string, bigint>()];
    let supply: bigint | undefined;
    for await (const { account, atoms } of image.balancesOf(symbol)) {
      const reservedAtoms = held.get(account) ?? 0n;
      held.delete(account);
      if (atoms < reservedAtoms) throw inconsistent(`${account} has less ${symbol} than its orders hold`);
      const isWallet = account.startsWith('0x');
      const field = (part: string): Buffer => Buffer.concat([walletBytes(account), Buffer.from(part)]);
      await filling.add('hset', key, isWallet ? field('a') : account, `${atoms - reservedAtoms}`);
      if (reservedAtoms > 0n) await filling.add('hset', key, field('r'), `${reservedAtoms}`);
      supply = (supply ?? 0n) + atoms;
      accounts += 1;
    }
    const [missing] = held.keys();
    if (missing !== undefined) throw inconsistent(`${missing} has orders and no ${symbol} to pay them with`);
    if (supply === undefined) continue;
    await filling.add('hset', key, 'supply', `${supply}`);
    await filling.add('hset', KEYS.assets, `${symbol} used`, '1');
  }
  return accounts;
}

async function fillMarkets(filling: Filling, { assets, switches }: EngineImage): Promise<void> {
  for (const { symbol, scale } of assets) await filling.add('hset', KEYS.assets, symbol, `${scale}`);
  for (const market of switches.markets) {
    await filling.add('hset', KEYS.markets, market.symbol, writeMarketRecord(market));
    for (const { symbol } of [market.base, market.quote])
      await filling.add('hset', KEYS.assets, `${symbol} used`, '1');
  }
}

async function fillEngine(
  filling: Filling,
  layout: FilterLayout,
  { cursor, switches, lastPrices }: EngineImage,
): Promise<void> {
  const { sequence, timeMs } = cursor;
  const set = (field: string | Buffer, value: string | number | bigint): Promise<void> =>
    filling.add('hset', KEYS.rebuilding, field, `${value}`);
  const state = { epoch: epochAfter(cursor), sequence, time: timeMs, trade: 0, unsettled: 0, claims: 0 };
  await filling.add('hset', KEYS.rebuilding, 'state', STATE.pack(state));
  await set(FORMAT_1_SEQUENCE.field, FORMAT_1_SEQUENCE.value);
  await set('settled', sequence);
  // Ids of before are in the filter alone: the first generation of claims begins here.
  await set('claims:turned_at', sequence);
  await set('filter', writeFilterState(layout));
  if (switches.paused) await set('paused', 1);
  if (switches.termsVersion !== null) await set('terms', switches.termsVersion);
  for (const wallet of switches.holds) await set(walletField('hold', wallet), 1);
  for (const [wallet, version] of switches.acceptedTerms) await set(walletField('terms', wallet), version);
  for (const { number, version, symbol } of switches.markets) {
    await set(rulesField(number), rulesText({ version, symbol }));
    const last = lastPrices.get(symbol);
    if (last !== undefined) await set(`last:${number}`, last);
  }
}
