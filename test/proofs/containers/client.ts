/**
 * A client of the cluster. It is a separate program, because it may have to run in the cluster's network.
 *
 *   client.ts load SECONDS REQUESTS   trades as the wallet WALLET_KEY until stdin ends or a limit is reached
 *   client.ts ask PATH…               sends one request for each path
 *
 * Prints one JSON document. `load` prints `begun` to stderr once it is signed in.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Wallet } from 'ethers';

const BASE = 'http://127.0.0.1:8080';
const WORKERS = 4;
const PAUSE_MS = 40;
const PATIENCE_MS = 20_000;

export interface LoadResult {
  readonly sent: number;
  readonly failed: number;
  /** Number of orders that were answered. */
  readonly placed: number;
  /** Number of failures by what the client observed. */
  readonly failures: Readonly<Record<string, number>>;
  /** Longest time without a successful request. */
  readonly longestGapMs: number;
  /** Longest time without an answered order. */
  readonly longestOrderGapMs: number;
}

export interface Seen {
  readonly request: string;
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

type Send = (method: string, path: string, body?: object) => Promise<Record<string, string>>;

const sender =
  (token?: string): Send =>
  async (method, path, body) => {
    const response = await fetch(BASE + path, {
      method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} ${text.slice(0, 80)}`);
    return JSON.parse(text);
  };

async function signIn(): Promise<string> {
  const wallet = new Wallet(process.env.WALLET_KEY!);
  const { address } = wallet;
  const send = sender();
  const challenge = (await send('POST', '/v1/auth/challenge', { address })) as never as {
    typedData: { domain: object; types: Record<string, never>; message: object };
  };
  const { domain, types, message } = challenge.typedData;
  const signature = await wallet.signTypedData(domain, types, message);
  return (await send('POST', '/v1/auth/verify', { address, signature })).token!;
}

async function load(seconds: number, requests: number): Promise<LoadResult> {
  const send = sender(await signIn());
  process.stderr.write('begun\n');
  const failures: Record<string, number> = {};
  const endMs = performance.now() + seconds * 1_000;
  const begunMs = performance.now();
  let sent = 0;
  let failed = 0;
  let placed = 0;
  let told = false;
  let longestGapMs = 0;
  let lastMs = begunMs;
  let longestOrderGapMs = 0;
  let lastOrderMs = begunMs;
  process.stdin.resume().once('end', () => {
    told = true;
  });
  const attempt: Send = async (...request) => {
    sent += 1;
    try {
      const reply = await send(...request);
      longestGapMs = Math.max(longestGapMs, performance.now() - lastMs);
      lastMs = performance.now();
      return reply;
    } catch (error) {
      const { message, cause } = error as Error & { cause?: { code?: string } };
      const seen = `${request[0]} ${request[1].replace(/[0-9a-f]{20,}$/, 'ID')}: ${cause?.code ?? message}`;
      failures[seen] = (failures[seen] ?? 0) + 1;
      failed += 1;
      return {};
    } finally {
      await sleep(PAUSE_MS);
    }
  };
  const work = async (): Promise<void> => {
    while (!told && sent < requests && performance.now() < endMs) {
      await attempt('GET', '/v1/markets');
      const order = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 1, size: 1 };
      const { id } = await attempt('POST', '/v1/orders', order);
      if (id === undefined) continue;
      placed += 1;
      longestOrderGapMs = Math.max(longestOrderGapMs, performance.now() - lastOrderMs);
      lastOrderMs = performance.now();
      await attempt('DELETE', `/v1/orders/${id}`);
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  longestGapMs = Math.max(longestGapMs, performance.now() - lastMs);
  longestOrderGapMs = Math.max(longestOrderGapMs, performance.now() - lastOrderMs);
  return {
    sent,
    failed,
    placed,
    failures,
    longestGapMs: Math.round(longestGapMs),
    longestOrderGapMs: Math.round(longestOrderGapMs),
  };
}

async function ask(path: string): Promise<Seen> {
  try {
    const response = await fetch(BASE + path, { signal: AbortSignal.timeout(PATIENCE_MS) });
    const contentType = response.headers.get('content-type') ?? '';
    return { request: `GET ${path}`, status: response.status, contentType, body: await response.text() };
  } catch (error) {
    return {
      request: `GET ${path}`,
      status: 0,
      contentType: '',
      body: String((error as Error).cause ?? error),
    };
  }
}

// A pending request timeout alone does not keep the process running.
setInterval(() => undefined, 1_000);
const [mode, ...args] = process.argv.slice(2);
const MODES: Record<string, () => Promise<unknown>> = {
  load: () => load(Number(args[0]), Number(args[1])),
  ask: () => Promise.all(args.map(ask)),
};
console.log(JSON.stringify(await MODES[mode!]!()));
process.exit(0);
