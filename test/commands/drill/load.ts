/**
 * Wallets that trade like clients. Each has one keep-alive connection from its own address, because logins are limited
 * by address. Requests are never retried; failures are recorded.
 */

import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoginTypedData } from '../../../src/auth/index.ts';
import { ethersSigner, type Signer } from '../../auth/signers.ts';
import { Broken, exchange } from '../../support/http-exchange.ts';
import type { Random } from '../../support/seed.ts';

export const MARKETS = ['ETH/USDC', 'BTC/USDC'] as const;

/** Longer than every timeout of the balancer and the replicas, so that their answer decides. */
const PATIENCE_MS = 60_000;
const AGAIN_WITHIN_MS = 30_000;
/** A delayed loop makes up for at most this much time. */
const MAX_ARREARS_MS = 1_000;
const MID = 2_000;

export interface Failure {
  readonly kind: Kind;
  readonly wallet: string;
  /** Unix milliseconds. */
  readonly sentAtMs: number;
  readonly failedAtMs: number;
  /** `address:port` of the connection. */
  readonly connection: string;
  readonly what: string;
  /** The order, if its outcome is unknown. */
  readonly order?: Order;
}

interface Order {
  readonly clientOrderId: string;
  readonly [field: string]: unknown;
}

/** An order that was answered. */
export interface Answered {
  readonly wallet: string;
  readonly clientOrderId: string;
  readonly id: string;
}

export interface Load {
  readonly wallets: readonly string[];
  /** Duration in milliseconds of each request, by kind. */
  readonly tookMs: ReadonlyMap<Kind, readonly number[]>;
  readonly failures: readonly Failure[];
  readonly answered: readonly Answered[];
  sent(): number;
  /** Signs in every wallet. */
  signIn(): Promise<void>;
  /** Sends `perSecond` requests a second until `stop` is called. */
  begin(perSecond: number): void;
  /** Makes the next request of each wallet a placement, sent now. */
  burst(): void;
  /**
   * Sends an order again under its client order id until it is answered.
   * @returns undefined if it is not answered for long
   */
  again(failure: Failure): Promise<'found' | 'placed' | undefined>;
  /** Stops once every request is answered. */
  stop(): Promise<void>;
}

/** Percentage of each kind of request. */
const MIX = {
  'order that rests': 22,
  'order that crosses': 12,
  'order, IOC': 8,
  'order, post-only': 8,
  cancel: 11,
  'cancel all': 1,
  orders: 8,
  trades: 4,
  portfolio: 7,
  'market data': 17,
  'sign in': 2,
} as const;

type Kind = keyof typeof MIX;

const DECK = Object.entries(MIX).flatMap(([kind, share]) => Array<Kind>(share).fill(kind as Kind));

const MARKET_DATA = [
  '/v1/markets',
  '/v1/market-data/pairs',
  '/v1/market-data/summary',
  '/v1/market-data/tickers',
  '/v1/market-data/orderbook?ticker_id=ETH_USDC&depth=50',
  '/v1/market-data/trades/BTC_USDC?limit=50',
];

/** Refusals that are not failures: the order was filled in the meantime. */
const EXPECTED_REFUSALS = new Set(['ORDER_NOT_FOUND']);

interface Wallet {
  readonly signer: Signer;
  readonly address: string;
  readonly agent: Agent;
  token: string;
  /** Ids of orders that were resting after their placement. */
  readonly resting: string[];
  orders: number;
  isBursting: boolean;
}

export function openLoad(port: number, wallets: number, random: Random): Load {
  const crowd = Array.from({ length: wallets }, (_none, index): Wallet => {
    const signer = ethersSigner();
    const localAddress = `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`;
    const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress });
    const address = signer.address.toLowerCase();
    return { signer, address, agent, token: '', resting: [], orders: 0, isBursting: false };
  });
  const tookMs = new Map(Object.keys(MIX).map((kind) => [kind as Kind, [] as number[]]));
  const failures: Failure[] = [];
  const answered: Answered[] = [];
  let sent = 0;
  let stopping = false;
  let working: Promise<unknown> = Promise.resolve();

  /** Sends one request, counts it and records its duration. Records a failure and returns undefined. */
  const ask = async (wallet: Wallet, kind: Kind, method: string, path: string, body?: object) => {
    const [sentAtMs, begunMs] = [Date.now(), performance.now()];
    let connection = '';
    const fail = (what: string): undefined => {
      const order = method === 'POST' && path === '/v1/orders' ? { order: body as Order } : {};
      failures.push({
        ...{ kind, wallet: wallet.address, sentAtMs, failedAtMs: Date.now(), connection, what },
        ...order,
      });
      return undefined;
    };
    sent += 1;
    try {
      const onSocket = (socket: Socket): void => {
        connection = `${socket.localAddress}:${socket.localPort}`;
      };
      const patienceMs = PATIENCE_MS;
      const reply = await exchange(port, wallet, { method, path, body, patienceMs, onSocket });
      tookMs.get(kind)!.push(performance.now() - begunMs);
      const isExpected = reply.status < 400 || EXPECTED_REFUSALS.has(String(reply.body.code));
      return isExpected ? reply : fail(`${reply.status} ${reply.body.code ?? 'of the balancer'}`);
    } catch (error) {
      if (error instanceof Broken) return fail(error.message);
      throw error;
    }
  };

  const signIn = async (wallet: Wallet): Promise<void> => {
    const { address } = wallet.signer;
    const challenge = await ask(wallet, 'sign in', 'POST', '/v1/auth/challenge', { address });
    if (challenge === undefined) return;
    const signature = await wallet.signer.signTyped(challenge.body.typedData as LoginTypedData);
    const verified = await ask(wallet, 'sign in', 'POST', '/v1/auth/verify', { address, signature });
    if (verified !== undefined) wallet.token = String(verified.body.token);
  };

  const place = async (wallet: Wallet, kind: Kind, terms: object): Promise<void> => {
    wallet.orders += 1;
    const clientOrderId = `${wallet.orders} of ${wallet.address.slice(0, 8)}`;
    const market = random.pick(MARKETS);
    const order: Order = { market, type: 'limit', size: 0.01, clientOrderId, ...terms };
    const reply = await ask(wallet, kind, 'POST', '/v1/orders', order);
    if (reply === undefined) return;
    answered.push({ wallet: wallet.address, clientOrderId, id: String(reply.body.id) });
    if (reply.body.status === 'resting') wallet.resting.push(String(reply.body.id));
  };

  const act = async (wallet: Wallet, kind: Kind): Promise<unknown> => {
    const side = random.pick(['buy', 'sell']);
    const away = (1 + random.below(40)) / 4;
    const passive = side === 'buy' ? MID - away : MID + away;
    const aggressive = side === 'buy' ? MID + 20 : MID - 20;
    switch (kind) {
      case 'order that rests':
        return place(wallet, kind, { side, price: passive });
      case 'order that crosses':
        return place(wallet, kind, { side, price: aggressive, size: 0.02 });
      case 'order, IOC':
        return place(wallet, kind, { side, price: aggressive, timeInForce: 'IOC' });
      case 'order, post-only':
        return place(wallet, kind, {
          side,
          price: random.chance(0.2) ? aggressive : passive,
          postOnly: true,
        });
      case 'cancel': {
        const id = wallet.resting.shift();
        return id === undefined
          ? act(wallet, 'order that rests')
          : ask(wallet, kind, 'DELETE', `/v1/orders/${id}`);
      }
      case 'cancel all':
        wallet.resting.length = 0;
        return ask(wallet, kind, 'DELETE', '/v1/orders');
      case 'orders':
      case 'trades':
        return ask(wallet, kind, 'GET', `/v1/${kind}`);
      case 'portfolio':
        return ask(wallet, kind, 'GET', `/v1/portfolio/${wallet.address}`);
      case 'market data':
        return ask(wallet, kind, 'GET', random.pick(MARKET_DATA));
      case 'sign in':
        return signIn(wallet);
    }
  };

  /** Sends the next request once it is due and the last one is answered. */
  const work = async (wallet: Wallet, everyMs: number): Promise<void> => {
    let dueMs = performance.now() + random.below(everyMs);
    while (!stopping) {
      while (!stopping && !wallet.isBursting && performance.now() < dueMs) {
        await sleep(Math.min(20, dueMs - performance.now()));
      }
      if (stopping) return;
      await act(wallet, wallet.isBursting ? 'order that rests' : random.pick(DECK));
      wallet.isBursting = false;
      dueMs = Math.max(dueMs + everyMs, performance.now() - MAX_ARREARS_MS);
    }
  };

  return {
    wallets: crowd.map(({ address }) => address),
    ...{ tookMs, failures, answered },
    sent: () => sent,
    async signIn() {
      await Promise.all(crowd.map(signIn));
    },
    begin(perSecond) {
      working = Promise.all(crowd.map((wallet) => work(wallet, (1_000 * wallets) / perSecond)));
    },
    burst() {
      for (const wallet of crowd) wallet.isBursting = true;
    },
    async again({ wallet: address, order }) {
      const wallet = crowd.find((one) => one.address === address)!;
      for (const endMs = Date.now() + AGAIN_WITHIN_MS; Date.now() < endMs; await sleep(100)) {
        const sentAtMs = Date.now();
        const asked = { method: 'POST', path: '/v1/orders', body: order, patienceMs: PATIENCE_MS };
        const reply = await exchange(port, wallet, asked).catch(() => undefined);
        if (reply?.status === 200) {
          const { id, createdAt } = reply.body as { id: string; createdAt: string };
          answered.push({ wallet: address, clientOrderId: order!.clientOrderId, id });
          return Date.parse(createdAt) < sentAtMs ? 'found' : 'placed';
        }
      }
      return undefined;
    },
    async stop() {
      stopping = true;
      await working;
      for (const { agent } of crowd) agent.destroy();
    },
  };
}
