/** Proves that the ledger's candles are the sums of its trades. */

import { expect } from 'chai';
import type { EngineEvent } from '../../src/domain/event.ts';
import type { OrderTerms, Side, Trade } from '../../src/domain/order.ts';
import { runSeed } from '../support/seed.ts';
import { seededEvents, WALLETS } from '../support/seeded-events.ts';
import { freshLedgers } from './fresh-ledgers.ts';
import { query } from './tables.ts';

const CANDLES = `select market, timeframe, open_ms::text, open_ticks::text, high_ticks::text, low_ticks::text,
  close_ticks::text, volume_steps::text, quote_atoms::text, first_trade_id::text, last_trade_id::text
  from candles order by 1, 2, candles.open_ms`;

/** The expected candles, computed from the trades by window functions. */
const FROM_TRADES = `select market, timeframe, open_ms::text, open_ticks::text, high_ticks::text, low_ticks::text,
    close_ticks::text, volume_steps::text, quote_atoms::text, first_trade_id::text, last_trade_id::text
  from (
    select distinct market, timeframe, time_ms / ms * ms as open_ms,
      first_value(price_ticks) over bucket as open_ticks, max(price_ticks) over bucket as high_ticks,
      min(price_ticks) over bucket as low_ticks, last_value(price_ticks) over bucket as close_ticks,
      sum(size_steps) over bucket as volume_steps, sum(notional_atoms) over bucket as quote_atoms,
      min(trade_id) over bucket as first_trade_id, max(trade_id) over bucket as last_trade_id
    from trades cross join (values ('1m', 60000), ('1h', 3600000), ('1D', 86400000)) as kept (timeframe, ms)
    window bucket as (partition by market, timeframe, time_ms / ms order by trade_id
      rows between unbounded preceding and unbounded following)) as due
  order by 1, 2, due.open_ms`;

describe('the candles of the ledger', () => {
  const freshLedger = freshLedgers();

  it('are the folded trades of a minute, hour and day, wherever batches end', async () => {
    const { ledger, databaseUrl } = await freshLedger();
    const events = seededEvents(runSeed()).next(2_000);
    for (let at = 0; at < events.length; at += 37) await ledger.settlement.settle(events.slice(at, at + 37));
    const candles = await query(databaseUrl, CANDLES);
    expect(candles.length).to.be.above(10);
    expect(candles).to.deep.equal(await query(databaseUrl, FROM_TRADES));
  });

  it('store sums that exceed 64 bits', async () => {
    const { ledger, databaseUrl } = await freshLedger();
    await ledger.settlement.settle(largestTrades(1_200));
    const [candle] = await query<{ volume_steps: string; quote_atoms: string }>(databaseUrl, CANDLES);
    const volume = 1_200n * LARGEST;
    expect(candle).to.include({ volume_steps: String(volume), quote_atoms: String(volume) });
    expect(volume > 2n ** 63n).to.equal(true);
    const { last } = await ledger.candles.minutes('A/B', 0);
    expect(last!.volumeSteps).to.equal(volume);
  });
});

const LARGEST = 2n ** 53n - 1n;

/** Pairs of orders in one minute that fill each other completely, at the largest exact amount. */
function largestTrades(count: number): EngineEvent[] {
  const events: EngineEvent[] = [];
  const place = (side: Side, makerOrderId: string | null): string => {
    const sequence = events.length + 1;
    const order = largestOrder(sequence, side);
    const trades = makerOrderId === null ? [] : [largestTrade(order, makerOrderId)];
    const isFilled = trades.length > 0;
    events.push({
      epoch: 1,
      sequence,
      timeMs: 60_000,
      digest: { hex: String(sequence) },
      kind: 'order_placed',
      order,
      trades,
      status: isFilled ? 'filled' : 'resting',
      filledSteps: isFilled ? LARGEST : 0n,
      reason: null,
      expired: [],
    });
    return order.id;
  };
  for (let pair = 0; pair < count; pair += 1) place('buy', place('sell', null));
  return events;
}

const largestOrder = (sequence: number, side: Side): OrderTerms => ({
  id: String(sequence),
  wallet: WALLETS[side === 'buy' ? 0 : 1]!,
  market: 'A/B',
  side,
  type: 'limit',
  timeInForce: 'GTC',
  postOnly: false,
  leverage: null,
  priceTicks: 1n,
  sizeSteps: LARGEST,
  clientOrderId: null,
  createdAtMs: 60_000,
  sequence,
  units: { base: 'A', quote: 'B', baseAtomsPerStep: 1n, quoteAtomsPerLot: 1n },
});

const largestTrade = (taker: OrderTerms, makerOrderId: string): Trade => ({
  tradeId: taker.sequence,
  market: 'A/B',
  takerSide: 'buy',
  priceTicks: 1n,
  sizeSteps: LARGEST,
  feeAtoms: 0n,
  takerOrderId: taker.id,
  makerOrderId,
  takerWallet: taker.wallet,
  makerWallet: WALLETS[1]!,
  timeMs: 60_000,
  sequence: taker.sequence,
  units: taker.units,
});
