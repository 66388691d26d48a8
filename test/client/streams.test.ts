/** Tests watches on a virtual clock: the freshness they report, and when they reconnect. */

import { expect } from 'chai';
import {
  type LogEntry,
  type MarketFrame,
  openConnection,
  RedbookError,
  type WatchState,
  watchMarket,
  watchMarkets,
} from '../../src/client/index.ts';
import { type FakeSocket, fakeSockets } from './fake-socket.ts';
import { errorOf } from './fixture.ts';
import { virtualClock } from './virtual-clock.ts';

const FRAME = {
  type: 'market',
  symbol: 'ETH/USDC',
  tf: '1m',
  trades: [],
  candle: null,
  ticker: {
    type: 'ticker',
    symbol: 'ETH/USDC',
    mark: 1,
    index: 1,
    volume24h: 0,
    openInterest: 0,
    change24h: -0.5,
  },
};
/** More digits than a double holds. */
const FRAME_TEXT = `${JSON.stringify(FRAME).slice(0, -1)},"book":{"bids":[{"price":1000000000.000001,"size":0.123456789}],"asks":[]}}`;

function stage(log: (entry: LogEntry) => void = () => undefined) {
  const clock = virtualClock();
  const sockets = fakeSockets();
  const random = (bytes: Uint8Array): void => void bytes.fill(128);
  const connection = openConnection({
    baseUrl: 'https://redbook.example/path/',
    clock,
    random,
    WebSocket: sockets.WebSocket,
    log,
  });
  const states: WatchState[] = [];
  const frames: MarketFrame[] = [];
  const watch = watchMarket(
    connection,
    { symbol: 'ETH/USDC', tf: '5m' },
    {
      onFrame: (frame) => frames.push(frame),
      onState: (state) => states.push(state),
    },
  );
  const goLive = async (): Promise<FakeSocket> => {
    sockets.last().open();
    sockets.last().say(FRAME_TEXT);
    await clock.pass(0);
    return sockets.last();
  };
  return { clock, sockets, connection, states, frames, watch, goLive, state: () => watch.state.state };
}

describe('a loop over a watch', () => {
  const ticker = (symbol: string, mark: number) => ({ type: 'ticker', symbol, mark });

  it('gets the newest unread frame of each market, and closes the watch when it is left', async () => {
    const { connection, sockets } = stage();
    const watch = watchMarkets(connection);
    const read: unknown[] = [];
    const loop = (async () => {
      for await (const frame of watch) {
        if (frame.type === 'ticker') read.push([frame.symbol, frame.mark]);
        if (read.length === 1)
          for (const [symbol, mark] of [
            ['A', 2],
            ['B', 3],
            ['A', 4],
          ] as const)
            sockets.last().say(ticker(symbol, mark));
        if (read.length === 3) break;
      }
    })();
    sockets.last().open();
    sockets.last().say(ticker('A', 1));
    await loop;
    expect(read).to.deep.equal([
      ['A', '1'],
      ['B', '3'],
      ['A', '4'],
    ]);
    expect(sockets.last().isClosed).to.equal(true);
  });

  it('ends when the watch is closed, and throws the refusal of the service', async () => {
    const { connection, sockets } = stage();
    const closed = watchMarkets(connection);
    const loop = (async () => {
      for await (const _ of closed);
    })();
    closed.close();
    await loop;
    for await (const _ of closed) throw new Error('a closed watch has no frames');
    const refused = watchMarket(connection, { symbol: 'NO/SUCH' });
    const reading = errorOf(refused[Symbol.asyncIterator]().next());
    sockets.last().say({ type: 'error', code: 'MARKET_NOT_FOUND', error: 'no market has the symbol' });
    expect((await reading).code).to.equal('MARKET_NOT_FOUND');
  });

  it('is logged when the state of its stream changes', async () => {
    const log: LogEntry[] = [];
    const { goLive, clock, watch } = stage((entry) => log.push(entry));
    await goLive();
    await clock.pass(6_000);
    expect(log.map((entry) => entry.type === 'stream' && entry.state)).to.deep.equal(['live', 'stale']);
    expect(log[0]).to.include({ path: '/ws/market?symbol=ETH%2FUSDC&tf=5m', code: null });
    watch.close();
  });
});

describe('a watch', () => {
  it('is connecting until a frame arrives, and then live for five seconds', async () => {
    const { clock, sockets, states, frames, watch, goLive, state } = stage();
    expect(sockets.last().url).to.equal('wss://redbook.example/path/ws/market?symbol=ETH%2FUSDC&tf=5m');
    expect(watch.state).to.deep.equal({ state: 'connecting', lastFrameAt: null, retryAt: null, error: null });
    await goLive();
    const liveAt = clock.now();
    expect(states.at(-1)).to.deep.equal({ state: 'live', lastFrameAt: liveAt, retryAt: null, error: null });
    expect(frames[0]?.book.bids).to.deep.equal([{ price: '1000000000.000001', size: '0.123456789' }]);
    expect(frames[0]?.ticker.change24h).to.equal(-0.5);
    await clock.pass(5_000);
    expect(state()).to.equal('live');
    await clock.pass(1);
    expect(watch.state).to.deep.equal({ state: 'stale', lastFrameAt: liveAt, retryAt: null, error: null });
    sockets.last().say(FRAME_TEXT);
    expect(watch.state).to.deep.include({ state: 'live', lastFrameAt: clock.now() });
    watch.close();
  });

  it('is live only while frames arrive: a silent open connection is stale', async () => {
    const { clock, sockets, state, watch } = stage();
    sockets.last().open();
    await clock.pass(5_000);
    expect(state()).to.equal('connecting');
    await clock.pass(1);
    expect(state()).to.equal('stale');
    watch.close();
  });

  it('replaces a connection that is silent for ten seconds, and stays stale until a frame arrives', async () => {
    const { clock, sockets, state, watch, goLive } = stage();
    const silent = await goLive();
    await clock.pass(9_999);
    expect([state(), sockets.count()]).to.deep.equal(['stale', 1]);
    await clock.pass(1);
    expect([silent.isClosed, sockets.count()]).to.deep.equal([true, 2]);
    sockets.last().open();
    await clock.pass(1_000);
    expect(state()).to.equal('stale');
    silent.say(FRAME_TEXT);
    expect(state(), 'frames of the old connection count for nothing').to.equal('stale');
    sockets.last().say(FRAME_TEXT);
    expect(state()).to.equal('live');
    watch.close();
  });

  it('backs off, at most fifteen seconds, and resets the backoff after a frame', async () => {
    const { clock, sockets, watch, goLive } = stage();
    const waits: number[] = [];
    for (let attempt = 0; attempt < 7; attempt += 1) {
      sockets.last().break();
      expect(watch.state.state).to.equal('offline');
      waits.push(watch.state.retryAt! - clock.now());
      const before = sockets.count();
      await clock.pass(waits.at(-1)! - 1);
      expect(sockets.count(), 'not yet').to.equal(before);
      await clock.pass(1);
      expect(sockets.count(), 'now').to.equal(before + 1);
      expect(watch.state).to.include({ state: 'offline', retryAt: null });
    }
    // Starts at 0.5 s and doubles. The factor is three quarters, because this test's random number is always a half.
    for (const [index, longest] of [1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000].entries())
      expect(waits[index]).to.be.within(longest / 2, longest);
    await goLive();
    sockets.last().break();
    expect(watch.state.retryAt! - clock.now()).to.be.at.most(500);
    watch.close();
  });

  it('reconnects when the service says so', async () => {
    const { clock, sockets, watch, goLive } = stage();
    await goLive();
    sockets.last().break(1001, 'reconnect in 1234 ms');
    expect(watch.state.retryAt).to.equal(clock.now() + 1_234);
    await clock.pass(1_234);
    sockets.last().break(1001, 'reconnect in 99999 ms');
    expect(watch.state.retryAt, 'not later than by itself').to.equal(clock.now() + 15_000);
    watch.close();
  });

  it('reconnects at once when the network is back', async () => {
    const { clock, sockets, watch } = stage();
    for (let attempt = 0; attempt < 5; attempt += 1) {
      sockets.last().break();
      await clock.pass(15_000);
    }
    sockets.last().break();
    const before = sockets.count();
    clock.wake();
    await clock.pass(0);
    expect(sockets.count()).to.equal(before + 1);
    watch.close();
  });

  it('reconnects at once when it is asked to, and only while it waits to', async () => {
    const { clock, sockets, watch, goLive } = stage();
    await goLive();
    watch.retryNow();
    await clock.pass(0);
    expect(sockets.count(), 'a live connection stays').to.equal(1);
    sockets.last().break();
    watch.retryNow();
    await clock.pass(0);
    expect(sockets.count()).to.equal(2);
    watch.close();
  });

  it('drops frames that queued while the page was frozen', async () => {
    for (const wakesFirst of [true, false]) {
      const { clock, sockets, frames, state, watch, goLive } = stage();
      const old = await goLive();
      clock.freeze(60_000);
      if (wakesFirst) clock.wake();
      old.say(FRAME_TEXT);
      await clock.pass(0);
      expect([frames.length, state(), old.isClosed, sockets.count()]).to.deep.equal([1, 'stale', true, 2]);
      await goLive();
      expect([frames.length, state()]).to.deep.equal([2, 'live']);
      watch.close();
    }
  });

  it('detects silence despite late timers and a clock set back', async () => {
    const { clock, sockets, state, watch, goLive } = stage();
    await goLive();
    clock.freeze(8_000);
    await clock.pass(0);
    expect(state(), 'a timer that is late').to.equal('stale');
    sockets.last().say(FRAME_TEXT);
    clock.turnBack(3_600_000);
    await clock.pass(10_002);
    expect(state(), 'an hour earlier').to.equal('stale');
    watch.close();
  });

  it('ends for good when the service refuses it', async () => {
    const { clock, sockets, watch } = stage();
    sockets.last().open();
    sockets.last().say({ type: 'error', code: 'MARKET_NOT_FOUND', error: 'no market has the symbol' });
    expect(watch.state).to.include({ state: 'offline', retryAt: null });
    expect(watch.state.error).to.include({ code: 'MARKET_NOT_FOUND', outcome: 'refused' });
    await clock.pass(60_000);
    expect(sockets.count()).to.equal(1);
  });

  it('replaces a connection that sends an invalid frame', async () => {
    const { clock, sockets, watch, goLive } = stage();
    await goLive();
    sockets.last().say('<html>');
    await clock.pass(500);
    expect(sockets.count()).to.equal(2);
    watch.close();
  });

  it('reports nothing after it was closed, and leaves no timer', async () => {
    const { clock, sockets, states, frames, watch, goLive } = stage();
    const socket = await goLive();
    const told = states.length;
    watch.close();
    socket.say(FRAME_TEXT);
    socket.break();
    clock.wake();
    await clock.pass(60_000);
    expect([states.length, frames.length, sockets.count(), socket.isClosed]).to.deep.equal([
      told,
      1,
      1,
      true,
    ]);
  });

  it('watches all markets, and needs a WebSocket class', () => {
    const { connection, sockets, watch } = stage();
    const all = watchMarkets(connection, { onFrame: () => undefined });
    expect(sockets.last().url).to.equal('wss://redbook.example/path/ws');
    for (const one of [watch, all]) one.close();
    const { WebSocket: _, ...without } = connection;
    const start = () => watchMarkets({ ...without, WebSocket: undefined });
    expect(start).to.throw(RedbookError, 'WebSocket').with.property('code', 'INVALID_ARGUMENT');
  });
});
