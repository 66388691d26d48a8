/** Rights of the keys that open the routes for operators. */

export const OPERATOR_RIGHTS = [
  'read',
  'credit',
  'debit',
  'pay',
  'hold',
  'market',
  'close',
  'pause',
] as const;

/** Stands in caps for every asset that has none of its own. */
export const OTHER_ASSETS = '*';

/** Returns the limit of an asset; undefined for a key without limits. */
export const limitOf = (limits: Readonly<Record<string, string>>, asset: string): string | undefined =>
  Object.keys(limits).length === 0 ? undefined : (limits[asset] ?? limits[OTHER_ASSETS] ?? '0');

export type OperatorRight = (typeof OPERATOR_RIGHTS)[number];

/** A key as it is kept: nobody can make the key itself of it. */
export interface OperatorKey {
  readonly name: string;
  readonly rights: readonly OperatorRight[];
  /**
   * Maximum that the key may move in a day (UTC), by asset, as decimals. A key without any cap has no limit; one with a
   * cap moves nothing of an asset that has none.
   */
  readonly caps: Readonly<Record<string, string>>;
  /**
   * Maximum that the key may move without the approval of another one, by asset, as decimals. A key without any needs
   * no approval; one with some needs it for each movement of an asset that has none.
   */
  readonly twoPersons: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
}
