/** The rules of a market on the integer grid that the engine uses, made from the record that the API publishes. */

import type { Market, MarketStatus } from './market.ts';
import { composeMarket } from './market-rules.ts';

/** The part of the published record that order rules come from; amounts are decimal text. */
interface PublishedRules {
  readonly symbol: string;
  readonly status: MarketStatus;
  readonly tradingEnabled: boolean;
  readonly sellEnabled: boolean;
  readonly takerFeeBps: number;
  readonly tickSize: string | null;
  readonly sizeStep: string | null;
  readonly priceIncrement: string;
  readonly sizeIncrement: string;
  readonly minOrderSize: string | null;
  readonly maxOrderSize: string | null;
  readonly minNotional: string | null;
  readonly baseToken: string;
  readonly quoteToken: string;
  readonly baseScale: number;
  readonly quoteScale: number;
  readonly networkId: string;
}

/** Rules that are not published and do not affect the cost of an order. */
const UNPUBLISHED = { visible: true, selfTrade: 'expire_taker', referencePrice: null } as const;

const composed = new WeakMap<PublishedRules, Market>();

/** @throws OperatorRefusal for a record whose amounts cannot be exact, which the service never publishes */
export function rulesOf(record: PublishedRules): Market {
  const known = composed.get(record);
  if (known !== undefined) return known;
  const { symbol, status, tradingEnabled, sellEnabled, takerFeeBps: feeBps, networkId } = record;
  const { tickSize, sizeStep, priceIncrement, sizeIncrement, minOrderSize, maxOrderSize, minNotional } =
    record;
  const market = composeMarket(
    {
      symbol,
      status: 'active',
      sellEnabled,
      feeBps,
      networkId,
      ...UNPUBLISHED,
      tickSize: priceIncrement,
      sizeStep: sizeIncrement,
      minOrderSize,
      maxOrderSize,
      minNotional,
    },
    0,
    { symbol: record.baseToken, scale: record.baseScale },
    { symbol: record.quoteToken, scale: record.quoteScale },
  );
  const rules = { ...market, status, tradingEnabled, tickSize, sizeStep };
  composed.set(record, rules);
  return rules;
}
