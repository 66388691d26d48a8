/** Fills a market with realistic data: candle history, a book on both sides, executions, and a wallet that trades. */

import { findEmbedded } from '../../../src/embedded/index.ts';
import { ethersSigner } from '../../auth/signers.ts';
import { query } from '../../ledger/tables.ts';
import { type Random, random } from '../../support/seed.ts';
import { type Call, operate, type Service, signIn } from '../../support/service.ts';

const SEED = 2_026;
const LEVELS = 60;
const EXECUTIONS = 45;
const MINUTE_MS = 60_000;
const CANDLE_MS = 5 * MINUTE_MS;
const CANDLES = 12 * 24 * 7;
const LAST_PRICE = 2_000;

const COLUMNS =
  'market, timeframe, open_ms, open_ticks, high_ticks, low_ticks, close_ticks, volume_steps, quote_atoms, ' +
  'first_trade_id, last_trade_id';

const cents = (value: number): number => Math.round(value * 100) / 100;
const steps = (value: number): number => Math.round(value * 10_000) / 10_000;

/**
 * SQL that inserts five-minute candles over a week up to the last price, stored as one-minute, hourly and daily rows.
 */
function candlesSql({ below }: Random, symbol: string): string {
  const ended = Math.floor(Date.now() / CANDLE_MS) * CANDLE_MS - CANDLE_MS;
  let close = LAST_PRICE * 100;
  const rows = Array.from({ length: CANDLES }, (_none, index) => {
    const open = close + below(901) - 448;
    const [high, low] = [Math.max(open, close) + below(300), Math.min(open, close) - below(300)];
    const volume = 20_000 + below(200_000) + Math.abs(open - close) * 400;
    const row = [ended - index * CANDLE_MS, open, high, low, close, volume, volume * close, 0, 0].join(', ');
    close = open;
    return `('${symbol}', '1m', ${row})`;
  });
  const fold = (timeframe: string, lengthMs: number, from: string): string => `
    insert into candles (${COLUMNS})
    select market, '${timeframe}', open_ms - open_ms % ${lengthMs} as start_ms,
      (min(array[open_ms, open_ticks]))[2], max(high_ticks), min(low_ticks), (max(array[open_ms, close_ticks]))[2],
      sum(volume_steps), sum(quote_atoms), 0, 0
    from candles where market = '${symbol}' and timeframe = '${from}' group by market, start_ms
    on conflict do nothing;`;
  return `insert into candles (${COLUMNS}) values ${rows.join(', ')} on conflict do nothing;
    ${fold('1h', 60 * MINUTE_MS, '1m')} ${fold('1D', 24 * 60 * MINUTE_MS, '1h')}`;
}

/** @returns a function that places limit orders of a wallet with ample funds */
async function trader(service: Service, settings: Record<string, string>, address: string, call: Call) {
  for (const [asset, amount] of [
    ['USDC', '2500000'],
    ['ETH', '1250'],
  ])
    await operate(
      settings,
      'account',
      'credit',
      address,
      asset!,
      amount!,
      '--reference',
      `${address} ${asset}`,
    );
  return async (side: 'buy' | 'sell', price: number, size: number, more: object = {}): Promise<void> => {
    const body = { market: 'ETH/USDC', side, type: 'limit', price, size, ...more };
    const reply = await call('POST', '/v1/orders', body);
    if (reply.status !== 200) throw new Error(`${service.url} refuses ${JSON.stringify(reply.body)}`);
  };
}

/**
 * Fills the demo market ETH/USDC.
 * @param own wallet that signs in on the page; it gets orders, fills and balances
 */
export async function setScene(
  service: Service,
  settings: Record<string, string>,
  own: { readonly address: string; readonly call: Call },
): Promise<void> {
  const drawn = random(SEED);
  const maker = ethersSigner();
  const quote = await trader(
    service,
    settings,
    maker.address,
    (await signIn(service.url, maker))(service.url),
  );
  const trade = await trader(service, settings, own.address, own.call);
  await operate(settings, 'ledger', 'reconcile');
  for (let level = 1; level <= LEVELS; level += 1) {
    const away = level / 20 + drawn.below(5) / 100;
    const size = (): number => steps(0.05 + drawn.below(40_000 + level * 2_000) / 10_000);
    await quote('sell', cents(LAST_PRICE + away), size());
    await quote('buy', cents(LAST_PRICE - away), size());
  }
  for (let count = 0; count < EXECUTIONS; count += 1) {
    const side = drawn.chance(0.5) ? 'buy' : 'sell';
    const price = side === 'buy' ? LAST_PRICE + 2 : LAST_PRICE - 2;
    await trade(side, price, steps(0.001 + drawn.below(9_000) / 100_000), { timeInForce: 'IOC' });
  }
  await trade('buy', 1_998.75, 0.5);
  await trade('buy', 1_995, 2);
  await trade('sell', 2_003.5, 1.25);
  await query(findEmbedded(settings.DATA_DIR!)!.databaseUrl, candlesSql(drawn, 'ETH/USDC'));
}
