/** `GET /v1/portfolio/{address}`: returns the wallet's balances and their value in the numeraire. */

import { address } from '../../contract/fields.ts';
import { portfolioSchema } from '../../contract/portfolio.ts';
import { Refusal } from '../../domain/errors.ts';
import { markOf } from '../../domain/mark.ts';
import type { Engine } from '../../engine/index.ts';
import { portfolioReply } from '../replies/portfolio.ts';
import { walletRoute } from '../route.ts';

export const getPortfolio = walletRoute({
  method: 'GET',
  path: '/v1/portfolio/:address',
  id: 'getPortfolio',
  tag: 'Trading',
  summary: 'Returns the balances of the wallet and their value',
  reply: portfolioSchema,
  codes: ['FORBIDDEN'],
  parameters: { address },
  async handle({ services, wallet, params }, write) {
    // Every text except the caller's own address gets the same refusal.
    if (params.address?.toLowerCase() !== wallet) throw new Refusal('FORBIDDEN');
    const { engine, settings } = services;
    const [balances, marks] = await Promise.all([
      engine.funds.readBalances(wallet),
      marksIn(settings.numeraire, engine),
    ]);
    const holdings = balances.map(({ asset: symbol, scale, ...amounts }) => {
      return { ...amounts, asset: { symbol, scale }, mark: marks.get(symbol) ?? '0' };
    });
    return write.json(portfolioReply(wallet, holdings));
  },
});

/**
 * Returns marks of the numeraire and of the assets that have a market quoted in it. The default numeraire is the quote
 * asset of the first market.
 */
async function marksIn(numeraire: string | undefined, engine: Engine): Promise<Map<string, string>> {
  const { markets, quotes } = await engine.reads.quotes((all) =>
    all.filter((market) => market.quote.symbol === (numeraire ?? all[0]!.quote.symbol)),
  );
  const unit = numeraire ?? markets[0]?.quote.symbol;
  const marks = new Map<string, string>(unit === undefined ? [] : [[unit, '1']]);
  for (const market of markets) {
    const sources = quotes.get(market.symbol);
    const mark = sources === undefined ? null : markOf(market, sources);
    if (mark !== null) marks.set(market.base.symbol, mark);
  }
  return marks;
}
