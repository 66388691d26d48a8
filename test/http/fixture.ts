/** The application on a real Redis and Postgres, with two markets and signed-in, funded wallets. */

import type { RequestListener } from 'node:http';
import { Writable } from 'node:stream';
import type { Redis } from 'ioredis';
import { type Logger, pino } from 'pino';
import request, { type Response } from 'supertest';
import { openAuth } from '../../src/auth/index.ts';
import { openFaucet } from '../../src/demo/faucet.ts';
import type { Market } from '../../src/domain/market.ts';
import type { MarketSpec } from '../../src/domain/market-rules.ts';
import { parseDecimal, toScaled } from '../../src/domain/units.ts';
import { type Engine, openEngine } from '../../src/engine/index.ts';
import { createApp } from '../../src/http/app.ts';
import { ChangeWaits } from '../../src/http/change-waits.ts';
import type { HttpSettings, Services } from '../../src/http/services.ts';
import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import { openMarketData } from '../../src/market-data/index.ts';
import { openMetrics } from '../../src/process/metrics.ts';
import { ethersSigner, type Signer } from '../auth/signers.ts';
import { DOCUMENT_SETTINGS, documentedBy } from '../support/contract.ts';
import { openExchange } from '../support/exchange.ts';
import { LIMITS } from '../support/limits.ts';
import { marketSpec } from '../support/market-spec.ts';
import { openRedis } from '../support/redis-server.ts';
import type { SettleOptions } from '../support/settle-all.ts';

/** Signs the sessions of every replica. */
export const SECRET = 'a secret of the tests, 32 bytes or more';

const MARKET = marketSpec('ETH/USDC', { minOrderSize: '0.002', maxOrderSize: '1000', networkId: '8453' });

/** A replica: an application with its own connections. */
export interface Replica {
  readonly app: RequestListener;
  readonly services: Services;
  readonly engineRedis: Redis;
  /** Log lines so far, as text. */
  readonly log: string[];
  close(): Promise<void>;
}

export interface Trader {
  readonly signer: Signer;
  /** Lower case. */
  readonly wallet: string;
  readonly token: string;
  get(path: string): Promise<Response>;
  delete(path: string): Promise<Response>;
  /** Posts an object as JSON, or a text unchanged. */
  post(path: string, body: object | string): Promise<Response>;
  /** Places an order: by default a limit buy of 1 ETH at 2000, changed by `fields`. */
  order(fields?: object): Promise<Response>;
}

export interface Fixture extends Replica {
  readonly redis: Redis;
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly databaseUrl: string;
  replica(settings?: Partial<HttpSettings>, services?: Partial<Services>): Promise<Replica>;
  market(spec?: Partial<MarketSpec>): Promise<Market>;
  /** Creates a wallet with a session at the first replica and credits amounts in whole units to it. */
  trader(funds?: Readonly<Record<string, string>>, app?: RequestListener): Promise<Trader>;
  credit(wallet: string, funds: Readonly<Record<string, string>>): Promise<void>;
  /** Settles all events into Postgres and reports the cursor to Redis, unless told otherwise. */
  settle(options?: SettleOptions): Promise<void>;
  /** Resets the request limits of all clients. */
  forgetRequests(): Promise<void>;
}

export async function openFixture(settings: Partial<HttpSettings> = {}): Promise<Fixture> {
  const exchange = await openExchange();
  const { redisUrl, databaseUrl, engine } = exchange;
  const redis = openRedis(redisUrl);
  const replicas: Replica[] = [];
  const replica: Fixture['replica'] = async (more = {}, instead = {}) => {
    const opened = await openReplica(
      redisUrl,
      databaseUrl,
      { ...DOCUMENT_SETTINGS, ...settings, ...more },
      { faucet: { credit: (wallet, asset) => faucet.credit(wallet, asset) }, ...instead },
    );
    replicas.push(opened);
    return opened;
  };
  const first = await replica();
  const { ledger } = first.services;
  // The Redis user of an api process may not credit anybody.
  const faucet = openFaucet({ engine, ledger });
  await engine.assets.set({ symbol: 'USDC', scale: 6 });
  const market: Fixture['market'] = (spec = {}) => engine.markets.create({ ...MARKET, ...spec });
  await market();
  await market({ symbol: 'BTC/USDC', minOrderSize: null, maxOrderSize: null });

  let credits = 0;
  const credit: Fixture['credit'] = async (wallet, funds) => {
    const assets = await engine.assets.all();
    for (const [asset, amount] of Object.entries(funds)) {
      const { scale } = assets.find(({ symbol }) => symbol === asset)!;
      const amountAtoms = toScaled(parseDecimal(amount)!, scale)!;
      credits += 1;
      await engine.funds.move({ kind: 'credited', wallet, asset, amountAtoms, reference: `test ${credits}` });
    }
  };
  return {
    ...first,
    redis,
    engine,
    ledger,
    databaseUrl,
    replica,
    market,
    credit,
    async trader(funds = {}, app = first.app) {
      const trader = await signIn(app, first);
      await credit(trader.wallet, funds);
      return trader;
    },
    settle: (options) => exchange.settle(options),
    async forgetRequests() {
      const logs = await redis.keys('{redbook}:limit:*');
      if (logs.length > 0) await redis.del(logs);
    },
    async close() {
      await Promise.all(replicas.map((opened) => opened.close()));
      await exchange.close();
      redis.disconnect();
    },
  };
}

async function openReplica(
  redisUrl: string,
  databaseUrl: string,
  settings: HttpSettings,
  instead: Partial<Services>,
): Promise<Replica> {
  const engineRedis = openRedis(redisUrl, 'engine-api');
  const queueRedis = openRedis(redisUrl, 'queue-api');
  const metrics = openMetrics();
  const engine = openEngine({ redis: engineRedis, ...LIMITS, observe: metrics.observeScript });
  const ledger = openLedger({ databaseUrl, poolSize: 4 });
  const cursor = await ledger.settlement.cursor();
  await engine.lifecycle.open(cursor);
  const auth = openAuth({
    redis: queueRedis,
    serviceName: 'Redbook',
    webHosts: settings.webHosts,
    jwtSecret: SECRET,
  });
  const { logger, log } = recordingLogger();
  const ready = async () => ({ ready: true, checks: { redis: 'ok' } });
  const changeWaits = new ChangeWaits({ engine, connect: () => openRedis(redisUrl, 'engine-api') });
  const services: Services = {
    auth,
    engine,
    ledger,
    settings,
    logger,
    metrics,
    ready,
    wakeSettlement: () => undefined,
    marketData: openMarketData({ engine, ledger }),
    changeWaits,
    queueRedis,
    ...instead,
  };
  return {
    app: documentedBy(createApp(services), settings),
    services,
    engineRedis,
    log,
    async close() {
      changeWaits.stop();
      await ledger.close();
      for (const connection of [engineRedis, queueRedis]) connection.disconnect();
    },
  };
}

function recordingLogger(): { logger: Logger; log: string[] } {
  const log: string[] = [];
  const stream = new Writable({
    write(line, _encoding, done) {
      log.push(String(line));
      done();
    },
  });
  return { logger: pino({ level: 'debug' }, stream), log };
}

/** Signs in by typed data through the routes. */
async function signIn(app: RequestListener, { services }: Replica): Promise<Trader> {
  const signer = ethersSigner();
  const { address } = signer;
  const { typedData } = await services.auth.challenge(address);
  const { token } = await services.auth.verify(address, await signer.signTyped(typedData));
  return traderOf(app, signer, token);
}

export function traderOf(app: RequestListener, signer: Signer, token: string): Trader {
  const authorization = `Bearer ${token}`;
  const post: Trader['post'] = async (path, body) =>
    request(app)
      .post(path)
      .set('Authorization', authorization)
      .set('Content-Type', 'application/json')
      .send(typeof body === 'string' ? body : JSON.stringify(body));
  return {
    signer,
    wallet: signer.address.toLowerCase(),
    token,
    get: async (path) => request(app).get(path).set('Authorization', authorization),
    delete: async (path) => request(app).delete(path).set('Authorization', authorization),
    post,
    order: (fields = {}) =>
      post('/v1/orders', {
        market: 'ETH/USDC',
        side: 'buy',
        type: 'limit',
        price: 2000,
        size: 1,
        ...fields,
      }),
  };
}
