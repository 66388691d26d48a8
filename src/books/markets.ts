/** Markets as operators see and clear them. */

import type { Act } from '../domain/act.ts';
import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import type { Market } from '../domain/market.ts';
import type { ClosedOrder } from '../domain/order.ts';
import type { Servers } from './servers.ts';

/** Returns a market as operators see it: the public record and the fields that are not public. */
export function operatorsRecord(market: Market) {
  const { number, base, quote, baseAtomsPerStep, quoteAtomsPerLot, ...record } = market;
  return { ...record, baseToken: base.symbol, quoteToken: quote.symbol };
}

/**
 * Cancels all orders of a halted market.
 * @throws Refusal MARKET_NOT_FOUND; OperatorRefusal MARKET_NOT_HALTED
 */
export async function clearMarket(
  { engine }: Pick<Servers, 'engine'>,
  symbol: string,
  act: Act,
): Promise<ClosedOrder[]> {
  const market = (await engine.markets.all()).find((known) => known.symbol === symbol);
  if (market === undefined) throw new Refusal('MARKET_NOT_FOUND');
  if (market.status !== 'halted') {
    throw new OperatorRefusal(
      'MARKET_NOT_HALTED',
      `${symbol} is ${market.status}: halt it first (market set ${symbol} --status halted), otherwise new orders keep arriving`,
    );
  }
  return engine.orders.clear(symbol, act);
}
