/** Rights of the keys that open the routes for operators. */

export const OPERATOR_RIGHTS = ['read', 'credit', 'debit', 'hold', 'market', 'pause'] as const;

export type OperatorRight = (typeof OPERATOR_RIGHTS)[number];

/** A key as it is kept: nobody can make the key itself of it. */
export interface OperatorKey {
  readonly name: string;
  readonly rights: readonly OperatorRight[];
  /** Most that the key may move in a day (UTC), by asset, as decimals. */
  readonly caps: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
}
