/** A wallet made on the spot, and its conversation with the service: what any client of it would do. */

import { Wallet } from 'ethers';

export interface OrderBody {
  readonly side: 'buy' | 'sell';
  readonly type: 'limit' | 'market';
  readonly price?: string;
  readonly size?: string;
  readonly quoteAmount?: string;
  readonly timeInForce?: 'GTC' | 'IOC' | 'FOK';
  readonly postOnly?: boolean;
  readonly clientOrderId?: string;
}

export interface FillReply {
  readonly price: number;
  readonly size: number;
  readonly feeAmount: number;
  readonly feeAsset: string;
}

export interface OrderReply {
  readonly id: string;
  readonly market: string;
  readonly side: 'buy' | 'sell';
  readonly type: string;
  readonly timeInForce: string;
  readonly postOnly: boolean;
  readonly price: number | null;
  readonly size: number;
  readonly filledSize: number;
  readonly remainingSize: number;
  readonly status: string;
  readonly clientOrderId: string | null;
  readonly fills: readonly FillReply[];
  /** On the placing reply. */
  readonly accepted?: boolean;
  readonly rejectReason?: string;
}

export interface TradeReply {
  readonly id: string;
  readonly side: 'buy' | 'sell';
  readonly role: 'maker' | 'taker';
  readonly price: number;
  readonly size: number;
  readonly notional: number;
  readonly feeAmount: number;
  readonly counterparty: string;
}

export interface BalanceReply {
  readonly asset: string;
  readonly total: number;
  readonly available: number;
  readonly reserved: number;
}

/** The service refused, or does not answer: the story cannot go on. */
export class DemoStopped extends Error {
  override readonly name = 'DemoStopped';
  /** Of the error table, where the service refused. */
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

export interface Trader {
  readonly name: string;
  /** Lower case, as the service writes it. */
  readonly wallet: string;
  /** By an EIP-712 signature: the flow of ordinary wallets. */
  signInByTypedData(): Promise<void>;
  /** By a SIWE message (EIP-4361) that names a web host of the service. */
  signInByMessage(webHost: string): Promise<void>;
  isSignedIn(): boolean;
  acceptTerms(version: string): Promise<void>;
  place(market: string, order: OrderBody): Promise<OrderReply>;
  cancel(orderId: string): Promise<{ status: string }>;
  cancelAll(): Promise<{ count: number }>;
  /** Cancels all orders of the wallet unless it asks again within that time. */
  cancelAfter(timeoutMs: number): Promise<void>;
  orders(): Promise<readonly OrderReply[]>;
  /** The newest 100 that can be filled. */
  liveOrders(): Promise<readonly OrderReply[]>;
  trades(): Promise<readonly TradeReply[]>;
  balances(): Promise<readonly BalanceReply[]>;
}

export function makeTrader(name: string, baseUrl: string): Trader {
  const signer = Wallet.createRandom();
  const { address } = signer;
  const wallet = address.toLowerCase();
  let token: string | undefined;
  const ask = (method: string, path: string, body?: object): Promise<string> =>
    request(`${baseUrl}${path}`, method, token, body);
  const askJson = async <Reply>(method: string, path: string, body?: object): Promise<Reply> =>
    JSON.parse(await ask(method, path, body));

  return {
    name,
    wallet,
    async signInByTypedData() {
      const { typedData } = await askJson<{ typedData: TypedData }>('POST', '/v1/auth/challenge', {
        address,
      });
      const signature = await signer.signTypedData(typedData.domain, typedData.types, typedData.message);
      token = (await askJson<{ token: string }>('POST', '/v1/auth/verify', { address, signature })).token;
    },
    async signInByMessage(webHost) {
      const nonce = await ask('GET', `/api/auth/nonce?address=${address}`);
      const message = siweMessage(webHost, address, nonce);
      const signature = await signer.signMessage(message);
      const verified = { address, message, signature };
      token = (await askJson<{ sessionToken: string }>('POST', '/api/auth/verify', verified)).sessionToken;
    },
    isSignedIn: () => token !== undefined,
    async acceptTerms(version) {
      await ask('POST', '/v1/account/terms', { version });
    },
    place: (market, order) => askJson('POST', '/v1/orders', { market, ...order }),
    cancel: (orderId) => askJson('DELETE', `/v1/orders/${orderId}`),
    cancelAll: () => askJson('DELETE', '/v1/orders'),
    async cancelAfter(timeoutMs) {
      await ask('POST', '/v1/orders/cancel-after', { timeoutMs });
    },
    liveOrders: async () => (await askJson<{ orders: OrderReply[] }>('GET', '/v1/orders?status=live')).orders,
    orders: async () => (await askJson<{ orders: OrderReply[] }>('GET', '/v1/orders')).orders,
    trades: async () => (await askJson<{ trades: TradeReply[] }>('GET', '/v1/trades')).trades,
    balances: async () =>
      (await askJson<{ balances: BalanceReply[] }>('GET', `/v1/portfolio/${wallet}`)).balances,
  };
}

/** As `POST /v1/auth/challenge` answers it, ready to be signed. */
interface TypedData {
  readonly domain: { readonly name: string; readonly version: string };
  readonly types: Record<string, { name: string; type: string }[]>;
  readonly message: Record<string, string>;
}

const siweMessage = (host: string, address: string, nonce: string): string =>
  [
    `${host} wants you to sign in with your Ethereum account:`,
    address,
    '',
    'Sign in to trade.',
    '',
    `URI: https://${host}`,
    'Version: 1',
    'Chain ID: 1',
    `Nonce: ${nonce}`,
    `Issued At: ${new Date().toISOString()}`,
  ].join('\n');

const ANSWER_PATIENCE_MS = 10_000;

async function request(
  url: string,
  method: string,
  token: string | undefined,
  body: object | undefined,
): Promise<string> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWER_PATIENCE_MS),
  }).catch(() => {
    throw new DemoStopped(`${url} does not answer`);
  });
  const text = await response.text();
  if (response.ok) return text;
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  throw new DemoStopped(`${method} ${new URL(url).pathname} answered ${response.status}: ${text}`, code);
}
