/**
 * Events: the results of the engine's commands, in order. They are the outbox from which settlement updates Postgres.
 */

import type { RecordedAct } from './act.ts';
import type { Asset, Market } from './market.ts';
import type { ClosedOrder, Order, OrderStatus, OrderTerms, Trade } from './order.ts';
import type { Take } from './withdrawal-states.ts';

/** A place in the event stream. Sequences have no gaps and continue across epochs. */
export interface Cursor {
  readonly epoch: number;
  readonly sequence: number;
}

/** An epoch, with the run id of the server of Redis on which it began. */
export interface BegunEpoch {
  readonly epoch: number;
  readonly server: string;
}

/** An order was accepted, or refused by the engine and recorded. */
export interface OrderPlacedEvent {
  readonly kind: 'order_placed';
  readonly order: OrderTerms;
  /** Status at the end of the event: resting, partially_filled, filled, expired, cancelled, … or rejected. */
  readonly status: OrderStatus;
  readonly filledSteps: bigint;
  readonly reason: Order['reason'];
  /** In the order of execution. */
  readonly trades: readonly Trade[];
  /** Own resting orders that self-trade prevention took off the book. */
  readonly expired: readonly ClosedOrder[];
}

interface OrdersClosed {
  readonly kind: 'orders_closed';
  readonly orders: readonly ClosedOrder[];
}

/**
 * Deposits, withdrawals that leave at once, and the steps of withdrawals that custody pays later: a requested one is
 * pending until it is confirmed or returned. A deposit may be announced before it is credited, or dropped, which moves
 * nothing.
 */
const MOVEMENT_KINDS = [
  'credited',
  'debited',
  'requested',
  'confirmed',
  'returned',
  'announced',
  'dropped',
] as const;

export type MovementKind = (typeof MOVEMENT_KINDS)[number];

/** Movements as operators name them, with all their steps. */
export const MOVEMENT_SIDES = ['deposit', 'withdrawal'] as const;
export type MovementSide = (typeof MOVEMENT_SIDES)[number];

export interface AccountMoved {
  readonly kind: MovementKind;
  readonly wallet: string;
  readonly asset: string;
  readonly amountAtoms: bigint;
  /** A step that ends a withdrawal has the reference of the request. */
  readonly reference: string;
  /** Transaction that paid a confirmed withdrawal. */
  readonly txid?: string | undefined;
  /** Reference of the movement of the other kind that this one corrects. */
  readonly reverses?: string | undefined;
  /**
   * Part of the amount that the wallet owes since, because a reversed deposit was not there any more. For a deposit or a
   * returned withdrawal, the part that paid what the wallet owed. Absent for nothing.
   */
  readonly owedAtoms?: bigint | undefined;
}

/** Somebody pays a pending withdrawal from now on; a second one changes the time until when. */
interface WithdrawalTaken {
  readonly kind: 'withdrawal_taken';
  readonly reference: string;
  readonly wallet: string;
  readonly asset: string;
  readonly take: Take;
}

/** Nobody pays the withdrawal any more. A withdrawal that ends is released without this event. */
interface WithdrawalReleased {
  readonly kind: 'withdrawal_released';
  readonly reference: string;
  readonly wallet: string;
  readonly asset: string;
}

interface AccountChanged {
  readonly kind: 'account_held' | 'account_released';
  readonly wallet: string;
}

interface TermsAccepted {
  readonly kind: 'terms_accepted';
  readonly wallet: string;
  readonly version: string;
}

interface TermsRequired {
  readonly kind: 'terms_required';
  /** null: no version is required any more. */
  readonly version: string | null;
}

interface TradingSwitched {
  readonly kind: 'trading_paused' | 'trading_resumed';
}

interface MarketChanged {
  readonly kind: 'market_changed';
  readonly market: Market;
}

interface AssetChanged {
  readonly kind: 'asset_changed';
  readonly asset: Asset;
}

/** An operator did what is no other event. */
export interface OperatorActed {
  readonly kind: 'operator_acted';
  /** The command, like `market clear`. */
  readonly name: string;
  readonly wallet?: string;
  readonly market?: string;
  /** Object of the command, like an order id. */
  readonly subject?: string;
  /** State that the command changed, before and after. */
  readonly before?: string;
  readonly after?: string;
}

export type EventBody =
  | OrderPlacedEvent
  | OrdersClosed
  | AccountMoved
  | WithdrawalTaken
  | WithdrawalReleased
  | AccountChanged
  | TermsAccepted
  | TermsRequired
  | TradingSwitched
  | MarketChanged
  | AssetChanged
  | OperatorActed;

const MOVEMENTS: ReadonlySet<string> = new Set(MOVEMENT_KINDS);

/** True for events of every kind of movement. */
export const isMovement = (event: EngineEvent): event is EngineEvent & AccountMoved =>
  MOVEMENTS.has(event.kind);

/**
 * SHA-256 of an entry of the event stream as stored: the same place must always hold the same content. Computing it costs
 * as much as reading the rest of an event, and settlement needs only two in a batch, so it is computed when it is asked.
 */
export interface EntryDigest {
  readonly hex: string;
}

/** One entry of the event stream. */
export type EngineEvent = Cursor & {
  /** Unix milliseconds by the engine's clock; never runs backwards. */
  readonly timeMs: number;
  readonly digest: EntryDigest;
  /** Present on what an operator did. */
  readonly act?: RecordedAct;
} & EventBody;

/**
 * Returns the work that an event means for its readers: its executions, and the orders that end without one. At least
 * 1.
 */
export const weightOf = (event: EventBody): number =>
  1 +
  (event.kind === 'order_placed'
    ? event.trades.length + event.expired.length
    : event.kind === 'orders_closed'
      ? event.orders.length
      : 0);

export const totalWeight = (events: readonly EventBody[]): number =>
  events.reduce((sum, event) => sum + weightOf(event), 0);
