/** Knowledge of a hostile client: its own wallets and sessions, the markets, and ids that replies have shown. */

import { CURSOR_LENGTH } from '../../../src/contract/cursor.ts';
import { isLive, type OrderStatus } from '../../../src/domain/order.ts';
import type { Signer } from '../../auth/signers.ts';
import type { Random } from '../../support/seed.ts';
import type { WireReply } from './wire.ts';

export interface SignedIn {
  readonly signer: Signer;
  /** In lower case. */
  readonly address: string;
  readonly token: string;
}

interface ShownOrder {
  readonly id: string;
  readonly clientOrderId: string | null;
  readonly market: string;
}

/** Ids and cursors that replies to a wallet have shown. */
interface Known {
  readonly orderIds: string[];
  /** Orders that were live when they were last shown, by id. */
  readonly live: Map<string, ShownOrder>;
  readonly clientIds: string[];
  readonly cursors: string[];
}

/** Returns a reviver that notes which of the orders in a document are live. */
const noteLive = (live: Map<string, ShownOrder>) => (_key: string, value: unknown) => {
  const { id, clientOrderId, market, status } = (value ?? {}) as Partial<
    ShownOrder & { status: OrderStatus }
  >;
  if (id === undefined || status === undefined || market === undefined) return value;
  live.delete(id);
  if (isLive(status)) live.set(id, { id, clientOrderId: clientOrderId ?? null, market });
  return value;
};

const KEPT_IDS = 60;
const ID = /"id":"([0-9a-f-]{20,})"/g;
const CLIENT_ID = /"clientOrderId":"([\w-]+)"/g;
const CURSOR = /"(?:nextCursor|cursor)":"([\w-]+)"/;

export class World {
  readonly wallets: readonly SignedIn[];
  readonly symbols: readonly string[];
  readonly #known = new Map<SignedIn, Known>();

  constructor(wallets: readonly SignedIn[], symbols: readonly string[]) {
    this.wallets = wallets;
    this.symbols = symbols;
  }

  /** Keeps ids and cursors of a reply, for later requests of the wallet. */
  learn(wallet: SignedIn, { text, status, headers }: WireReply, dice: Random): void {
    if (status !== 200 || text === '' || text.length > 20_000) return;
    const { orderIds, clientIds, cursors, live } = this.#knownOf(wallet);
    if (headers['content-type']?.startsWith('application/json')) JSON.parse(text, noteLive(live));
    const keep = (list: string[], value: string): void => {
      if (list.length < KEPT_IDS) list.push(value);
      else list[dice.below(KEPT_IDS)] = value;
    };
    for (const [, id] of text.matchAll(ID)) keep(orderIds, id!);
    for (const [, id] of text.matchAll(CLIENT_ID)) keep(clientIds, id!);
    const cursor = CURSOR.exec(text)?.[1];
    if (cursor !== undefined) keep(cursors, cursor);
  }

  #knownOf(wallet: SignedIn): Known {
    let known = this.#known.get(wallet);
    if (known === undefined) {
      known = { orderIds: [], live: new Map(), clientIds: [], cursors: [] };
      this.#known.set(wallet, known);
    }
    return known;
  }

  /** Returns a plausible value of a parameter or member, undefined for a name that is not known. */
  valueOf(name: string, wallet: SignedIn, dice: Random): unknown {
    // Some ids are those of another wallet.
    const owner = this.#knownOf(dice.chance(0.9) ? wallet : dice.pick(this.wallets));
    // The members of one request name the same order, the one that became live last.
    const live = dice.chance(0.7) ? [...owner.live.values()] : [];
    const recent = live.at(-1);
    const clientId = live.findLast(({ clientOrderId }) => clientOrderId !== null)?.clientOrderId;
    const values: Readonly<Record<string, () => unknown>> = {
      address: () => (dice.chance(0.8) ? wallet : dice.pick(this.wallets)).address,
      account: () => (dice.chance(0.8) ? wallet : dice.pick(this.wallets)).address,
      orderId: () => recent?.id ?? dice.pick(owner.orderIds) ?? '0'.repeat(34),
      clientOrderId: () =>
        dice.pick([clientId, dice.pick(owner.clientIds), undefined]) ?? `id-${dice.below(5_000)}`,
      replacesClientOrderId: () => clientId ?? dice.pick(owner.clientIds) ?? 'none',
      filledSize: () => '0',
      cursor: () => dice.pick(owner.cursors) ?? 'A'.repeat(CURSOR_LENGTH),
      after: () => dice.pick(owner.cursors) ?? 'A'.repeat(CURSOR_LENGTH),
      market: () => recent?.market ?? dice.pick(this.symbols),
      ticker_id: () => dice.pick(this.symbols).replace('/', '_'),
      price: () => (1_990 + dice.below(20)).toString(),
      size: () => `0.${1 + dice.below(500)}`,
      quoteAmount: () => 10 + dice.below(1_000),
      leverage: () => 1 + dice.below(50),
      timeoutMs: () => dice.pick([0, 5_000, 60_000, 86_400_000]),
      depth: () => dice.pick(['0', '1', '2', '100', '500', '501']),
      limit: () => dice.pick(['1', '2', '50', '100']),
      start_time: () => dice.pick(['0', '1700000000', '99999999999']),
      end_time: () => dice.pick(['1700000000', '99999999999']),
      status: () => dice.pick(['live', 'closed']),
      version: () => '1',
      signature: () => `0x${'5a'.repeat(64)}1b`,
      message: () => 'redbook.example wants you to sign in with your Ethereum account:',
      postOnly: () => false,
      reduceOnly: () => false,
    };
    return Object.hasOwn(values, name) ? values[name]!() : undefined;
  }
}
