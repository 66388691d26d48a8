/** Proves that the page's memory does not grow over a thousand frames. */

import { once } from 'node:events';
import { expect } from 'chai';
import type { CDPSession, Page, WebSocketRoute } from 'playwright-core';
import { WebSocket } from 'ws';
import { parseDecimal } from '../../src/domain/units.ts';
import { random, runSeed } from '../support/seed.ts';
import { newWallet } from './grids.ts';
import { bookState, columnOf, readTable, untilRead } from './screen.ts';
import { type Stage, sharedStage } from './stage.ts';
import { browserTest } from './visit.ts';

const SYMBOL = 'FRAME/USDC';
const LEVELS = 60;
const WARM_UP = 300;
const FRAMES = 1_000;
const FRAMES_OF_CANDLE = 30;
/** A frame has 5 KB or more. The chart keeps its candles, including 33 new ones. */
const GROWTH_BYTES = 1_000 * FRAMES;
/** Maximum additional nodes, and most additional listeners: less than one for each frame. */
const GROWTH = FRAMES;

interface MarketFrame {
  readonly book: Record<'bids' | 'asks', { price: number; size: number }[]>;
  readonly trades: { id: number; price: number; size: number; side: string; time: number }[];
  readonly candle: { readonly time: number; readonly open: number };
}

interface Held {
  readonly heapBytes: number;
  readonly nodes: number;
  readonly listeners: number;
}

/** Memory of the page after a forced collection. */
async function heldBy(session: CDPSession): Promise<Held> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
  return { heapBytes: usedSize, nodes, listeners: jsEventListeners };
}

describe('frames of the market stream', () => {
  let stage: Stage;
  let recorded: MarketFrame;
  before(async () => {
    stage = await sharedStage();
    await stage.market({ symbol: SYMBOL }, { FRAME: 8, USDC: 6 });
    recorded = await recordFrame();
  });

  /** Records a frame of the real stream with deep sides and an execution. */
  async function recordFrame(): Promise<MarketFrame> {
    const maker = newWallet();
    const taker = newWallet();
    for (const wallet of [maker, taker]) await stage.credit(wallet, { FRAME: '10000', USDC: '10000000' });
    const rules = { timeInForce: 'GTC', postOnly: false, reduceOnly: false, leverage: null } as const;
    const place = (wallet: string, side: 'buy' | 'sell', price: string, size: string) =>
      stage.engine.orders.place({
        wallet,
        request: {
          ...rules,
          market: SYMBOL,
          side,
          type: 'limit',
          clientOrderId: null,
          size: parseDecimal(size)!,
          price: parseDecimal(price)!,
        },
      });
    const levels = Array.from({ length: LEVELS }, (_none, index) => (index + 1) / 100);
    await Promise.all(
      levels.flatMap((away) => [
        place(maker, 'buy', (2000 - away).toFixed(2), '1.25'),
        place(maker, 'sell', (2000 + away).toFixed(2), '1.25'),
      ]),
    );
    await place(taker, 'buy', '2000.01', '0.5');
    const socket = new WebSocket(`${stage.url.replace('http', 'ws')}/ws/market?symbol=FRAME%2FUSDC&tf=1m`);
    try {
      for (;;) {
        const [data] = await once(socket, 'message');
        const frame = JSON.parse(String(data)) as MarketFrame;
        if (frame.book.asks.length === LEVELS && frame.trades.length > 0) return frame;
      }
    } finally {
      socket.close();
    }
  }

  /**
   * Generates frames that follow a recorded one: some sizes change, the book moves by a tick, the tape gets an
   * execution.
   */
  function* following(first: MarketFrame): Generator<MarketFrame> {
    const { below, chance } = random(runSeed());
    const startMs = Date.now();
    let { trades, book } = first;
    let moved = 0;
    const drawSize = (): number => (1 + below(100_000)) / 10_000;
    for (let number = 1; ; number += 1) {
      moved += chance(0.5) ? below(3) - 1 : 0;
      const change = (levels: MarketFrame['book']['bids'], away: number) =>
        levels.map(({ size }, index) => ({
          price: (200_000 + moved + away * (index + 1)) / 100,
          size: chance(0.1) ? drawSize() : size,
        }));
      book = { bids: change(book.bids, -1), asks: change(book.asks, 1) };
      const price = book.asks[0]!.price;
      trades = [
        { id: number, price, size: drawSize(), side: 'buy', time: startMs + number },
        ...trades,
      ].slice(0, 60);
      const time = first.candle.time + 60 * Math.floor(number / FRAMES_OF_CANDLE);
      const candle = { ...first.candle, time, open: 1990, low: 1990, high: price, close: price };
      yield { ...first, trades, candle, book };
    }
  }

  async function firstPriceShown(page: Page): Promise<string> {
    return columnOf(await readTable(page, 'Trades'), /size/i)[0]!;
  }

  browserTest('leave nothing behind when 1,000 of them come without a pause', async (open) => {
    let route: WebSocketRoute | undefined;
    const { page, context } = await open(`${stage.url}/trade/FRAME_USDC`, {
      prepare: async ({ page }) => {
        await page.routeWebSocket(/\/ws\/market/, (socket) => {
          route = socket;
          socket.send(JSON.stringify(recorded));
        });
      },
    });
    await bookState(page, 'live').waitFor();
    const session = await context.newCDPSession(page);
    const frames = following(recorded);
    const replay = async (count: number): Promise<void> => {
      let last: MarketFrame | undefined;
      for (let sent = 0; sent < count; sent += 1) {
        last = frames.next().value as MarketFrame;
        route!.send(JSON.stringify(last));
      }
      await untilRead(
        () => firstPriceShown(page),
        (size) => Number(size) === last!.trades[0]!.size,
        60_000,
      );
    };
    await replay(WARM_UP); // fills caches, the tape and the table of candles
    const before = await heldBy(session);
    await replay(FRAMES);
    const after = await heldBy(session);
    const growth = after.heapBytes - before.heapBytes;
    expect(growth, `${before.heapBytes} bytes grew by ${growth}`).to.be.below(GROWTH_BYTES);
    expect(after.listeners).to.be.below(before.listeners + GROWTH);
    expect(after.nodes).to.be.below(before.nodes + GROWTH);
  });
});
