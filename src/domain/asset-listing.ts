/** Facts about an asset that an operator gives to aggregators. They change nothing in trading. */

import { OperatorRefusal } from './errors.ts';
import { isTextUpTo } from './text.ts';
import { formatDecimal, parseDecimal } from './units.ts';

/** Members that are absent were never set. */
export interface AssetListing {
  readonly name?: string;
  /** The Unified Cryptoasset ID of CoinMarketCap. */
  readonly ucid?: string;
  readonly canDeposit?: boolean;
  readonly canWithdraw?: boolean;
  /** Decimal. */
  readonly minWithdraw?: string;
}

/** A listing as it was asked for. Members that are undefined stay as they are. */
export type AskedListing = { readonly [Name in keyof AssetListing]: AssetListing[Name] | undefined };

const MAX_NAME = 64;

const refuse = (message: string): never => {
  throw new OperatorRefusal('INVALID_ASSET', message);
};

/**
 * Returns the members that are given, as they are kept.
 * @throws OperatorRefusal INVALID_ASSET
 */
export function checkListing({
  name,
  ucid,
  canDeposit,
  canWithdraw,
  minWithdraw,
}: AskedListing): AssetListing {
  if (name !== undefined && !isTextUpTo(name, MAX_NAME))
    refuse(`the name of an asset is 1 to ${MAX_NAME} characters of valid text`);
  if (ucid !== undefined && !/^[1-9]\d{0,8}$/.test(ucid)) refuse('the ucid of an asset is a whole number');
  const least = minWithdraw === undefined ? undefined : parseDecimal(minWithdraw);
  if (minWithdraw !== undefined && (least === undefined || minWithdraw.length > MAX_NAME))
    refuse('the smallest withdrawal is a decimal number');
  return {
    ...(name !== undefined && { name }),
    ...(ucid !== undefined && { ucid }),
    ...(canDeposit !== undefined && { canDeposit }),
    ...(canWithdraw !== undefined && { canWithdraw }),
    ...(least !== undefined && { minWithdraw: formatDecimal(least) }),
  };
}
