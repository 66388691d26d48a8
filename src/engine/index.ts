/** The matching engine as TypeScript sees it: one method a command, integer amounts, the documented refusals. */

import type { AccountMoved, Cursor, EngineEvent } from '../domain/event.ts';
import type { Asset, Market, MarketChange, MarketSpec } from '../domain/market.ts';
import type { ClosedOrder, Side } from '../domain/order.ts';
import { retireEngine } from './begin-rebuild.ts';
import { type CancelledPage, EngineCancelling } from './cancelling.ts';
import { copyClaimFilter, type FilterCopy, filterName } from './claim-copy.ts';
import { type FilterLoad, scriptClaim } from './claim-filter.ts';
import { type Moment, orderClaim } from './claims.ts';
import { type CoreOptions, EngineCore, type Reply } from './core.ts';
import { type DueCancel, type DueCancels, EngineDueCancels, stampOf } from './due-cancels.ts';
import { type FilterRebuilt, type FilterSource, filterLoad, rebuildClaimFilter } from './filter-rebuild.ts';
import { type Balance, EngineFunds, type Movement } from './funds.ts';
import { KEYS } from './keys.ts';
import { EngineMarkets } from './markets.ts';
import { EngineOutbox } from './outbox.ts';
import {
  type EngineHash,
  EnginePages,
  type FieldPage,
  type FieldValues,
  type Head,
  type MemberPage,
} from './pages.ts';
import { EnginePlacing, type OrderLimits, type Placement, type PlaceOrder } from './placing.ts';
import { type EngineImage, type Rebuilt, rebuild } from './rebuild.ts';
import { type BookLevels, EngineSnapshots, type EngineState, type MarketQuotes } from './snapshots.ts';
import { EngineSwitches } from './switches.ts';

export type { CancelledPage } from './cancelling.ts';
export { claimName, type FilterCopy } from './claim-copy.ts';
export type { FilterLoad } from './claim-filter.ts';
export type { Moment, UsedId } from './claims.ts';
export {
  BOOK_MEMBER_BYTES,
  type RestingOrder,
  readBookMember,
  readLiveMember,
  writeBookMember,
  writeLiveMember,
} from './codec.ts';
export { EngineBehind, EngineFormat } from './core.ts';
export type { DueCancel, DueCancels } from './due-cancels.ts';
export type { FilterRebuilt, FilterSource } from './filter-rebuild.ts';
export { type Balance, checkSameMovement, type Movement } from './funds.ts';
export {
  type EngineHash,
  FIELDS_TOGETHER,
  type FieldPage,
  type FieldValues,
  type Head,
  type MemberPage,
} from './pages.ts';
export type { Placement, PlaceOrder } from './placing.ts';
export type { EngineImage, Rebuilt } from './rebuild.ts';
export { EngineMisconfigured } from './server-settings.ts';
export type { BookLevels, EngineState, Level, MarketQuotes, Quotes } from './snapshots.ts';
export { ENGINE_FORMAT } from './state.ts';

/** Result of a look for a used id: the order it stands for, a new id, or an id that only Postgres can tell. */
export type Claimed =
  | { readonly outcome: 'claimed'; readonly orderId: string }
  | { readonly outcome: 'unclaimed' | 'unchecked' };

/**
 * One engine, as one replica uses it. Every method may throw `Refusal` SERVICE_UNAVAILABLE: the outcome of a
 * command is then unknown, and a retry under the same client order id or reference finds the truth.
 */
export interface Engine {
  /** Asks the server who it is and begins an epoch where needed; must be called again after each reconnection. */
  open(cursor: Cursor | undefined): Promise<void>;
  isOpen(): boolean;
  /**
   * Asks whether the server still holds the engine that was opened.
   * @throws Refusal SERVICE_UNAVAILABLE when it must be opened again
   */
  confirm(): Promise<void>;
  /**
   * Calls the listener when the engine must be opened again although its connection did not break.
   * @returns what ends that
   */
  onLost(listener: () => void): () => void;
  /**
   * Asks the server whether a release of another format wrote the engine there; needs no open engine.
   * @throws EngineFormat
   */
  checkFormat(): Promise<void>;
  /**
   * Takes an engine of another format out of force, if there is one: only a rebuild can follow.
   * @param cursor of Postgres, where nothing is settled meanwhile
   * @throws OperatorRefusal ENGINE_UNSETTLED | ENGINE_BEHIND, and nothing was changed
   */
  retire(cursor: Cursor): Promise<void>;
  /**
   * Makes an engine of what the ledger knows, in place of none or of a retired one. It is not open yet: whoever opens it
   * begins a new epoch. A rebuild that broke off is begun anew by the next.
   * @throws OperatorRefusal ENGINE_NOT_EMPTY | NOTHING_SETTLED | REBUILD_REPLACED | LEDGER_INCONSISTENT
   */
  rebuild(image: EngineImage): Promise<Rebuilt>;
  state(): Promise<EngineState>;

  markets(): Promise<readonly Market[]>;
  /** Returns the market as read last. A command that uses it is checked against the rules in force. */
  market(symbol: string): Promise<Market | undefined>;
  /** Asks the engine, whatever is remembered; needs no open engine. */
  hasMarket(symbol: string): Promise<boolean>;
  assets(): Promise<Asset[]>;
  createMarket(spec: MarketSpec): Promise<Market>;
  setMarket(symbol: string, change: MarketChange): Promise<Market>;
  setAsset(asset: Asset): Promise<Asset>;
  /** Prices of the selected markets, with all markets as they were at that moment. */
  quotes(select: (markets: readonly Market[]) => readonly Market[]): Promise<MarketQuotes>;
  /** The best levels of a market, best first; undefined when there is no such market. */
  readBook(symbol: string, levels: number): Promise<BookLevels | undefined>;
  /** Unix milliseconds by the engine's clock. */
  time(): Promise<number>;

  placeOrder(command: PlaceOrder): Promise<Placement>;
  findClientOrder(wallet: string, clientOrderId: string): Promise<Claimed>;
  cancelOrder(wallet: string, orderId: string): Promise<ClosedOrder>;
  cancelAll(wallet: string, symbol: string | null): Promise<ClosedOrder[]>;
  /**
   * Sets, renews or switches off (0) the dead-man switch of a wallet.
   * @returns when its orders will be cancelled: Unix milliseconds by the engine's clock; null: off
   */
  setCancelAfter(wallet: string, timeoutMs: number): Promise<number | null>;
  /** Takes up to `most` due switches; one that is not ended within `leaseMs` is taken again by the next call. */
  takeDueCancels(most: number, leaseMs: number): Promise<DueCancels>;
  /** Cancels one page of the orders that a taken switch cancels, from `after`, the `next` of the page before. */
  cancelDue(due: DueCancel, after: Buffer | null): Promise<CancelledPage>;
  /**
   * Extends the lease of a taken switch; null: its orders are cancelled, and the switch is forgotten.
   * @returns false when another process has ended it, or has taken a later switch of the wallet
   */
  leaseDueCancel(due: DueCancel, leaseMs: number | null): Promise<boolean>;
  voidOrder(orderId: string): Promise<ClosedOrder>;
  clearMarket(symbol: string): Promise<ClosedOrder[]>;
  liveOrderCount(wallet: string): Promise<number>;

  /** @param scale decimals of the asset that the amount was made with; unless given, whatever the engine has */
  moveFunds(movement: AccountMoved, checked?: Moment, scale?: number): Promise<Movement>;
  balancesOf(wallet: string): Promise<Balance[]>;
  /** Custody hold: nothing more is placed or withdrawn; answers the live orders it cancelled. */
  hold(wallet: string): Promise<ClosedOrder[]>;
  release(wallet: string): Promise<void>;
  accountOf(wallet: string): Promise<{ held: boolean; acceptedTerms: string | null }>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  requireTerms(version: string | null): Promise<void>;
  acceptTerms(wallet: string, version: string): Promise<void>;

  /** Up to `count` events after the cursor, and up to the one that reaches `weight` (see `weightOf`). */
  readEvents(after: Cursor, count: number, weight?: number): Promise<EngineEvent[]>;
  unsettledOf(wallet: string): Promise<EngineEvent[]>;
  unsettledPages(wallet: string): AsyncIterable<EngineEvent[]>;
  trim(cursor: Cursor): Promise<number>;

  /** Estimates the load of the claim filter from some KiB of it. */
  claimFilterLoad(): Promise<FilterLoad>;
  /**
   * Replaces the claim filter by one of the size that this process is set to, filled anew from Postgres, while trading
   * goes on.
   * @throws OperatorRefusal REBUILD_REPLACED when another one began meanwhile; Refusal SERVICE_UNAVAILABLE
   */
  rebuildClaimFilter(source: FilterSource): Promise<FilterRebuilt>;

  /** Returns the position of the engine, by its own count and by its stream. */
  readHead(): Promise<Head>;
  /** A page of one side of a market, each member of which `readBookMember` reads. @param after null: from the beginning */
  scanBook(symbol: string, side: Side, after: Buffer | null): Promise<MemberPage>;
  /** A page of the live orders of all wallets, each member of which `readLiveMember` reads. */
  scanLive(after: Buffer | null): Promise<MemberPage>;
  /** A page of a hash. @param cursor null: from the beginning */
  scanFields(hash: EngineHash, cursor: string | null): Promise<FieldPage>;
  /** Fields of a hash by name, at most `FIELDS_TOGETHER`. */
  readFields(hash: EngineHash, names: readonly string[]): Promise<FieldValues>;
  /** The claim filter in force, copied stretch by stretch; each stretch tells of the ids that lie in it. */
  copyClaimFilter(): AsyncIterable<FilterCopy>;
  /** Returns the name of the claim filter in force; null when no filter can have that name. */
  claimFilterName(): Promise<string | null>;
  /** Returns the identity of the server, which changes at each of its starts. */
  serverRunId(): Promise<string>;
}

export type EngineOptions = CoreOptions & OrderLimits;

/** The engine behind a connection, which stays the caller's to close. */
export function openEngine(options: EngineOptions): Engine {
  const core = new EngineCore(options);
  const markets = new EngineMarkets(core);
  return engineOf({
    core,
    markets,
    placing: new EnginePlacing(core, markets, options),
    cancelling: new EngineCancelling(core, markets),
    dueCancels: new EngineDueCancels(core),
    funds: new EngineFunds(core, markets),
    switches: new EngineSwitches(core),
    outbox: new EngineOutbox(core, markets, options),
    snapshots: new EngineSnapshots(core, markets),
    pages: new EnginePages(core),
  });
}

/** One class for each subject of the engine. */
interface EngineParts {
  readonly core: EngineCore;
  readonly markets: EngineMarkets;
  readonly placing: EnginePlacing;
  readonly cancelling: EngineCancelling;
  readonly dueCancels: EngineDueCancels;
  readonly funds: EngineFunds;
  readonly switches: EngineSwitches;
  readonly outbox: EngineOutbox;
  readonly snapshots: EngineSnapshots;
  readonly pages: EnginePages;
}

function engineOf(parts: EngineParts): Engine {
  const { core, markets, placing, cancelling, dueCancels, funds, switches, outbox, snapshots, pages } = parts;
  return {
    open: (cursor) => core.open(cursor),
    isOpen: () => core.isOpen,
    confirm: () => core.confirm(),
    onLost: (listener) => core.onLost(listener),
    checkFormat: () => core.checkFormat(),
    retire: (cursor) => retireEngine(core, cursor),
    rebuild: (image) => rebuild(core, image),
    state: () => snapshots.state(),

    markets: () => markets.all(),
    market: (symbol) => markets.bySymbol(symbol),
    hasMarket: (symbol) => markets.exists(symbol),
    assets: () => markets.assets(),
    createMarket: (spec) => markets.create(spec),
    setMarket: (symbol, change) => markets.change(symbol, change),
    setAsset: (asset) => markets.setAsset(asset),
    quotes: (select) => snapshots.quotes(select),
    readBook: (symbol, levels) => snapshots.book(symbol, levels),
    time: () => snapshots.time(),

    placeOrder: (command) => placing.place(command),
    findClientOrder: (wallet, clientOrderId) => findClientOrder(core, wallet, clientOrderId),
    cancelOrder: (wallet, orderId) => cancelling.closeOne(wallet, orderId, 'cancel'),
    cancelAll: (wallet, symbol) => cancelling.closeAll(wallet, symbol, 'cancel'),
    setCancelAfter: (wallet, timeoutMs) => dueCancels.set(wallet, timeoutMs),
    takeDueCancels: (most, leaseMs) => dueCancels.take(most, leaseMs),
    cancelDue: (due, after) => cancelling.cancelPage(due.wallet, stampOf(due), after),
    leaseDueCancel: (due, leaseMs) => dueCancels.lease(due, leaseMs),
    voidOrder: (orderId) => cancelling.closeOne(null, orderId, 'void'),
    clearMarket: (symbol) => cancelling.clear(symbol, pages),
    liveOrderCount: async (wallet) => (await cancelling.liveReferences(wallet)).length,

    moveFunds: (movement, checked, scale) => funds.move(movement, checked, scale),
    balancesOf: (wallet) => funds.balancesOf(wallet),
    hold: async (wallet) => {
      await switches.setHold(wallet, true);
      return cancelling.closeAll(wallet, null, 'hold');
    },
    release: (wallet) => switches.setHold(wallet, false),
    accountOf: (wallet) => switches.accountOf(wallet),
    pause: switches.pause,
    resume: switches.resume,
    requireTerms: switches.requireTerms,
    acceptTerms: switches.acceptTerms,

    readEvents: (after, count, weight) => outbox.readEvents(after, count, weight),
    unsettledOf: (wallet) => outbox.unsettledOf(wallet),
    unsettledPages: (wallet) => outbox.unsettledPages(wallet),
    trim: (cursor) => outbox.trim(cursor),

    claimFilterLoad: () => filterLoad(core),
    rebuildClaimFilter: (source) => rebuildClaimFilter(core, source),

    readHead: () => pages.readHead(),
    scanBook: pages.scanBook,
    scanLive: pages.scanLive,
    scanFields: (hash, cursor) => pages.scanFields(hash, cursor),
    readFields: (hash, names) => pages.readFields(hash, names),
    copyClaimFilter: () => copyClaimFilter(core),
    claimFilterName: () => filterName(core),
    serverRunId: () => core.call(() => core.serverRunId()),
  };
}

async function findClientOrder(core: EngineCore, wallet: string, clientOrderId: string): Promise<Claimed> {
  const find = async (): Promise<Reply> => {
    const { field, mask, layout, key, offset, last } = scriptClaim(
      orderClaim(wallet, clientOrderId),
      core.filter,
    );
    const keys = [KEYS.engine, ...KEYS.claims, key];
    return (await core.run('find_claim', keys, [field, offset, mask, layout, last])) as Reply;
  };
  const [outcome, value] = (await core.settle(find, async () => undefined)) as readonly Buffer[];
  const found = outcome!.toString();
  if (found === 'claimed') return { outcome: 'claimed', orderId: value!.toString('hex') };
  return { outcome: found as 'unclaimed' | 'unchecked' };
}
