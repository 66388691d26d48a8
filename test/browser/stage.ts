/**
 * The service that the browser tests share: a process of each role on a real Redis and Postgres, behind one address. An
 * engine in this process creates markets and credits funds.
 */

import type { Redis } from 'ioredis';
import { parse } from 'lossless-json';
import { openSessions } from '../../src/auth/session.ts';
import type { MarketSpec } from '../../src/domain/market-rules.ts';
import { parseDecimal, toScaled } from '../../src/domain/units.ts';
import { type Engine, openEngine } from '../../src/engine/index.ts';
import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import { eventually } from '../support/eventually.ts';
import { LIMITS } from '../support/limits.ts';
import { freePort } from '../support/ports.ts';
import { openRedis } from '../support/redis-server.ts';
import { freshLedgerDatabase, freshRedis } from '../support/servers.ts';
import { type Service, startService } from '../support/service.ts';
import { type Gateway, openGateway, type Ports } from './gateway.ts';

const SECRET = 'a secret of the browser tests, 32 bytes or more';
const ROLES = ['api', 'stream', 'settlement', 'snapshot'] as const;
type Role = (typeof ROLES)[number];

/** A JSON document whose numbers are kept as text. */
interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the shape of the reply that it reads
  readonly body: any;
}

/** Calls REST as a wallet, or without a session. Numbers in the replies are text. */
export type Rest = (method: string, path: string, body?: object) => Promise<Reply>;

export interface Stage {
  /** Origin of the page. */
  readonly url: string;
  readonly gateway: Gateway;
  /** Ports behind the gateway: a scenario that loses requests beside other ones opens a gateway of its own. */
  readonly ports: Ports;
  readonly engine: Engine;
  readonly ledger: Ledger;
  process(role: Role): Service;
  /** Restarts a killed process on its port. */
  restart(role: Role): Promise<void>;
  /** Publishes a market and sets the scales of its assets. */
  market(
    spec: Partial<MarketSpec> & { readonly symbol: string },
    scales?: Readonly<Record<string, number>>,
  ): Promise<void>;
  /** Credits amounts in whole units. */
  credit(wallet: string, funds: Readonly<Record<string, string>>): Promise<void>;
  /** Returns calls with a session of this wallet, without a sign-in. */
  as(wallet?: string): Rest;
  tokenOf(wallet: string): string;
  /** Waits until Postgres has every event. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

const RULES: Omit<MarketSpec, 'symbol'> = {
  status: 'active',
  sellEnabled: true,
  visible: true,
  feeBps: 10,
  selfTrade: 'expire_taker',
  tickSize: '0.01',
  sizeStep: '0.0001',
  minOrderSize: null,
  maxOrderSize: null,
  referencePrice: null,
  networkId: '1',
};

const restOf =
  (url: string, headers: Readonly<Record<string, string>>): Rest =>
  async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: parse(await response.text(), undefined, (literal) => literal) };
  };

async function openStage(): Promise<Stage> {
  const [redisUrl, databaseUrl] = await Promise.all([freshRedis(), freshLedgerDatabase()]);
  const ledger = openLedger({ databaseUrl, poolSize: 2 });
  const ports = Object.fromEntries(
    await Promise.all(ROLES.map(async (role) => [role, await freePort()] as const)),
  ) as Record<Role, number>;
  const gateway = await openGateway(ports);
  const start = (role: Role): Promise<Service> =>
    startService(role, {
      REDIS_URL: redisUrl,
      DATABASE_URL: databaseUrl,
      JWT_SECRET: SECRET,
      PORT: String(ports[role]),
      WEB_URL: gateway.url,
      WEB_HOSTS: new URL(gateway.url).host,
      TRUST_PROXY_HOPS: '1',
      LOG_LEVEL: 'error',
      DRAIN_MS: '0',
    });
  const services = Object.fromEntries(
    await Promise.all(ROLES.map(async (role) => [role, await start(role)] as const)),
  ) as Record<Role, Service>;
  const redis: Redis = openRedis(redisUrl, 'engine-all');
  // When the run ends, its Redis stops before this stage is closed.
  redis.on('error', () => undefined);
  const engine = openEngine({ redis, ...LIMITS });
  await engine.lifecycle.open(await ledger.settlement.cursor());
  const sessions = openSessions({
    issuer: 'Redbook',
    secret: SECRET,
    previousSecret: undefined,
    nowMs: Date.now,
  });
  const tokenOf = (wallet: string): string => sessions.issue(wallet.toLowerCase());
  let credits = 0;
  return {
    url: gateway.url,
    gateway,
    ports,
    engine,
    ledger,
    tokenOf,
    process: (role) => services[role],
    async restart(role) {
      services[role] = await start(role);
    },
    async market(spec, scales = {}) {
      const known = (await engine.assets.all()).map(({ symbol }) => symbol);
      for (const [symbol, scale] of Object.entries(scales))
        if (!known.includes(symbol)) await engine.assets.set({ symbol, scale });
      await engine.markets.create({ ...RULES, ...spec });
    },
    async credit(wallet, funds) {
      const assets = await engine.assets.all();
      for (const [asset, amount] of Object.entries(funds)) {
        const { scale } = assets.find(({ symbol }) => symbol === asset)!;
        const amountAtoms = toScaled(parseDecimal(amount)!, scale)!;
        credits += 1;
        const reference = `browser ${credits}`;
        await engine.funds.move({
          kind: 'credited',
          wallet: wallet.toLowerCase(),
          asset,
          amountAtoms,
          reference,
        });
      }
    },
    as: (wallet) =>
      restOf(gateway.url, wallet === undefined ? {} : { authorization: `Bearer ${tokenOf(wallet)}` }),
    async settled() {
      const { sequence } = await engine.reads.state();
      await eventually('settled', async () => (await ledger.settlement.cursor()).sequence >= sequence);
    },
    async close() {
      gateway.close();
      for (const service of Object.values(services)) await service.end('SIGKILL');
      redis.disconnect();
      await ledger.close();
    },
  };
}

let shared: Promise<Stage> | undefined;

/** @returns the service that all files of this process share; each file creates its own markets and wallets */
export function sharedStage(): Promise<Stage> {
  shared ??= openStage();
  return shared;
}

after(async () => {
  await (await shared?.catch(() => undefined))?.close();
  shared = undefined;
});
