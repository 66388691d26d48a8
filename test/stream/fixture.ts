/** A real engine and ledger with two markets, and the roles around them, in separate processes or in this one. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { readConfig, requireFor } from '../../src/config.ts';
import type { MarketSpec } from '../../src/domain/market-rules.ts';
import { parseDecimal } from '../../src/domain/units.ts';
import { openFollower } from '../../src/feed/index.ts';
import { connectRedis, connectSubscriber } from '../../src/redis/connections.ts';
import { startApi } from '../../src/roles/api.ts';
import { type Backends, openBackends } from '../../src/roles/backends.ts';
import { startSettlement } from '../../src/roles/settlement.ts';
import { startSnapshot } from '../../src/roles/snapshot.ts';
import { openStreamsOn } from '../../src/roles/stream.ts';
import { openStreams, type StreamSettings, type Streams } from '../../src/stream/index.ts';
import { marketSpec } from '../support/market-spec.ts';
import { asUser, redisOf } from '../support/redis-server.ts';
import { freshLedgerDatabase, freshRedis } from '../support/servers.ts';
import { UNFLUSHED } from '../support/service.ts';

const SECRET = 'a secret of the tests, 32 bytes or more';
const SILENT = pino({ level: 'silent' });
const DEEP = 10n ** 16n;

const MAKER = `0x${'a'.repeat(40)}`;
const TAKER = `0x${'b'.repeat(40)}`;

/** A replica of the streams only, on its own server. */
export interface Replica {
  readonly port: number;
  readonly streams: Streams;
  close(): Promise<void>;
}

export interface StreamFixture {
  /** Environment of its processes. */
  readonly environment: Record<string, string>;
  readonly backends: Backends;
  market(spec: Partial<MarketSpec> & { symbol: string }): Promise<void>;
  /** Places a limit order of the maker. */
  quote(side: 'buy' | 'sell', price: string, size: string, symbol?: string): Promise<void>;
  /** Places a market order of the taker. */
  take(side: 'buy' | 'sell', size: string, symbol?: string): Promise<void>;
  /** Starts a snapshot worker. */
  worker(): Promise<void>;
  /** Starts settlement, and an API with the streams on its port, as in the all-in-one. */
  allInOne(): Promise<{ port: number }>;
  replica(settings?: Partial<StreamSettings>): Promise<Replica>;
  close(): Promise<void>;
}

/** @param queueRedisUrl the feed's Redis, by default the engine's */
export async function openStreamFixture(queueRedisUrl?: string): Promise<StreamFixture> {
  const [redisUrl, databaseUrl] = await Promise.all([freshRedis(), freshLedgerDatabase()]);
  const environment: Record<string, string> = {
    REDIS_URL: redisUrl,
    DATABASE_URL: databaseUrl,
    ...(queueRedisUrl === undefined ? {} : { QUEUE_REDIS_URL: queueRedisUrl }),
    JWT_SECRET: SECRET,
    WEB_HOSTS: 'redbook.example',
    LOG_LEVEL: 'warn',
    WS_MAX_CLIENTS_PER_ADDRESS: '10000',
    HANDSHAKES_PER_MINUTE: '1000000',
    DRAIN_MS: '0',
    ...UNFLUSHED,
  };
  const openAs = (role: string): Backends => {
    const config = readConfig({ ...environment, ...redisOf(role, environment), PORT: '0' });
    return openBackends(role, requireFor('settlement', config), SILENT);
  };
  const backends = openAs('all');
  const { engine } = backends;
  while (!engine.lifecycle.isOpen()) await new Promise((resolve) => setTimeout(resolve, 10));
  await engine.assets.set({ symbol: 'USDC', scale: 6 });
  const market: StreamFixture['market'] = async (spec) => {
    await engine.markets.create(marketSpec(spec.symbol, spec));
    const [asset] = spec.symbol.split('/');
    for (const wallet of [MAKER, TAKER]) await fund(wallet, asset!);
  };
  const fund = async (wallet: string, asset: string): Promise<void> => {
    const reference = `${wallet} ${asset}`;
    await engine.funds.move({ kind: 'credited', wallet, asset, amountAtoms: DEEP, reference });
  };
  await market({ symbol: 'ETH/USDC' });
  await market({ symbol: 'BTC/USDC', tickSize: '0.1', sizeStep: '0.00001' });
  for (const wallet of [MAKER, TAKER]) await fund(wallet, 'USDC');

  const place = async (wallet: string, order: Record<string, unknown>): Promise<void> => {
    const { outcome } = await engine.orders.place({
      wallet,
      request: {
        clientOrderId: null,
        timeInForce: 'GTC',
        postOnly: false,
        reduceOnly: false,
        leverage: null,
        ...order,
      } as Parameters<typeof engine.orders.place>[0]['request'],
    });
    if (outcome !== 'placed') throw new Error(outcome);
  };
  const closing: (() => Promise<unknown>)[] = [];

  return {
    environment,
    backends,
    market,
    quote: (side, price, size, symbol = 'ETH/USDC') => {
      const amounts = { price: parseDecimal(price), size: parseDecimal(size) };
      return place(MAKER, { market: symbol, side, type: 'limit', ...amounts });
    },
    take: (side, size, symbol = 'ETH/USDC') =>
      place(TAKER, { market: symbol, side, type: 'market', size: parseDecimal(size) }),
    async worker() {
      const own = openAs('snapshot');
      const running = await startSnapshot(own);
      closing.push(() => running.stop(0).then(() => own.close()));
    },
    async allInOne() {
      const own = openAs('all');
      const api = await startApi(own, SECRET);
      const streams = openStreamsOn(api.server, own);
      const settlement = await startSettlement(own);
      closing.push(async () => {
        await Promise.all([streams.stop(0), api.stop(0), settlement.stop(0)]);
        await own.close();
      });
      return api;
    },
    async replica(settings = {}) {
      const opened = await openReplica(
        queueRedisUrl ?? redisUrl,
        async (symbol) => (await engine.markets.bySymbol(symbol)) !== undefined,
        settings,
      );
      closing.push(opened.close);
      return opened;
    },
    async close() {
      await Promise.all(closing.map((close) => close()));
      await backends.close();
    },
  };
}

/** Opens the streams of a feed, with settings that are not environment variables. */
export async function openReplica(
  redisUrl: string,
  hasMarket: (symbol: string) => Promise<boolean>,
  settings: Partial<StreamSettings> = {},
): Promise<Replica> {
  const url = asUser('queue-stream', redisUrl);
  const redis = connectRedis(url, 'test-queue', () => undefined);
  const subscriber = connectSubscriber(url, 'test-frames', () => undefined);
  const follower = openFollower({ redis, subscriber });
  const streams = openStreams({
    follower,
    hasMarket,
    log: SILENT,
    settings: {
      wsMaxClients: 10_000,
      wsMaxClientsPerAddress: 10_000,
      handshakesPerMinute: 1_000_000,
      wsMaxLagMs: 10_000,
      trustProxyHops: 0,
      ...settings,
    },
  });
  const server = createServer((_request, response) => response.writeHead(404).end());
  server.on('upgrade', streams.upgrade);
  await new Promise<void>((resolve) => server.listen(0, resolve));
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await streams.drain(0);
    follower.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    for (const one of [redis, subscriber]) one.disconnect();
  };
  return {
    port: (server.address() as AddressInfo).port,
    streams,
    close() {
      closed ??= close();
      return closed;
    },
  };
}
