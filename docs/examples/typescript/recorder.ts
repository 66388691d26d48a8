// Writes each execution of a market as a line of JSON, once each, also those that fell into a cut of the stream.
import * as redbook from 'redbook-client';
import { WebSocket } from 'ws';

const { REDBOOK_URL = 'http://localhost:8080', MARKET = 'ETH/USDC' } = process.env;
const connection = redbook.openConnection({ baseUrl: REDBOOK_URL, WebSocket });
const tickerId = MARKET.replace('/', '_');

/** Id of the newest execution that was written; ids increase. */
let last = 0;
function write(id: number, price: string, size: string, side: string): void {
  if (id <= last) return;
  last = id;
  console.log(JSON.stringify({ id, price, size, side }));
}

const watch = redbook.watchMarket(connection, { symbol: MARKET });
process.once('SIGINT', () => watch.close());
for await (const { trades } of watch) {
  // A frame has the newest 60. When all of them are new, there may be more: read them from the market data.
  const oldest = trades.at(-1);
  if (last > 0 && oldest !== undefined && oldest.id > last) {
    const { buy, sell } = await redbook.getHistoricalTrades(connection, { tickerId, limit: 500 });
    const missed = [...buy, ...sell].sort((one, other) => one.trade_id - other.trade_id);
    if (missed.length === 500 && missed[0]!.trade_id > last) console.error('executions were missed');
    for (const { trade_id, price, base_volume, type } of missed) write(trade_id, price, base_volume, type);
    // Market data may be behind the stream: the next frame asks again.
    if (last < oldest.id) continue;
  }
  for (const { id, price, size, side } of trades.toReversed()) write(id, price, size, side);
}
