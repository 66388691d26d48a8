/** Answers of the routes for operators, as far as the desk shows them. Decimals are text. */

export interface Status {
  readonly engine: {
    readonly epoch: number;
    readonly sequence: number;
    readonly paused: boolean;
    readonly requiredTerms: string | null;
    readonly lastEventAt: string | null;
  } | null;
  readonly settlement: {
    readonly sequence: number;
    readonly lastSettledAt: string | null;
    readonly lag: { readonly events: number; readonly seconds: number } | null;
  } | null;
  readonly reconciled: Reconcile | null;
  readonly queue: Readonly<Record<string, number>> | null;
  readonly replicas: Readonly<Record<string, number>> | null;
  readonly snapshotAgeMs: number | null;
}

export interface Reconcile {
  readonly at: string;
  readonly holds: boolean;
  readonly differences: number;
  readonly sequence: number;
  readonly checks: number;
  readonly failedChecks: readonly string[];
}

export interface ReconcileResults extends Reconcile {
  readonly results:
    | readonly {
        readonly name: string;
        readonly asset: string | null;
        readonly compared: string;
        readonly differences: number;
      }[]
    | null;
}

export interface Market {
  readonly symbol: string;
  readonly status: string;
  readonly tradingEnabled: boolean;
  readonly sellEnabled: boolean;
  readonly visible: boolean;
  readonly selfTrade: string;
  readonly feeBps: number;
  readonly minOrderSize: string | null;
  readonly maxOrderSize: string | null;
  readonly minNotional: string | null;
  readonly referencePrice: string | null;
}

export interface Account {
  readonly wallet: string;
  readonly held: boolean;
  readonly terms: { readonly accepted: string | null; readonly required: string | null };
  readonly balances: readonly Readonly<Record<'asset' | 'total' | 'available' | 'reserved', string>>[];
  readonly liveOrders: readonly Readonly<
    Record<'id' | 'market' | 'side' | 'price' | 'size' | 'remaining', string>
  >[];
}

export interface Withdrawal {
  readonly reference: string;
  readonly wallet: string;
  readonly asset: string;
  readonly amount: string;
  readonly held: boolean;
  readonly requestedAt: string;
}

export interface StatementLine {
  readonly time: string;
  readonly kind: string;
  readonly asset: string;
  readonly amount: number;
  readonly market: string | null;
  readonly reference: string | null;
  readonly orderId: string | null;
  readonly sequence: number;
}

export interface OperatorAct {
  readonly event: number;
  readonly time: string;
  readonly act: string;
  readonly by: string;
  readonly reason: string;
  readonly wallet: string | null;
  readonly market: string | null;
  readonly subject: string | null;
}

export interface Closing {
  readonly month: string;
  readonly end: string;
  readonly closedAt: string;
  readonly balances: number;
  readonly sequence: number;
  readonly digest: string;
}

export interface ClosedMonth extends Closing {
  /** False: it was closed before. */
  readonly isNew: boolean;
}
