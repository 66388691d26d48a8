/**
 * The matching engine as TypeScript code sees it: one class per subject, integer amounts, documented refusals.
 *
 * Uses: redis, order, domain; types of process.
 * Begin at `orders.ts`, then `placing.ts`, `command-queue.ts` and `lua/place_orders.lua`.
 */

import { EngineActs } from './acts.ts';
import { EngineAssets } from './assets.ts';
import { OrderCancels } from './cancelling.ts';
import { EngineClaimFilter } from './claim-filter.ts';
import { type CoreOptions, EngineCore } from './core.ts';
import { EngineDueCancels } from './due-cancels.ts';
import { EngineFunds } from './funds.ts';
import type { EngineLifecycle } from './lifecycle.ts';
import { EngineMarkets } from './markets.ts';
import { EngineOrders } from './orders.ts';
import { EngineOutbox } from './outbox.ts';
import { EnginePages } from './pages.ts';
import type { OrderLimits } from './placing.ts';
import { EngineReads } from './reads.ts';
import { EngineRebuilds } from './rebuild.ts';
import { EngineSwitches } from './switches.ts';

export type { CancelledPage } from './cancelling.ts';
export { claimName, reversalName } from './claim-filter.ts';
export { BITS_PER_ID, type EngineMoment, type UsedId } from './claims.ts';
export {
  BOOK_MEMBER_BYTES,
  type BookMember,
  LIVE_MEMBER_BYTES,
  type LiveMember,
  readBookMember,
  readLiveMember,
  writeBookMember,
  writeLiveMember,
} from './codec.ts';
export { giveList, markOf, rankOfPrimary } from './copies/list.ts';
export { CopyRounds } from './copies/rounds.ts';
export {
  compareHistory,
  follow,
  foreignFormat,
  isLeaving,
  letGo,
  lookAt,
  noteVerified,
  promote,
  type SeenServer,
} from './copies/server.ts';
export type { DueCancel } from './due-cancels.ts';
export type { EngineImage } from './engine-image.ts';
export type { EpochNotes } from './epoch-notes.ts';
export {
  EngineBehind,
  EngineExhausted,
  EngineFormat,
  EpochUnnoted,
  EventRefused,
  otherFormat,
} from './failures.ts';
export type { FilterLoad } from './filter-layout.ts';
export { checkSameMovement, movementRecord, type PostgresLook } from './funds.ts';
export { keysOfEngine, STREAM_KEY } from './keys.ts';
export { type EngineHash, FIELDS_TOGETHER, type MemberPage } from './pages.ts';
export type { Placement, PlaceOrder } from './placing.ts';
export type { BookLevels, EnginePosition, Level, Quotes } from './reads.ts';
export type { Rebuilt } from './rebuild.ts';
export { checkRights, MissingRights, namedRight } from './rights.ts';
export { checkNoCopies, checkServerSettings, checkService, EngineMisconfigured } from './server-settings.ts';
export { ENGINE_FORMAT, MAX_EPOCH } from './state.ts';

/**
 * One engine, as one replica uses it. Every method may throw `Refusal` SERVICE_UNAVAILABLE: the outcome of a command is
 * then unknown, and a retry under the same client order id or reference finds it.
 */
export interface Engine {
  readonly lifecycle: EngineLifecycle;
  readonly rebuilds: EngineRebuilds;
  readonly acts: EngineActs;
  readonly assets: EngineAssets;
  readonly markets: EngineMarkets;
  readonly orders: EngineOrders;
  readonly dueCancels: EngineDueCancels;
  readonly funds: EngineFunds;
  readonly switches: EngineSwitches;
  readonly outbox: EngineOutbox;
  readonly reads: EngineReads;
  readonly pages: EnginePages;
  readonly claimFilter: EngineClaimFilter;
}

export type EngineOptions = CoreOptions & OrderLimits;

/** Opens the engine on a connection, which the caller must close. */
export function openEngine(options: EngineOptions): Engine {
  const core = new EngineCore(options);
  const acts = new EngineActs(core);
  const assets = new EngineAssets(core);
  const markets = new EngineMarkets(core, assets);
  const pages = new EnginePages(core);
  const cancels = new OrderCancels(core, markets);
  return {
    lifecycle: core.lifecycle,
    rebuilds: new EngineRebuilds(core),
    acts,
    assets,
    markets,
    orders: new EngineOrders(core, { markets, pages, cancels, acts }, options),
    dueCancels: new EngineDueCancels(core, cancels),
    funds: new EngineFunds(core, assets),
    switches: new EngineSwitches(core, cancels),
    outbox: new EngineOutbox(core, markets, options),
    reads: new EngineReads(core, markets),
    pages,
    claimFilter: new EngineClaimFilter(core),
  };
}
