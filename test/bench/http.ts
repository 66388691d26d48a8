/**
 * `POST /v1/orders` through one api process against Express' hello world, in turn, over the same 64 connections.
 * Half of the orders rest and half are filled. Redis and Postgres are real and durable; settlement does not run
 * meanwhile, as it would on another machine.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { Redis } from 'ioredis';
import { openSessions } from '../../src/auth/session.ts';
import { startEmbedded } from '../../src/embedded/index.ts';
import { freePort } from '../../src/embedded/ports.ts';
import { openEngine } from '../../src/engine/index.ts';
import { median, type Table, tableOf } from './figures.ts';

const ROUNDS = 5;
const SECONDS = 4;
const CONNECTIONS = 64;
export const WALLETS = 256;
export const SECRET = 'a secret of the bench, and of nothing else';
const DEEP = 10n ** 15n;

export const walletOf = (index: number): string => `0x${index.toString(16).padStart(40, 'c')}`;

/** `redbook` as the image starts it. */
export const REDBOOK = ['--max-semi-space-size=32', 'src/main.ts'];

/** Starts a process of ours and waits until it answers. */
export async function start(
  args: readonly string[],
  url: string,
  env: Record<string, string> = {},
): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--import=tsx', ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  });
  for (let tries = 0; tries < 200; tries += 1) {
    if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended`);
    const answered = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (answered) return child;
    await sleep(100);
  }
  throw new Error(`${args.join(' ')} does not answer`);
}

/** A market, and wallets with more than they can spend. */
export async function fund(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl);
  const engine = openEngine({ redis, maxMakers: 1_000, maxLiveOrders: 1_000_000 });
  await engine.open({ epoch: 0, sequence: 0 });
  await engine.setAsset({ symbol: 'USDC', scale: 6 });
  const rules = { tickSize: '0.01', sizeStep: '0.0001', minOrderSize: null, maxOrderSize: null };
  await engine.createMarket({
    ...{ ...rules, symbol: 'ETH/USDC', status: 'active', sellEnabled: true, visible: true, feeBps: 10 },
    ...{ selfTrade: 'expire_taker', referencePrice: null, networkId: '1' },
  });
  for (let index = 0; index < WALLETS; index += 1) {
    for (const asset of ['ETH', 'USDC']) {
      const [wallet, reference] = [walletOf(index), `${index} ${asset}`];
      await engine.moveFunds({ kind: 'credited', wallet, asset, amountAtoms: DEEP, reference });
    }
  }
  redis.disconnect();
}

const sessions = openSessions({
  issuer: 'Redbook',
  secret: SECRET,
  previousSecret: undefined,
  nowMs: Date.now,
});

export const headersOf = (wallet: number): Record<string, string> => ({
  authorization: `Bearer ${sessions.issue(walletOf(wallet))}`,
  'content-type': 'application/json',
});

/**
 * Wallets take turns: one buys, the next sells at the same price, so that every other order is filled.
 * @param restingAt where all buy instead, and nothing is filled
 */
export function orders(restingAt?: number): autocannon.Request[] {
  return Array.from({ length: WALLETS }, (_none, index) => ({
    method: 'POST',
    path: '/v1/orders',
    headers: headersOf(index),
    body: JSON.stringify({
      market: 'ETH/USDC',
      side: restingAt !== undefined || index % 2 === 0 ? 'buy' : 'sell',
      type: 'limit',
      price: restingAt ?? 2000,
      size: 0.01,
      clientOrderId: 'bench-[<id>]',
    }),
  }));
}

/** Requests per second; every answer must be a 2xx. */
async function load(url: string, requests: autocannon.Request[]): Promise<number> {
  const result = await autocannon({
    url,
    connections: CONNECTIONS,
    duration: SECONDS,
    idReplacement: true,
    requests,
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} refused, ${result.errors} failed`);
  return result.requests.average;
}

export async function benchHttp(): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-bench-'));
  const servers = await startEmbedded({ dataDir: join(folder, 'data') });
  const children: ChildProcess[] = [];
  try {
    await fund(servers.redisUrl);
    const [apiPort, helloPort] = [await freePort(), await freePort()];
    const hello = `http://127.0.0.1:${helloPort}`;
    const api = `http://127.0.0.1:${apiPort}`;
    children.push(await start(['test/bench/hello.ts', String(helloPort)], hello));
    const { redisUrl: REDIS_URL, databaseUrl: DATABASE_URL } = servers;
    const env = {
      REDIS_URL,
      DATABASE_URL,
      JWT_SECRET: SECRET,
      WEB_HOSTS: 'localhost',
      PORT: String(apiPort),
      LOG_LEVEL: 'fatal',
    };
    children.push(await start([...REDBOOK, 'api'], `${api}/readyz`, env));
    const rounds: { orders: number; hello: number }[] = [];
    const requests = orders();
    await load(api, requests); // both warm up
    await load(hello, [{ path: '/' }]);
    for (let round = 0; round < ROUNDS; round += 1) {
      rounds.push({ orders: await load(api, requests), hello: await load(hello, [{ path: '/' }]) });
    }
    return tableOf(
      'http',
      `http: medians of ${ROUNDS} rounds of ${SECONDS} s, ${CONNECTIONS} connections, ${WALLETS} wallets`,
      [
        { name: 'Express hello world', figure: median(rounds.map((one) => one.hello)), unit: 'requests/s' },
        { name: 'POST /v1/orders', figure: median(rounds.map((one) => one.orders)), unit: 'requests/s' },
        {
          name: 'POST /v1/orders against hello world',
          figure: median(rounds.map((one) => one.orders / one.hello)),
          unit: 'x',
          target: { relation: '>=', bound: 0.6 },
        },
      ],
    );
  } finally {
    for (const child of children) {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGINT');
      await gone;
    }
    await servers.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
