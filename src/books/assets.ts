/** Sets the decimals of an asset, and what aggregators are told of it. */

import type { Act } from '../domain/act.ts';
import { type AskedListing, type AssetListing, checkListing } from '../domain/asset-listing.ts';
import { OperatorRefusal } from '../domain/errors.ts';
import type { Asset } from '../domain/market.ts';
import type { Engine } from '../engine/index.ts';
import { LISTING_ACT } from '../ledger/index.ts';
import { findAsset } from './movements.ts';

export interface AssetChange extends AskedListing {
  readonly symbol: string;
  /** Decimals of an atom. */
  readonly scale?: number | undefined;
}

export type AssetRecord = Asset & AssetListing;

/**
 * Sets the members that are given.
 * @returns the scale, and the members that were set
 * @throws OperatorRefusal INVALID_ASSET | ASSET_IN_USE
 */
export async function setAsset(
  { engine }: { readonly engine: Engine },
  { symbol, scale, ...given }: AssetChange,
  act: Act,
): Promise<AssetRecord> {
  const listing = checkListing(given);
  const isListing = Object.keys(listing).length > 0;
  if (scale === undefined && !isListing)
    throw new OperatorRefusal('INVALID_ASSET', 'nothing was given to set');
  const asset =
    scale === undefined ? await findAsset(engine, symbol) : await engine.assets.set({ symbol, scale }, act);
  if (isListing)
    await engine.acts.note({ name: LISTING_ACT, subject: symbol, after: JSON.stringify(listing) }, act);
  return { ...asset, ...listing };
}
