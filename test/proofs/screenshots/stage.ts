/**
 * Fills a market with realistic data: candle history, a book on both sides, executions, and a wallet that trades. Other
 * markets have long symbols, tiny prices, or are halted.
 */

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

/** Symbols as long as they may be. */
export const LONG = 'SUPERLONGTOKEN16/STABLECOINLONG16';
export const TINY = 'PEPE/WETH';
const RULES = ['--min-order-size', 'null', '--max-order-size', 'null', '--fee-bps', '10'];
const OTHERS = [
  [LONG, '0.01', '0.0000001', { SUPERLONGTOKEN16: '1000', STABLECOINLONG16: '400000000' }],
  [TINY, '0.000000000001', '1000', { PEPE: '800000000000', WETH: '900000' }],
] as const;
const SCALES = { SUPERLONGTOKEN16: '8', STABLECOINLONG16: '9', PEPE: '0', WETH: '9' };

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
    const high = Math.max(open, close) + below(300);
    const low = Math.min(open, close) - below(300);
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

type Place = (
  side: 'buy' | 'sell',
  price: number | string,
  size: number | string,
  more?: object,
) => Promise<void>;

/** @returns a function that places limit orders of a wallet with ample funds */
async function trader(
  service: Service,
  settings: Record<string, string>,
  address: string,
  call: Call,
  market = 'ETH/USDC',
  funds: Readonly<Record<string, string>> = { USDC: '2500000', ETH: '1250' },
): Promise<Place> {
  for (const [asset, amount] of Object.entries(funds))
    await operate(
      settings,
      'account',
      'credit',
      address,
      asset,
      amount,
      '--reference',
      `${address} ${asset}`,
    );
  return async (side, price, size, more = {}) => {
    const body = { market, side, type: 'limit', price, size, ...more };
    const reply = await call('POST', '/v1/orders', body);
    if (reply.status !== 200) throw new Error(`${service.url} refuses ${JSON.stringify(reply.body)}`);
  };
}

/** Publishes markets with long symbols and tiny prices, quotes and trades on them, and halts BTC/USDC. */
async function setOthers(
  service: Service,
  settings: Record<string, string>,
  own: { readonly address: string; readonly call: Call },
): Promise<void> {
  for (const [asset, scale] of Object.entries(SCALES))
    await operate(settings, 'asset', 'set', asset, '--scale', scale);
  for (const [symbol, tick, step, funds] of OTHERS) {
    await operate(settings, 'market', 'create', symbol, '--tick-size', tick, '--size-step', step, ...RULES);
    const place = await trader(service, settings, own.address, own.call, symbol, funds);
    const isTiny = symbol === TINY;
    const size = isTiny ? '1234567000' : '0.1234567';
    const priceOf = (ticks: number): string =>
      isTiny ? `0.00000000${2_345 + ticks}` : `12345${(5_000 + ticks) / 100}`;
    await place('sell', priceOf(0), size);
    const maker = ethersSigner();
    const call = (await signIn(service.url, maker))(service.url);
    const other = await trader(service, settings, maker.address, call, symbol, funds);
    await other('buy', priceOf(0), size);
    for (let level = 1; level <= LEVELS / 2; level += 1) {
      await other('sell', priceOf(level), size);
      await other('buy', priceOf(-level), size);
    }
    await place('buy', priceOf(-9), size);
  }
  await operate(settings, 'market', 'set', 'BTC/USDC', '--status', 'halted');
}

/**
 * Fills the demo market ETH/USDC.
 * @param own wallet that signs in on the page; it gets orders, fills and balances
 * @returns a key of the desk
 */
export async function setScene(
  service: Service,
  settings: Record<string, string>,
  own: { readonly address: string; readonly call: Call },
): Promise<string> {
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
  await setOthers(service, settings, own);
  const rights = 'read,credit,debit,pay,hold,market,close,pause';
  const { key } = (await operate(settings, 'key', 'create', 'desk', '--may', rights)) as { key: string };
  return key;
}
