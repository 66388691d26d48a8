/** Builds an engine from the ledger: books, balances, switches, used ids. */

import { OperatorRefusal } from '../domain/errors.ts';
import type { Cursor } from '../domain/event.ts';
import { writeMarketRecord } from '../domain/market-record.ts';
import { heldAtoms, type LiveOrder } from '../domain/order.ts';
import { writeTake } from '../domain/withdrawal-states.ts';
import { beginRebuild, contentKeys, endRebuild } from './begin-rebuild.ts';
import { BulkWriter } from './bulk-writer.ts';
import { BALANCE_FIELDS, levelOfMember, walletBytes, writeBookMember, writeLiveMember } from './codec.ts';
import type { EngineCore } from './core.ts';
import type { EngineImage } from './engine-image.ts';
import { fillFilter } from './filter-growth.ts';
import { type FilterLayout, writeFilterState } from './filter-layout.ts';
import { balancesKey, bookKey, KEYS, levelsKey, takenField } from './keys.ts';
import { MAX_EPOCH, rulesField, rulesText, STATE } from './state.ts';
import { walletField } from './switches.ts';

/** Contents of a rebuilt engine. */
export interface Rebuilt {
  /** Sequence of the event after which the engine continues. */
  readonly sequence: number;
  readonly markets: number;
  readonly accounts: number;
  readonly liveOrders: number;
  readonly usedIds: number;
  /** False if there were no dead-man switches to keep. An engine of another format leaves its own. */
  readonly keepsSwitches: boolean;
}

/**
 * Number of epochs skipped, because the lost engine may have given out ids in epochs of which nothing was settled. It
 * began an epoch only at a start with Postgres available, so there were far fewer than this.
 */
const EPOCHS_SKIPPED = 100;

/** Atoms that a wallet's orders reserve, by wallet, by asset. */
type Reserved = Map<string, Map<string, bigint>>;

/**
 * Returns the engine's epoch until it is opened, which begins the next one.
 * @throws OperatorRefusal EPOCHS_EXHAUSTED
 */
function epochAfter({ cursor, begunEpoch }: Pick<EngineImage, 'cursor' | 'begunEpoch'>): number {
  const epoch = Math.max(cursor.epoch, begunEpoch);
  const next = epoch + EPOCHS_SKIPPED;
  if (next >= MAX_EPOCH)
    throw new OperatorRefusal(
      'EPOCHS_EXHAUSTED',
      `the engine is at epoch ${epoch} of ${MAX_EPOCH}, and a rebuild skips ${EPOCHS_SKIPPED}: no more order ids can be issued`,
    );
  return next;
}

export class EngineRebuilds {
  readonly #core: EngineCore;

  constructor(core: EngineCore) {
    this.#core = core;
  }

  /**
   * Begins to rebuild an engine of another format. Everything in it is settled, so a rebuild restores it, and only
   * `run` can follow.
   * @param cursor Postgres' cursor; nothing is settled meanwhile
   * @throws OperatorRefusal ENGINE_UNSETTLED | ENGINE_BEHIND | ENGINE_NOT_EMPTY; nothing was changed then
   */
  async replace(cursor: Cursor): Promise<void> {
    await beginRebuild(this.#core, cursor, []);
  }

  /**
   * Builds an engine from the ledger, in place of none or of one that `replace` removed. The engine is not open yet: opening it
   * begins a new epoch. A rebuild that broke off is started again by the next one.
   * @throws OperatorRefusal ENGINE_NOT_EMPTY | NOTHING_SETTLED | REBUILD_REPLACED | LEDGER_INCONSISTENT
   */
  async run(image: EngineImage): Promise<Rebuilt> {
    const epoch = epochAfter(image);
    await this.#core.lifecycle.checkServer();
    const layout: FilterLayout = { serial: 0, bytes: this.#core.filter.nextBytes };
    const begun = await beginRebuild(this.#core, image.cursor, contentKeys(layout, image));
    const writer = new BulkWriter(this.#core, begun.token);
    const { liveOrders, reserved } = await fillBooks(writer, image);
    const accounts = await fillBalances(writer, image, reserved);
    await fillMarkets(writer, image);
    // The filter tells only that an id was used. Postgres tells what for when the id comes again.
    const usedIds = await fillFilter(layout, image.usedIds, (key, offset, piece) =>
      writer.send('setrange', key, `${offset}`, piece),
    );
    await fillEngine(writer, layout, image);
    await writer.flush();
    await image.fence(epoch);
    const { sequence } = image.cursor;
    await endRebuild(this.#core, begun.token, { epoch, sequence });
    const { keepsSwitches } = begun;
    return { sequence, markets: image.switches.markets.length, accounts, liveOrders, usedIds, keepsSwitches };
  }
}

/** Puts every resting order back at its place, which its id gives, and reserves what it holds. */
async function fillBooks(
  writer: BulkWriter,
  image: EngineImage,
): Promise<{ liveOrders: number; reserved: Reserved }> {
  const reserved: Reserved = new Map();
  const levels = new Map<string, Map<string, bigint>>();
  let liveOrders = 0;
  for await (const order of image.liveOrders()) {
    const { id, wallet, market, side, remainingSteps: steps } = order;
    const member = writeBookMember(id, wallet, steps);
    const sideName = side === 'buy' ? 'bids' : 'asks';
    await writer.add('zadd', bookKey(market, sideName), '0', member);
    await writer.add('zadd', KEYS.live, '0', writeLiveMember(order));
    addTo(levels, levelsKey(market, sideName), levelOfMember(member).toString('hex'), steps);
    addTo(reserved, side === 'buy' ? order.units.quote : order.units.base, wallet, reservedBy(order));
    liveOrders += 1;
  }
  for (const [key, sums] of levels)
    for (const [field, steps] of sums) await writer.add('hset', key, Buffer.from(field, 'hex'), `${steps}`);
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
  const { id, priceTicks, remainingSteps, units } = order;
  if (priceTicks === null || remainingSteps <= 0n)
    throw inconsistent(`order ${id} is live in the ledger and cannot rest`);
  return heldAtoms({ ...order, priceTicks }, units);
}

/** Writes balances: what is not reserved is available, and the supply is the sum of all that is not owed. */
async function fillBalances(writer: BulkWriter, image: EngineImage, reserved: Reserved): Promise<number> {
  let accounts = 0;
  for (const { symbol } of image.assets) {
    const key = balancesKey(symbol);
    const held = reserved.get(symbol) ?? new Map<string, bigint>();
    let supply: bigint | undefined;
    for await (const { account, atoms, owes } of image.readBalances(symbol)) {
      const field = (part: string): Buffer => Buffer.concat([walletBytes(account), Buffer.from(part)]);
      if (owes) {
        if (atoms < 0n) throw inconsistent(`${account} owes ${atoms} atoms of ${symbol}`);
        await writer.add('hset', key, field(BALANCE_FIELDS.owed), `${atoms}`);
        continue;
      }
      const reservedAtoms = held.get(account) ?? 0n;
      held.delete(account);
      if (atoms < reservedAtoms) throw inconsistent(`${account} has less ${symbol} than its orders hold`);
      const isWallet = account.startsWith('0x');
      await writer.add(
        'hset',
        key,
        isWallet ? field(BALANCE_FIELDS.available) : account,
        `${atoms - reservedAtoms}`,
      );
      if (reservedAtoms > 0n)
        await writer.add('hset', key, field(BALANCE_FIELDS.reserved), `${reservedAtoms}`);
      supply = (supply ?? 0n) + atoms;
      accounts += 1;
    }
    const [missing] = held.keys();
    if (missing !== undefined) throw inconsistent(`${missing} has orders and no ${symbol} to pay them with`);
    if (supply === undefined) continue;
    await writer.add('hset', key, BALANCE_FIELDS.supply, `${supply}`);
  }
  return accounts;
}

async function fillMarkets(writer: BulkWriter, image: EngineImage): Promise<void> {
  const { assets, bookedAssets, switches } = image;
  for (const { symbol, scale } of assets) await writer.add('hset', KEYS.assets, symbol, `${scale}`);
  const used = new Set(bookedAssets);
  for (const market of switches.markets) {
    await writer.add('hset', KEYS.markets, market.symbol, writeMarketRecord(market));
    for (const { symbol } of [market.base, market.quote]) used.add(symbol);
  }
  for (const symbol of used) await writer.add('hset', KEYS.assets, `${symbol} used`, '1');
}

async function fillEngine(writer: BulkWriter, layout: FilterLayout, image: EngineImage): Promise<void> {
  const { switches, lastPrices } = image;
  const { sequence, timeMs } = image.cursor;
  const set = (field: string | Buffer, value: string | number | bigint): Promise<void> =>
    writer.add('hset', KEYS.rebuilding, field, `${value}`);
  const state = { epoch: epochAfter(image), sequence, time: timeMs, trade: 0, unsettled: 0, claims: 0 };
  await writer.add('hset', KEYS.rebuilding, 'state', STATE.pack(state));
  await set('settled', sequence);
  // Earlier ids are in the filter alone: the first generation of claims begins here.
  await set('claims:turned_at', sequence);
  await set('filter', writeFilterState(layout));
  if (switches.paused) await set('paused', 1);
  if (switches.termsVersion !== null) await set('terms', switches.termsVersion);
  for (const wallet of switches.holds) await set(walletField('hold', wallet), 1);
  for (const [reference, take] of switches.takes) await set(takenField(reference), writeTake(take));
  for (const [wallet, version] of switches.acceptedTerms) await set(walletField('terms', wallet), version);
  for (const { number, version, symbol } of switches.markets) {
    await set(rulesField(number), rulesText({ version, symbol }));
    const last = lastPrices.get(symbol);
    if (last !== undefined) await set(`last:${number}`, last);
  }
}
