/** Composes and changes markets from the rules that operators give, and names the rule that is wrong. */

import { OperatorRefusal } from './errors.ts';
import { type Asset, MAX_MARKETS, type Market } from './market.ts';
import {
  atomsIn,
  commonGrid,
  compareWith,
  finestGrid,
  formatGrid,
  formatScaled,
  type Grid,
  gridOf,
  multiplyExactly,
  parseDecimal,
} from './units.ts';

/** Rules of a new market as operators give them; decimals as text, null for a rule that is not enforced. */
export type MarketSpec = Pick<
  Market,
  | 'symbol'
  | 'sellEnabled'
  | 'visible'
  | 'feeBps'
  | 'tickSize'
  | 'sizeStep'
  | 'minOrderSize'
  | 'maxOrderSize'
  | 'selfTrade'
  | 'referencePrice'
  | 'networkId'
> & {
  readonly status: 'active' | 'pre_open';
  /** Not enforced unless given. */
  readonly minNotional?: string | null;
};

/** Rules of a published market that may change. Tick and step may not. */
export type MarketChange = Partial<
  Pick<
    Market,
    | 'status'
    | 'tradingEnabled'
    | 'sellEnabled'
    | 'visible'
    | 'feeBps'
    | 'minOrderSize'
    | 'maxOrderSize'
    | 'minNotional'
    | 'selfTrade'
    | 'referencePrice'
  >
>;

const SYMBOL = /^([A-Z0-9]{1,16})\/([A-Z0-9]{1,16})$/;
const ASSET_SYMBOL = /^[A-Z0-9]{1,16}$/;
export const MAX_FEE_BPS = 1000;
export const DEFAULT_SCALE = 8;
export const MAX_SCALE = 9;

const refuseRule = (message: string): never => {
  throw new OperatorRefusal('INVALID_MARKET', message);
};

/**
 * Splits `BASE/QUOTE`.
 * @throws OperatorRefusal INVALID_MARKET when it is no market symbol
 */
export function assetsOfSymbol(symbol: string): { base: string; quote: string } {
  const [, base, quote] = SYMBOL.exec(symbol) ?? [];
  if (base === undefined || quote === undefined) {
    return refuseRule(`${symbol} is no market symbol: upper-case BASE/QUOTE, letters and digits`);
  }
  if (base === quote) return refuseRule(`${symbol}: base and quote must be different assets`);
  return { base, quote };
}

/** @throws OperatorRefusal INVALID_ASSET unless symbol and scale (0 to 9) can be an asset's */
export function checkAsset(asset: Asset): Asset {
  if (!ASSET_SYMBOL.test(asset.symbol)) {
    throw new OperatorRefusal(
      'INVALID_ASSET',
      `${asset.symbol} is no asset symbol: upper-case letters and digits`,
    );
  }
  if (!Number.isInteger(asset.scale) || asset.scale < 0 || asset.scale > MAX_SCALE) {
    throw new OperatorRefusal(
      'INVALID_ASSET',
      `the scale of ${asset.symbol} must be a whole number from 0 to 9`,
    );
  }
  return asset;
}

function readRule(name: string, text: string | null): Grid | null {
  if (text === null) return null;
  return gridOf(text) ?? refuseRule(`${name} must be a positive decimal, or null for no rule; got ${text}`);
}

function exactGrid(
  base: Asset,
  quote: Asset,
  tickSize: Grid | null,
  sizeStep: Grid | null,
): { tick: Grid; step: Grid } {
  const baseAtom: Grid = { coefficient: 1n, places: base.scale };
  if (tickSize === null && sizeStep === null) {
    return refuseRule(
      'tickSize and sizeStep cannot both be null: one of them must fix the grid amounts stand on',
    );
  }
  const step = sizeStep ?? commonGrid(baseAtom, finestGrid(quote.scale, tickSize!));
  const tick = tickSize ?? finestGrid(quote.scale, step);
  if (atomsIn(base.scale, step) === undefined) {
    return refuseRule(
      `sizeStep ${formatGrid(step)} is not a whole number of ${base.symbol} atoms (${formatGrid(baseAtom)}): ` +
        `change sizeStep to a multiple of ${formatGrid(baseAtom)}, or give ${base.symbol} a larger scale`,
    );
  }
  if (atomsIn(quote.scale, tick, step) === undefined) {
    const product = multiplyExactly(formatGrid(tick), formatGrid(step));
    return refuseRule(
      `tickSize ${formatGrid(tick)} x sizeStep ${formatGrid(step)} = ${product} is not a whole number of ` +
        `${quote.symbol} atoms (${formatScaled(1n, quote.scale)}): change tickSize to a multiple of ` +
        `${formatGrid(finestGrid(quote.scale, step))} or sizeStep to a multiple of ` +
        `${formatGrid(commonGrid(baseAtom, finestGrid(quote.scale, tick)))}`,
    );
  }
  return { tick, step };
}

function checkSizes(market: Pick<Market, 'minOrderSize' | 'maxOrderSize'>): void {
  const min = readRule('minOrderSize', market.minOrderSize);
  const max = readRule('maxOrderSize', market.maxOrderSize);
  if (min !== null && max !== null && compareWith(parseDecimal(formatGrid(min))!, formatGrid(max)) > 0) {
    refuseRule(`minOrderSize ${formatGrid(min)} is above maxOrderSize ${formatGrid(max)}`);
  }
}

function checkChangeable(market: Market): Market {
  if (!Number.isInteger(market.feeBps) || market.feeBps < 0 || market.feeBps > MAX_FEE_BPS) {
    refuseRule(`feeBps must be a whole number from 0 to ${MAX_FEE_BPS}; got ${market.feeBps}`);
  }
  checkSizes(market);
  readRule('minNotional', market.minNotional);
  readRule('referencePrice', market.referencePrice);
  return market;
}

/**
 * Returns a new market, on the grid that its rules give.
 * @throws OperatorRefusal INVALID_MARKET, which says which rule to change
 */
export function composeMarket(spec: MarketSpec, number: number, base: Asset, quote: Asset): Market {
  if (number >= MAX_MARKETS) refuseRule(`there cannot be more than ${MAX_MARKETS} markets`);
  const tickSize = readRule('tickSize', spec.tickSize);
  const sizeStep = readRule('sizeStep', spec.sizeStep);
  const { tick, step } = exactGrid(base, quote, tickSize, sizeStep);
  const { symbol, status, sellEnabled, visible, feeBps, selfTrade, networkId } = spec;
  const market: Market = {
    number,
    symbol,
    base,
    quote,
    status,
    tradingEnabled: true,
    sellEnabled,
    visible,
    feeBps,
    tickSize: tickSize && formatGrid(tickSize),
    sizeStep: sizeStep && formatGrid(sizeStep),
    minOrderSize: spec.minOrderSize,
    maxOrderSize: spec.maxOrderSize,
    minNotional: spec.minNotional ?? null,
    selfTrade,
    referencePrice: spec.referencePrice,
    networkId,
    tick: formatGrid(tick),
    step: formatGrid(step),
    baseAtomsPerStep: atomsIn(base.scale, step)!,
    quoteAtomsPerLot: atomsIn(quote.scale, tick, step)!,
    version: 0,
  };
  return withPlainDecimals(checkChangeable(market));
}

/**
 * Returns the market after a change of its rules. It gets its version when it is published.
 * @throws OperatorRefusal INVALID_MARKET
 */
export const changeMarket = (market: Market, change: MarketChange): Market =>
  withPlainDecimals(checkChangeable({ ...market, ...change }));

function withPlainDecimals(market: Market): Market {
  const plain = (text: string | null): string | null => (text === null ? null : formatGrid(gridOf(text)!));
  return {
    ...market,
    minOrderSize: plain(market.minOrderSize),
    maxOrderSize: plain(market.maxOrderSize),
    minNotional: plain(market.minNotional),
    referencePrice: plain(market.referencePrice),
  };
}
