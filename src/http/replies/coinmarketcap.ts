/** Writes market data in the listing form of CoinMarketCap: docs/api.md 4.15. */

import type {
  listedAssetsSchema,
  listedSummarySchema,
  listedTickersSchema,
  listedTradesSchema,
} from '../../contract/coinmarketcap.ts';
import type { Written } from '../../contract/written.ts';
import type { AssetListing } from '../../domain/asset-listing.ts';
import type { Market } from '../../domain/market.ts';
import type { PublicTrade } from '../../domain/order.ts';
import { formatScaled } from '../../domain/units.ts';
import type { DayFigures, ListedAssets, MarketOverview } from '../../market-data/index.ts';
import {
  hasTraded,
  isOpen,
  pairFiguresOf,
  priceOf,
  priceOrNull,
  quoteOf,
  sizeOf,
  tickerIdOf,
} from './market-data.ts';

interface Listed {
  readonly market: Market;
  readonly day: DayFigures;
}

/** Returns the visible markets that ever traded. */
const listedOf = ({ markets, figures }: MarketOverview): Listed[] =>
  markets.flatMap((market) => {
    const day = figures.bySymbol.get(market.symbol);
    return market.visible && day !== undefined ? [{ market, day }] : [];
  });

export const listedSummaryReply = (overview: MarketOverview): Written<typeof listedSummarySchema> =>
  listedOf(overview).map(({ market, day }) => {
    const traded = hasTraded(day) ? day : null;
    return {
      ...pairFiguresOf(market, day, overview.quotes.get(market.symbol)!),
      highest_price_24h: priceOrNull(traded?.highTicks ?? null, market),
      lowest_price_24h: priceOrNull(traded?.lowTicks ?? null, market),
    };
  });

const BPS_SCALE = 4;

/** Fees as fractions of the notional: the highest of the markets that have the asset. */
function feesOf(symbol: string, markets: readonly Market[]) {
  const own = markets.filter(({ base, quote }) => base.symbol === symbol || quote.symbol === symbol);
  const highest = Math.max(...own.map(({ feeBps }) => feeBps));
  return { maker_fee: '0', taker_fee: formatScaled(BigInt(highest), BPS_SCALE) };
}

export function listedAssetsReply({ markets, listings }: ListedAssets): Written<typeof listedAssetsSchema> {
  const visible = markets.filter((market) => market.visible);
  const symbols = new Set(visible.flatMap(({ base, quote }) => [base.symbol, quote.symbol]));
  return Object.fromEntries(
    [...symbols].sort().map((symbol) => [symbol, assetReply(symbol, listings.get(symbol) ?? {}, visible)]),
  );
}

const assetReply = (
  symbol: string,
  { name = symbol, ucid, canDeposit, canWithdraw, minWithdraw }: AssetListing,
  markets: readonly Market[],
) => ({
  name,
  ...(ucid !== undefined && { unified_cryptoasset_id: ucid }),
  ...(canWithdraw !== undefined && { can_withdraw: flag(canWithdraw) }),
  ...(canDeposit !== undefined && { can_deposit: flag(canDeposit) }),
  ...(minWithdraw !== undefined && { min_withdraw: minWithdraw }),
  ...feesOf(symbol, markets),
});

const flag = (isOn: boolean): 'true' | 'false' => (isOn ? 'true' : 'false');

export function listedTickersReply(
  overview: MarketOverview,
  { listings }: ListedAssets,
): Written<typeof listedTickersSchema> {
  const idOf = (symbol: string): string | undefined => listings.get(symbol)?.ucid;
  return Object.fromEntries(
    listedOf(overview).map(({ market, day }) => {
      const baseId = idOf(market.base.symbol);
      const quoteId = idOf(market.quote.symbol);
      const ticker = {
        ...(baseId !== undefined && { base_id: baseId }),
        ...(quoteId !== undefined && { quote_id: quoteId }),
        last_price: priceOf(day.lastPriceTicks, market),
        base_volume: sizeOf(day.baseSteps, market),
        quote_volume: quoteOf(day.quoteAtoms, market),
        isFrozen: overview.paused || !isOpen(market) ? ('1' as const) : ('0' as const),
      };
      return [tickerIdOf(market), ticker];
    }),
  );
}

/** @param trades newest first */
export const listedTradesReply = (
  market: Market,
  trades: readonly PublicTrade[],
): Written<typeof listedTradesSchema> =>
  trades.map(({ tradeId, priceTicks, sizeSteps, notionalAtoms, timeMs, takerSide }) => ({
    trade_id: tradeId,
    price: priceOf(priceTicks, market),
    base_volume: sizeOf(sizeSteps, market),
    quote_volume: quoteOf(notionalAtoms, market),
    timestamp: String(timeMs),
    type: takerSide,
  }));
