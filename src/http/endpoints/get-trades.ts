/** `GET /v1/trades`: returns the wallet's trades as maker or taker, in pages. */

import { checked } from '../../contract/checked.ts';
import { forwardScope, readCursor, writeCursor } from '../../contract/list-cursor.ts';
import { tradesRequest } from '../../contract/requests.ts';
import { readTrades } from '../../history/order-history.ts';
import { walletTradesSchema } from '../../order/reply.ts';
import { checkMarket, findMarkets } from '../replies/market.ts';
import { walletTradeReply } from '../replies/order.ts';
import { READS_IN_TURN, walletRoute } from '../route.ts';

export const getTrades = walletRoute({
  method: 'GET',
  path: '/v1/trades',
  id: 'getTrades',
  tag: 'Trading',
  summary: 'Returns trades of the wallet, newest first',
  description: `Returns pages of the wallet's trades as maker or taker. ${READS_IN_TURN}`,
  reply: walletTradesSchema,
  codes: ['MARKET_NOT_FOUND'],
  request: tradesRequest,
  async handle({ services, reads, wallet, query }, write) {
    const { market, orderId, limit, cursor, order: direction, since, until } = checked(tradesRequest, query);
    const scope = { list: 'trades', wallet, market, orderId, ...forwardScope({ direction, since, until }) };
    const place = cursor === undefined ? undefined : readCursor(scope, cursor);
    const span = { sinceMs: since, untilMs: until };
    const bound = direction === 'asc' ? { afterTradeId: place } : { beforeTradeId: place };
    await checkMarket(services.engine, market);
    const name = `trades ${JSON.stringify([market, orderId, limit, cursor, direction, since, until])}`;
    return reads.lists.read(wallet, name, async () => {
      const filter = { market, orderId, span, direction, ...bound };
      const { items, next } = await readTrades(services, wallet, filter, limit);
      const marketOf = await findMarkets(services.engine, items);
      const trades = items.map((trade) => walletTradeReply(trade, marketOf(trade)));
      return write.page('trades', trades, writeCursor(scope, next));
    });
  },
});
