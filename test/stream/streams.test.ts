/** Tests the public streams over WebSocket: first frames, updates, refusals, limits and outages. */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { parse } from 'lossless-json';
import { WebSocket } from 'ws';
import { bucketStartMs, TIMEFRAMES } from '../../src/domain/candle.ts';
import { writeMessage } from '../../src/feed/index.ts';
import { GENERAL } from '../../src/feed/keys.ts';
import { connectRedis } from '../../src/redis/connections.ts';
import { DRAIN_STEP_MS } from '../../src/stream/index.ts';
import { eventually } from '../support/eventually.ts';
import { freshRedis, freshRedisServer } from '../support/servers.ts';
import { deaf } from './deaf.ts';
import { openReplica, openStreamFixture, type Replica, type StreamFixture } from './fixture.ts';
import { market, parsed, type Seen, type Watcher, watch } from './watcher.ts';

/** Parses JSON with its numbers as literals, digit for digit. */
// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape, which the tests look into
const read = (text: string): any => parse(text, null, (digits) => digits);

/** Bytes held by buffers after a garbage collection. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().arrayBuffers;
}

const typed = (type: string) => (seen: readonly Seen[]) => seen.some((one) => parsed(one).type === type);
const atLeast = (count: number) => (seen: readonly Seen[]) => seen.length >= count;

/** Age of frames that a newcomer is not shown. */
const SHOWN_MS = 4_000;

/** Waits for the answer to a ping, before which everything that was sent earlier has arrived. */
async function answered({ ws }: Watcher): Promise<void> {
  const pong = once(ws, 'pong');
  ws.ping();
  await pong;
}

/** A slow scenario that begins before the other tests and ends with its own. */
async function breakOfRedis(): Promise<void> {
  const feed = await freshRedisServer();
  const exchange = await openStreamFixture(feed.url);
  try {
    const [replica] = await Promise.all([exchange.replica(), exchange.worker()]);
    const watchers = ['/ws', market('ETH/USDC')].map((path) => watch(replica.port, path));
    await Promise.all(watchers.map((one) => one.until(atLeast(3))));
    await feed.kill();
    const newcomer = watch(replica.port, '/ws');
    await once(newcomer.ws, 'open');
    await answered(newcomer);
    const isOld = (): boolean =>
      watchers.every(({ seen }) => performance.now() - seen.at(-1)!.atMs > SHOWN_MS);
    // A busy machine may have opened the connection late.
    if (!isOld()) expect(newcomer.seen).to.have.length(3);
    await eventually('the last frames are older than what a newcomer may be shown', isOld);
    const before = watchers.map(({ seen }) => seen.length);
    const late = ['/ws', market('ETH/USDC')].map((path) => watch(replica.port, path));
    await Promise.all(late.map(({ ws }) => once(ws, 'open')));
    expect(replica.streams.clients()).to.deep.equal({ general: 3, market: 2 });
    await Promise.all(late.map(answered));
    expect(late.map(({ seen }) => seen.length)).to.deep.equal([0, 0]);
    expect(watchers.map(({ seen }) => seen.length)).to.deep.equal(before);
    await feed.start();
    await Promise.all([newcomer, ...late].map((one) => one.until(atLeast(2))));
    const firstOf = ({ seen }: Watcher): string => parsed(seen[0]!).type;
    expect([newcomer, ...late].map(firstOf)).to.deep.equal(['snapshot', 'snapshot', 'market']);
    await Promise.all(watchers.map((one, at) => one.until(atLeast(before[at]! + 3))));
    for (const { ws } of watchers) expect(ws.readyState).to.equal(ws.OPEN);
    for (const one of [...watchers, newcomer, ...late]) one.close();
  } finally {
    await exchange.close();
    await feed.stop();
  }
}

describe('the streams', () => {
  const watchers: Watcher[] = [];
  let exchange: StreamFixture;
  let replica: Replica;
  let api: { port: number };

  const see = (port: number, path: string, ...options: Parameters<typeof watch>[2][]): Watcher => {
    const watcher = watch(port, path, ...options);
    watchers.push(watcher);
    return watcher;
  };
  const rest = async (path: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${api.port}${path}`)).text();

  let broken: Promise<void>;

  before(async () => {
    broken = breakOfRedis();
    broken.catch(() => undefined);
    exchange = await openStreamFixture();
    for (let level = 1; level <= 260; level += 1) {
      await exchange.quote('buy', (2000 - level / 100).toFixed(2), '0.123');
      await exchange.quote('sell', (2000.03 + level / 100).toFixed(2), '1.5');
    }
    await exchange.take('buy', '2');
    await exchange.take('sell', '0.2');
    for (let trade = 0; trade < 70; trade += 1) await exchange.take(trade % 3 ? 'buy' : 'sell', '0.001');
    const tradedMs = await exchange.backends.engine.reads.time();
    [api, replica] = await Promise.all([exchange.allInOne(), exchange.replica(), exchange.worker()]);
    const first = see(replica.port, market('ETH/USDC'));
    // Figures are of a whole second, and lack trades of the present one. From such a frame on, nothing changes.
    await first.until((seen) => seen.some((one) => parsed(one).ticker.time > tradedMs + 1_000));
    first.close();
  });
  afterEach(() => {
    for (const watcher of watchers.splice(0)) watcher.close();
  });
  after(() => exchange.close());

  it('send the newest frames at once, the same bytes from every replica', async () => {
    for (const [path, count] of [
      ['/ws', 3],
      [market('ETH/USDC', '1h'), 1],
    ] as const) {
      const firstFrames = async (): Promise<string[][]> => {
        const opened = [api.port, replica.port, api.port].map((port) => see(port, path));
        await Promise.all(opened.map((one) => one.until(atLeast(count))));
        return opened.map(({ seen }) => seen.slice(0, count).map(({ text }) => text));
      };
      const beatsOf = (all: string[][]): number => new Set(all.map(([text]) => JSON.parse(text!).time)).size;
      let all = await firstFrames();
      // A beat may begin between the first connection and the last.
      while (beatsOf(all) > 1) all = await firstFrames();
      expect(all.slice(1)).to.deep.equal([all[0], all[0]]);
    }
  });

  it('send a snapshot first on the general stream, and then tickers of every market', async () => {
    const seen = (await see(replica.port, '/ws').until(atLeast(5))).slice(0, 5);
    const types = seen.map((one) => parsed(one).type);
    expect(types[0]).to.equal('snapshot');
    expect(types.slice(1)).to.deep.equal(Array(4).fill('ticker'));
    const symbols = seen.slice(1).map((one) => parsed(one).symbol);
    expect(symbols).to.deep.equal(['ETH/USDC', 'BTC/USDC', 'ETH/USDC', 'BTC/USDC']);
    const [, ethereum, bitcoin] = seen;
    expect(Object.keys(parsed(ethereum!))).to.deep.equal([
      'type',
      'symbol',
      'mark',
      'index',
      'volume24h',
      'openInterest',
      'change24h',
      'time',
      'sequence',
    ]);
    const { time, sequence, ...figures } = parsed(bitcoin!);
    expect([time, sequence]).to.deep.equal([parsed(ethereum!).time, parsed(ethereum!).sequence]);
    expect(figures).to.deep.equal({
      type: 'ticker',
      symbol: 'BTC/USDC',
      mark: null,
      index: null,
      volume24h: 0,
      openInterest: 0,
      change24h: 0,
    });
  });

  it('show the same figures as REST', async () => {
    const general = see(api.port, '/ws');
    const one = see(api.port, market('ETH/USDC'));
    await Promise.all([general.until(atLeast(3)), one.until(atLeast(1))]);
    const [markets, book, prints, tickers, summary] = await Promise.all(
      ['markets', 'market-data/orderbook?ticker_id=ETH_USDC&depth=500']
        .concat([
          'market-data/trades?ticker_id=ETH_USDC&limit=60',
          'market-data/tickers',
          'market-data/summary',
        ])
        .map((path) => rest(`/v1/${path}`)),
    );
    const list = markets!.slice('{"markets":'.length, -1);
    expect(general.seen[0]!.text).to.match(/,"time":\d+,"sequence":\d+}$/);
    expect(general.seen[0]!.text.split(',"time":')[0]).to.equal(`{"type":"snapshot","markets":${list}`);

    const frame = read(one.seen.at(-1)!.text);
    const side = (levels: { price: string; size: string }[]) =>
      levels.map(({ price, size }) => [price, size]);
    const { bids, asks } = read(book!);
    expect(side(frame.book.bids)).to.have.length(250).and.to.deep.equal(bids);
    expect(side(frame.book.asks)).to.have.length(250).and.to.deep.equal(asks);

    const { buy, sell } = read(prints!);
    const newestFirst = [...buy, ...sell].sort((a, b) => Number(b.trade_id) - Number(a.trade_id));
    expect(frame.trades).to.have.length(60);
    expect(
      frame.trades.map(({ id, price, size, side, time }: Record<string, string>) => [
        id,
        price,
        size,
        side,
        String(Math.floor(Number(time) / 1000)),
      ]),
    ).to.deep.equal(
      newestFirst.map((print) => [
        print.trade_id,
        print.price,
        print.base_volume,
        print.type,
        print.trade_timestamp,
      ]),
    );

    const { sequence } = await exchange.backends.engine.reads.state();
    expect([frame.sequence, general.seen[0] && read(general.seen[0].text).sequence]).to.deep.equal([
      String(sequence),
      String(sequence),
    ]);
    const ticker = read(tickers!).find((entry: { ticker_id: string }) => entry.ticker_id === 'ETH_USDC');
    const entry = read(summary!).ETH_USDC;
    expect(frame.ticker.volume24h).to.equal(ticker.base_volume);
    expect(Number(frame.ticker.change24h)).to.equal(Number(entry.price_change_percent_24h));
    expect(Number(frame.ticker.mark)).to.be.closeTo((Number(ticker.bid) + Number(ticker.ask)) / 2, 1e-9);
    expect(frame.ticker.index).to.equal(frame.ticker.mark);
    // The two may be of two beats, which differ in their time.
    expect(one.seen.at(-1)!.text).to.include(general.seen[1]!.text.split(',"time":')[0]);
  });

  it('show the candle of every timeframe', async () => {
    const views = TIMEFRAMES.map((tf) => see(replica.port, market('ETH/USDC', tf)));
    await Promise.all(views.map((view) => view.until(atLeast(1))));
    const { trades } = await exchange.backends.ledger.trades.ofMarket('ETH/USDC', { limit: 500 });
    for (const [at, timeframe] of TIMEFRAMES.entries()) {
      const { tf, candle, time } = parsed(views[at]!.seen[0]!);
      const openMs = bucketStartMs(timeframe, candle.time * 1_000);
      expect(tf).to.equal(timeframe);
      expect(candle.time * 1_000).to.equal(openMs);
      // The candle is of a moment shortly before or after that of the frame, so its bucket may be a neighbour.
      expect([time - 2_000, time, Date.now()].map((ms) => bucketStartMs(timeframe, ms))).to.include(openMs);
      const inside = trades.filter(({ timeMs }) => timeMs >= openMs);
      const volume = inside.reduce((sum, { sizeSteps }) => sum + Number(sizeSteps), 0) / 1_000;
      expect(candle.volume).to.be.closeTo(volume, 1e-9);
      expect(candle.close).to.equal(Number(trades[0]!.priceTicks) / 100);
      const prices = (inside.length > 0 ? inside : trades.slice(0, 1)).map((one) => Number(one.priceTicks));
      expect([candle.high, candle.low]).to.deep.equal([Math.max(...prices) / 100, Math.min(...prices) / 100]);
    }
    const empty = see(replica.port, market('BTC/USDC'));
    const [seen] = await empty.until(atLeast(1));
    expect(parsed(seen!)).to.deep.include({ candle: null, trades: [], book: { bids: [], asks: [] } });
  });

  it('include a market that was published meanwhile', async () => {
    const general = see(replica.port, '/ws');
    await general.until(typed('ticker'));
    await exchange.market({ symbol: 'SOL/USDC', tickSize: '0.001', referencePrice: '150.5' });
    const view = see(replica.port, market('SOL/USDC', '4h'));
    await general.until((seen) => seen.some((one) => parsed(one).symbol === 'SOL/USDC'));
    await view.until(atLeast(1));
    expect(parsed(view.seen[0]!).ticker).to.include({ mark: 150.5, index: 150.5 });
    const newcomer = see(api.port, '/ws');
    await newcomer.until(atLeast(4));
    expect(parsed(newcomer.seen[0]!).markets.map((one: { symbol: string }) => one.symbol)).to.deep.equal([
      'ETH/USDC',
      'BTC/USDC',
      'SOL/USDC',
    ]);
  });

  const refused: [what: string, path: string, code: number, error: string][] = [
    ['an unknown symbol', market('DOGE/USDC'), 4404, 'MARKET_NOT_FOUND'],
    ['a symbol in the wrong case', market('eth/usdc'), 4404, 'MARKET_NOT_FOUND'],
    ['a missing symbol', '/ws/market?tf=1m', 4400, 'VALIDATION_ERROR'],
    ['an empty symbol', '/ws/market?symbol=', 4400, 'VALIDATION_ERROR'],
    ['two symbols', '/ws/market?symbol=ETH%2FUSDC&symbol=BTC%2FUSDC', 4400, 'VALIDATION_ERROR'],
    ['an unknown timeframe', market('ETH/USDC', '2m'), 4400, 'VALIDATION_ERROR'],
    ['a timeframe in the wrong case', market('ETH/USDC', '1d'), 4400, 'VALIDATION_ERROR'],
    ['an empty timeframe', market('ETH/USDC', ''), 4400, 'VALIDATION_ERROR'],
  ];
  for (const [what, path, closeCode, errorCode] of refused) {
    it(`report ${what}, and close with ${closeCode}`, async () => {
      const watcher = see(replica.port, path);
      expect(await watcher.ended).to.deep.equal({ code: closeCode, reason: errorCode });
      expect(watcher.seen.map(parsed)).to.have.length(1);
      expect(parsed(watcher.seen[0]!)).to.include({ type: 'error', code: errorCode });
      expect(Object.keys(parsed(watcher.seen[0]!))).to.deep.equal(['type', 'error', 'code']);
    });
  }

  it('reject a market that is gone, though a client still waits for its frames', async () => {
    let answer: () => Promise<boolean> = async () => true;
    const own = await openReplica(
      exchange.environment.QUEUE_REDIS_URL ?? exchange.environment.REDIS_URL!,
      () => answer(),
    );
    try {
      const waiting = see(own.port, market('GONE/USDC'));
      await once(waiting.ws, 'open');
      answer = async () => false;
      expect(await see(own.port, market('GONE/USDC')).ended).to.include({ code: 4404 });
      answer = () => Promise.reject(new Error('the engine is away'));
      await once(see(own.port, market('GONE/USDC')).ws, 'open');
      expect(waiting.seen).to.deep.equal([]);
    } finally {
      await own.close();
    }
  });

  it('use one minute when no timeframe is given', async () => {
    const [seen] = await see(replica.port, '/ws/market?symbol=ETH/USDC').until(atLeast(1));
    expect(parsed(seen!)).to.include({ type: 'market', symbol: 'ETH/USDC', tf: '1m' });
  });

  it('return the request id of a rejected request', async () => {
    const { ws } = see(replica.port, '/nowhere', { headers: { 'x-request-id': 'abc-1' } });
    const [, response] = await once(ws, 'unexpected-response');
    expect(response.headers['x-request-id']).to.equal('abc-1');
  });

  it('reject upgrades on every other path with 404', async () => {
    const paths = ['/', '/ws/', '/ws/market/', '/ws/other', '/WS', '/v1/markets', '//ws'];
    const ends = await Promise.all(paths.map((path) => see(replica.port, path).ended));
    for (const { code, reason } of ends) {
      expect(code).to.equal(404);
      expect(JSON.parse(reason)).to.include({ statusCode: 404, code: 'NOT_FOUND', error: 'Not Found' });
    }
    const response = await fetch(`http://127.0.0.1:${api.port}/ws`);
    expect(response.status).to.equal(404);
  });

  it('ignore messages, and close a connection that sends more than a kilobyte', async () => {
    const [quiet, loud, piecemeal] = [1, 2, 3].map(() => see(replica.port, market('ETH/USDC')));
    await Promise.all([quiet, loud, piecemeal].map((one) => one!.until(atLeast(1))));
    quiet!.ws.send('{"op":"subscribe"}');
    quiet!.ws.send('x'.repeat(1_024));
    quiet!.ws.send(Buffer.alloc(1_024));
    loud!.ws.send('x'.repeat(1_025));
    piecemeal!.ws.send('x'.repeat(1_000), { fin: false });
    piecemeal!.ws.send('x'.repeat(25), { fin: true });
    expect((await loud!.ended).code).to.equal(1009);
    expect((await piecemeal!.ended).code).to.equal(1009);
    await quiet!.until(atLeast(2));
  });

  it('limit handshakes of one address, and no connection that is open', async () => {
    const limited = await exchange.replica({ handshakesPerMinute: 3, trustProxyHops: 1 });
    const from = (address: string) => see(limited.port, '/ws', { headers: { 'x-forwarded-for': address } });
    const opened = [from('203.0.113.1'), from('203.0.113.1'), from('203.0.113.1')];
    await Promise.all(opened.map((one) => one.until(typed('ticker'))));
    const { code, reason } = await from('203.0.113.1').ended;
    expect([code, JSON.parse(reason).code]).to.deep.equal([429, 'RATE_LIMITED']);
    await from('203.0.113.2').until(typed('ticker'));
    expect(limited.streams.clients().general).to.equal(4);
  });

  it('limit connections, in all and of one address', async () => {
    const limited = await exchange.replica({ wsMaxClients: 4, wsMaxClientsPerAddress: 2, trustProxyHops: 1 });
    const from = (address: string) => see(limited.port, '/ws', { headers: { 'x-forwarded-for': address } });
    const inside = async (...opened: Watcher[]) =>
      Promise.all(opened.map((one) => one.until(typed('ticker'))));
    const refusal = async (watcher: Watcher) => {
      const { code, reason } = await watcher.ended;
      return [code, JSON.parse(reason).code];
    };
    const first = from('2001:db8:1:2::1');
    const second = from('2001:db8:1:2:ffff::9');
    await inside(first, second);
    // From the same /64. Headers from the client itself are ignored.
    expect(await refusal(from('2001:db8:1:2:3:4:5:6'))).to.deep.equal([429, 'RATE_LIMITED']);
    expect(await refusal(from('203.0.113.7, 2001:db8:1:2::1'))).to.deep.equal([429, 'RATE_LIMITED']);
    await inside(from('203.0.113.7'), from('2001:db8:1:3::1'));
    // The address with most connections gives its oldest to another one. Then all have one.
    await inside(from('203.0.113.8'));
    expect((await first.ended).code).to.equal(1006);
    expect(await refusal(from('203.0.113.9'))).to.deep.equal([503, 'SERVICE_UNAVAILABLE']);
    expect(limited.streams.clients()).to.deep.equal({ general: 4, market: 0 });
    second.close();
    await eventually('its place is free', () => limited.streams.clients().general === 3);
  });

  it('close a connection that does not answer a ping', async () => {
    const strict = await exchange.replica({ heartbeatMs: 1_000 });
    const alive = see(strict.port, '/ws');
    let pings = 0;
    alive.ws.on('ping', () => (pings += 1));
    const dead = see(strict.port, '/ws', { autoPong: false });
    expect((await dead.ended).code).to.equal(1006);
    await eventually('the other one was pinged twice', () => pings >= 2);
    expect(alive.ws.readyState).to.equal(alive.ws.OPEN);
  });

  it('ask clients to reconnect, one after the other, when they stop', async () => {
    const leaving = await exchange.replica();
    const clients = 20;
    const steps = 50;
    const opened = Array.from({ length: clients }, () => see(leaving.port, '/ws'));
    await Promise.all(opened.map((one) => one.until(typed('ticker'))));
    let passed = 0;
    const goneAt: number[] = [];
    for (const one of opened) void one.ended.then(() => goneAt.push(passed));
    // Counts steps by a timer like that of the drain, which fires before it, however busy the machine is.
    const counted = (async () => {
      for (; passed < steps; passed += 1) await sleep(DRAIN_STEP_MS);
    })();
    const drained = leaving.streams.drain(steps * DRAIN_STEP_MS);
    expect((await see(leaving.port, '/ws').ended).code).to.equal(503);
    await Promise.all([drained, counted]);
    for (const { code, reason } of await Promise.all(opened.map((one) => one.ended))) {
      expect(code).to.equal(1001);
      expect(reason).to.match(/^reconnect in \d+ ms$/);
    }
    // No client goes before its turn.
    const turn = steps / clients;
    expect(
      goneAt.filter((step, index) => step < Math.floor(index * turn)),
      `gone at steps ${goneAt}`,
    ).to.deep.equal([]);
    expect(leaving.streams.clients()).to.deep.equal({ general: 0, market: 0 });
  });

  it('skip frames of a client that does not read, buffer nothing, and drop it after a while', async () => {
    const redisUrl = await freshRedis();
    const redis = connectRedis(redisUrl, 'test', () => undefined);
    await once(redis, 'ready');
    const [patient, strict] = await Promise.all(
      [60_000, 500].map((wsMaxLagMs) => openReplica(redisUrl, async () => true, { wsMaxLagMs })),
    );
    const ports = [patient!, strict!].flatMap(({ port }) => Array<number>(10).fill(port));
    const lost = await Promise.all(ports.map((port) => deaf(port, '/ws')));
    const reading = new WebSocket(`ws://127.0.0.1:${patient!.port}/ws`);
    try {
      let received = 0;
      let skipped = 0;
      reading.on('message', () => {
        received += 1;
      });
      await once(reading, 'open');
      const frame = JSON.stringify({ filler: 'x'.repeat(1_000_000) });
      const begunBytes = heldBytes();
      // Enough large frames to fill the kernel's buffers of clients that do not read.
      for (let beat = 1; beat <= 120; beat += 1) {
        await redis.publish(GENERAL, writeMessage(beat, ['{}', frame]));
        // Paced by this machine: readers, too, skip a frame that arrives before the last one is sent.
        const endMs = Date.now() + 1_000;
        do await sleep(10);
        while (received + skipped < beat && Date.now() < endMs);
        skipped = beat - received;
      }
      // Each of 20 deaf clients may hold one frame that its kernel has not taken, and the feed holds the newest ones.
      // Keeping all frames for them would hold 120 megabytes.
      expect(heldBytes() - begunBytes).to.be.below(60_000_000);
      expect(skipped).to.be.below(20);
      expect(patient!.streams.clients().general).to.equal(11);
      expect(patient!.streams.frameCounts().skipped).to.be.above(10 * 40);
      await eventually(
        'the strict one has dropped them',
        async () => strict!.streams.clients().general === 0,
      );
    } finally {
      reading.terminate();
      for (const socket of lost) socket.destroy();
      await Promise.all([patient!, strict!].map((replica) => replica.close()));
      redis.disconnect();
    }
  });

  it('keep their clients while their Redis is away, and continue by themselves', () => broken);
});
