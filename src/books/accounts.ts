/** The account of a wallet as operators see it. */

import type { Market } from '../domain/market.ts';
import { marketGrid } from '../domain/market-grid.ts';
import { formatCount, formatScaled } from '../domain/units.ts';
import { readLiveOrders } from './live-orders.ts';
import type { Servers } from './servers.ts';

/** Returns balances, live orders, hold and terms of a wallet. Its decimals are text. */
export async function readAccount(servers: Servers, wallet: string) {
  const { engine } = servers;
  const [held, orders, account, state] = await Promise.all([
    engine.funds.readBalances(wallet),
    readLiveOrders(servers, wallet),
    engine.switches.readAccount(wallet),
    engine.reads.state(),
  ]);
  const markets = await engine.markets.all();
  const balances = held.map(({ asset, scale, availableAtoms, reservedAtoms, owedAtoms }) => {
    const decimal = (atoms: bigint): string => formatScaled(atoms, scale);
    return {
      asset,
      total: decimal(availableAtoms + reservedAtoms),
      available: decimal(availableAtoms),
      reserved: decimal(reservedAtoms),
      receivable: decimal(owedAtoms),
    };
  });
  const liveOrders = orders.map(({ id, market, side, clientOrderId, ...order }) => {
    const { tick, step } = marketGrid(marketOf(markets, market));
    return {
      id,
      market,
      side,
      price: formatCount(order.priceTicks, tick),
      size: formatCount(order.sizeSteps, step),
      remaining: formatCount(order.remainingSteps, step),
      clientOrderId,
    };
  });
  const terms = { accepted: account.acceptedTerms, required: state.termsVersion };
  return { wallet, held: account.held, terms, balances, liveOrders };
}

function marketOf(markets: readonly Market[], symbol: string): Market {
  const market = markets.find((known) => known.symbol === symbol);
  if (market === undefined)
    throw new Error(`Postgres has a live order on ${symbol}, which the engine does not know`);
  return market;
}
