/** Public figures against the executions that they are made of. */

import { setTimeout as sleep } from 'node:timers/promises';
import { MARKETS } from '../driver.ts';
import { type Rest, readCounted, told } from './events.ts';

/** Figures may be a second old. */
const FRESH_MS = 1_100;

interface Figures {
  volume: string | null;
  quote: string | null;
  high: string | null;
  low: string | null;
  last: string | null;
}

export async function dataIsTrue(rest: Rest): Promise<string[]> {
  await sleep(Math.max(0, rest.sinceMs + FRESH_MS - performance.now()));
  const found: string[] = [];
  for (const market of MARKETS) {
    found.push(...(await figuresThatDiffer(rest, market)), ...(await candlesThatDiffer(rest, market)));
  }
  return told(found);
}

async function figuresThatDiffer({ cluster, driver }: Rest, market: string): Promise<string[]> {
  const [kept] = await cluster.sql<Figures & Record<string, string | null>>(
    `select sum(size_steps)::text as volume, sum(price_ticks * size_steps)::text as quote,
       max(price_ticks)::text as high, min(price_ticks)::text as low,
       (array_agg(price_ticks order by trade_id desc))[1]::text as last
     from trades where market = $1 and time_ms > extract(epoch from now()) * 1000 - 86400000`,
    [market],
  );
  const found: string[] = [];
  const ticker = market.replace('/', '_');
  for (const port of driver.ports) {
    const reply = await readCounted(driver, driver.wallets[1]!, '/v1/market-data/summary', port);
    const entry = reply?.body[ticker] as Record<string, string> | undefined;
    if (kept!.volume === null) continue;
    const shown = [
      whole(entry?.base_volume, 1e4),
      whole(entry?.quote_volume, 1e6),
      whole(entry?.highest_price_24h, 100),
      whole(entry?.lowest_price_24h, 100),
      whole(entry?.last_price, 100),
    ].join();
    const expected = [kept!.volume, kept!.quote, kept!.high, kept!.low, kept!.last].join();
    if (shown !== expected)
      found.push(`24 h of ${market} at port ${port} are ${shown}, trades say ${expected}`);
  }
  return found;
}

const whole = (text: string | undefined, unit: number): string =>
  text === undefined ? 'nothing' : String(Math.round(Number(text) * unit));

async function candlesThatDiffer({ cluster, driver }: Rest, market: string): Promise<string[]> {
  const kept = await cluster.sql<Record<string, string>>(
    `select (time_ms / 60000 * 60)::text as time, (array_agg(price_ticks order by trade_id))[1]::text as open,
       max(price_ticks)::text as high, min(price_ticks)::text as low,
       (array_agg(price_ticks order by trade_id desc))[1]::text as close, sum(size_steps)::text as volume
     from trades where market = $1 group by 1 order by 1 desc limit 100`,
    [market],
  );
  const ticker = market.replace('/', '_');
  const path = `/v1/market-data/candles/${ticker}?tf=1m&limit=1000`;
  const reply = await readCounted(driver, driver.wallets[2]!, path);
  const shown = new Map(
    ((reply?.body.candles ?? []) as Record<string, string | number>[]).map((candle) => [
      String(candle.time),
      [candle.open, candle.high, candle.low, candle.close]
        .map((price) => whole(String(price), 100))
        .concat(whole(String(candle.base_volume), 1e4))
        .join(),
    ]),
  );
  const invented = [...shown.keys()].filter((time) => Number(time) >= Number(kept.at(-1)?.time ?? 0)).length;
  const more =
    invented > kept.length ? [`${market} has ${invented} candles, trades make ${kept.length}`] : [];
  const wrong = kept.flatMap(({ time, open, high, low, close, volume }) => {
    const expected = [open, high, low, close, volume].join();
    const found = shown.get(time!);
    return found === expected ? [] : [`candle ${time} of ${market} is ${found}, trades say ${expected}`];
  });
  return [...wrong, ...more];
}
