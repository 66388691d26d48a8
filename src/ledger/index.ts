/**
 * The ledger: settles engine events into Postgres, and reads everything back from it.
 *
 * Uses: order, domain.
 * Begin at `settlement.ts`, then `fold.ts`, `write-batch.ts` and `checks/index.ts`.
 */

import { type ActQueries, actQueries } from './acts.ts';
import { type Audit, audit } from './audit.ts';
import { type BalanceQueries, balanceQueries } from './balances.ts';
import { type CandleQueries, candleQueries } from './candles.ts';
import { type ChangeQueries, changeQueries } from './changes.ts';
import { type Checks, checks } from './checks/index.ts';
import { type ClosingQueries, closingQueries } from './closings.ts';
import { type CopyRegister, copyRegister } from './copies.ts';
import { type DepositQueries, depositQueries } from './deposits.ts';
import { checkDurability } from './durability.ts';
import { type EpochRegister, epochRegister } from './epochs.ts';
import { checkRights } from './grants.ts';
import { type Journal, journal } from './journal.ts';
import { type MigrateOptions, migrate } from './migrate.ts';
import { Moments } from './moment.ts';
import { type CapRegister, capRegister, type KeyRegister, keyRegister } from './operator-keys.ts';
import { type OrderQueries, orderQueries } from './orders.ts';
import { type LedgerOptions, openPools } from './pools.ts';
import { askOnce, inSnapshot } from './queries.ts';
import { lookAtServer, type PostgresFigures, readPostgresFigures } from './server-figures.ts';
import { checkSessions } from './sessions.ts';
import { type Settlement, settlement } from './settlement.ts';
import { type StateQueries, stateQueries } from './state.ts';
import { type StatementQueries, statementQueries } from './statement.ts';
import { type TradeQueries, tradeQueries } from './trades.ts';
import { type TurnoverQueries, turnoverQueries } from './turnover.ts';
import { type WaitingRegister, waitingRegister } from './waiting-movements.ts';
import { type WithdrawalQueries, withdrawalQueries } from './withdrawals.ts';

export { type ActsFilter, LISTING_ACT, type OperatorAct } from './acts.ts';
export type { Adoption } from './adoption.ts';
export {
  type Audit,
  type AuditedId,
  type AuditedName,
  type AuditedOrder,
  type AuditSummary,
  isLost,
} from './audit.ts';
export type { AccountFigures, BalancesFilter } from './balances.ts';
export type { CandleRange } from './candles.ts';
export type { LedgerCheckpoint } from './checkpoint.ts';
export type { LastReconcile } from './checks/index.ts';
export type { Check } from './checks/query.ts';
export type { Extent } from './checks/scrub.ts';
export { CLOSE_ACT, REOPEN_ACT } from './closing-acts.ts';
export type { Closing } from './closings.ts';
export { type CopiesRow, type CopyRegister, isAheadOf, type ReadCopiesRow } from './copies.ts';
export type { SettledCursor, SettledPlace } from './cursor.ts';
export { DatabaseRefused, NO_RIGHT } from './database-refused.ts';
export type { AnnouncedCounts } from './deposits.ts';
export { LedgerDiverged } from './diverged.ts';
export {
  CHANGE_NAMES,
  CUSTODY,
  debtorOf,
  entriesOfMovement,
  entriesOfTrade,
  HOUSE,
  receivableOf,
  WITHDRAWALS,
} from './entries.ts';
export type { EntriesFilter, LedgerEntry, MovementsFilter } from './journal.ts';
export type { MigrateOptions } from './migrate.ts';
export type { CappedAmount } from './operator-keys.ts';
export { LISTS_AT_ONCE, ORDERS_AT_ONCE } from './pools.ts';
export type { PreparedBatch } from './prepared-batch.ts';
export { isDamage } from './queries.ts';
export type { PostgresFigures } from './server-figures.ts';
export type { SettledTo } from './settlement.ts';
export type { Stated, StatementPage, StatementPosition, StatementSpan } from './statement.ts';
export { storable } from './text.ts';
export type { TimeSpan } from './time-span.ts';
export { type Dimension, TURNOVER_DIMENSIONS, type TurnoverSpan } from './turnover.ts';
export type { WaitingMovement } from './waiting-movements.ts';
export type { Direction } from './walk.ts';

/**
 * Every read returns the cursor that it is as of, from the same snapshot, so that a reader can add later events of the
 * engine. Reads throw `Refusal` SERVICE_UNAVAILABLE when Postgres is unavailable. Methods may be passed without their
 * object.
 */
export interface Ledger {
  readonly settlement: Settlement;
  readonly epochs: EpochRegister;
  readonly copies: CopyRegister;
  readonly keys: KeyRegister;
  readonly caps: CapRegister;
  readonly waiting: WaitingRegister;
  readonly orders: OrderQueries;
  readonly changes: ChangeQueries;
  readonly trades: TradeQueries;
  readonly candles: CandleQueries;
  readonly acts: ActQueries;
  readonly journal: Journal;
  readonly balances: BalanceQueries;
  readonly closings: ClosingQueries;
  readonly statements: StatementQueries;
  readonly turnover: TurnoverQueries;
  readonly deposits: DepositQueries;
  readonly withdrawals: WithdrawalQueries;
  readonly state: StateQueries;
  readonly checks: Checks;
  /**
   * Runs `work` on a snapshot of the ledger, while settlement continues.
   * @param isWhole true to sum all entries, and not only those after the last sealed segment
   */
  audit<Result>(work: (audit: Audit) => Promise<Result>, isWhole?: boolean): Promise<Result>;
  /** Resolves when Postgres answers. Rejects with `Refusal` SERVICE_UNAVAILABLE when it is unavailable. */
  ping(): Promise<void>;
  /** Returns Unix milliseconds by the clock of Postgres, and whether it has the tables. Rejects as `ping` does. */
  look(): Promise<{ readonly timeMs: number; readonly hasTables: boolean }>;
  /** Returns figures of the server. Rejects as `ping` does. */
  serverFigures(): Promise<PostgresFigures>;
  /** Rejects with `DatabaseRefused` behind a pooler that shares sessions. `migrate` does so as well. */
  checkSessions(): Promise<void>;
  /** Rejects with `DatabaseRefused` while Postgres may lose commits. */
  checkDurability(): Promise<void>;
  /** Rejects with `DatabaseRefused` unless Postgres allows what a role does. `migrate` grants it. */
  checkRights(role: string): Promise<void>;
  /**
   * Migrates the database to the schema of this release. Any number of processes may do so at once.
   * @returns the breaking migration that `additiveOnly` left
   */
  migrate(options?: MigrateOptions): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Opens the ledger. It connects on first use; Postgres may be unavailable then and at any later time. */
export function openLedger(options: LedgerOptions): Ledger {
  const pools = openPools(options);
  const moments = new Moments();
  return {
    settlement: settlement(pools),
    epochs: epochRegister(pools),
    copies: copyRegister(pools),
    keys: keyRegister(pools),
    caps: capRegister(pools),
    waiting: waitingRegister(pools),
    orders: orderQueries(pools, moments),
    changes: changeQueries(pools, moments),
    trades: tradeQueries(pools, moments),
    candles: candleQueries(pools, moments),
    acts: actQueries(pools),
    journal: journal(pools, moments),
    balances: balanceQueries(pools, moments),
    closings: closingQueries(pools, moments),
    statements: statementQueries(pools, moments),
    turnover: turnoverQueries(pools, moments),
    deposits: depositQueries(pools),
    withdrawals: withdrawalQueries(pools),
    state: stateQueries(pools),
    checks: checks(pools),
    audit: (work, isWhole = false) => audit(pools.auditing, work, isWhole),
    async ping() {
      await askOnce(pools.public, 'select 1');
    },
    look: () => lookAtServer(pools),
    serverFigures: () => readPostgresFigures(pools),
    checkSessions: () => checkSessions(options.databaseUrl),
    checkDurability: () => inSnapshot(pools.public, checkDurability),
    checkRights: (role) => inSnapshot(pools.public, (ask) => checkRights(ask, role)),
    async migrate(asked) {
      await checkSessions(options.databaseUrl);
      return migrate(options.databaseUrl, asked);
    },
    async close() {
      await Promise.all(Object.values(pools).map((pool) => pool.end()));
    },
  };
}
