/** A new wallet that uses the service through the typed client, as anybody could. */

import { Wallet } from 'ethers';
import {
  acceptTerms,
  type Balance,
  type Connection,
  cancel,
  cancelAfter,
  cancelAll,
  getOrders,
  getPortfolio,
  getStatus,
  getTrades,
  type NewOrder,
  type Order,
  type Placed,
  place,
  RedbookError,
  type Session,
  signIn,
  signInWithMessage,
  type WalletTrade,
} from '../client/index.ts';

/** Thrown when the service refused or does not answer, so that the story cannot continue. */
export class DemoStopped extends Error {
  override readonly name = 'DemoStopped';
  /** Code of the error table or of the client, for a request that failed. */
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

/** An order that the service has recorded. */
export interface RecordedOrder {
  readonly order: Order;
  /** Reason for which the order is recorded as rejected; null otherwise. */
  readonly rejectCode: string | null;
}

/** Every method may throw `DemoStopped`. */
export interface Trader {
  readonly name: string;
  /** Lower case, as the service writes it. */
  readonly wallet: string;
  /** Signs in by an EIP-712 signature, as ordinary wallets do. */
  signInByTypedData(): Promise<void>;
  /** Signs in by a SIWE message (EIP-4361) that names a web host of the service. */
  signInByMessage(webHost: string): Promise<void>;
  isSignedIn(): boolean;
  /** Accepts the terms that the service requires, and returns their version; null when it requires none. */
  acceptTerms(): Promise<string | null>;
  place(order: NewOrder): Promise<RecordedOrder>;
  cancel(orderId: string): Promise<{ readonly status: string }>;
  cancelAll(): Promise<{ readonly count: number }>;
  /** Cancels all orders of the wallet unless it asks again within that time. */
  cancelAfter(timeoutMs: number): Promise<void>;
  /** Returns the newest 100 orders, or the newest 100 that can be filled. */
  orders(status?: 'live'): Promise<readonly Order[]>;
  trades(): Promise<readonly WalletTrade[]>;
  balances(): Promise<readonly Balance[]>;
}

export function makeTrader(name: string, connection: Connection): Trader {
  const wallet = Wallet.createRandom();
  const signer = {
    address: wallet.address,
    prompts: false,
    signTypedData: ({
      domain,
      types,
      message,
    }: Parameters<Parameters<typeof signIn>[1]['signTypedData']>[0]) =>
      wallet.signTypedData(domain, { Login: [...types.Login] }, message),
    signMessage: (message: string) => wallet.signMessage(message),
  };
  let session: Session | undefined;
  const asked = async <Reply>(doing: string, ask: (session: Session) => Promise<Reply>): Promise<Reply> =>
    ask(session!).catch((error: unknown) => stopAt(doing, error));

  return {
    name,
    wallet: wallet.address.toLowerCase(),
    async signInByTypedData() {
      session = await signIn(connection, signer).catch((error: unknown) => stopAt('sign-in', error));
    },
    async signInByMessage(host) {
      const signing = signInWithMessage(connection, signer, { host });
      session = await signing.catch((error: unknown) => stopAt('sign-in', error));
    },
    isSignedIn: () => session !== undefined,
    async acceptTerms() {
      const { termsVersion } = await asked('reading the terms', () => getStatus(connection));
      if (termsVersion !== null)
        await asked('accepting the terms', (mine) => acceptTerms(mine, termsVersion));
      return termsVersion;
    },
    place: async (order) => recorded(await asked('placing an order', (mine) => place(mine, order))),
    cancel: (orderId) => asked('a cancel', (mine) => cancel(mine, orderId)),
    cancelAll: () => asked('cancelling all orders', (mine) => cancelAll(mine)),
    async cancelAfter(timeoutMs) {
      await asked("the dead man's switch", (mine) => cancelAfter(mine, { timeoutMs }));
    },
    orders: async (status) =>
      (await asked('reading orders', (mine) => getOrders(mine, { ...(status && { status }) }))).orders,
    trades: async () => (await asked('reading trades', (mine) => getTrades(mine))).trades,
    balances: async () => (await asked('reading balances', (mine) => getPortfolio(mine))).balances,
  };
}

function recorded(placed: Placed): RecordedOrder {
  if (placed.outcome === 'placed') return { order: placed.order, rejectCode: null };
  if (placed.outcome === 'refused' && placed.order !== null)
    return { order: placed.order, rejectCode: placed.error.code };
  return stopAt('placing an order', placed.error);
}

/** @throws DemoStopped for a request that failed */
export function stopAt(doing: string, error: unknown): never {
  if (!(error instanceof RedbookError)) throw error;
  throw new DemoStopped(`${doing} failed: ${error.message} (${error.code})`, error.code);
}
