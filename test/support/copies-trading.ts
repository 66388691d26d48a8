/** Traders of an engine with copies, who remember what was answered. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { reconcile } from '../../src/books/reconcile/index.ts';
import { Refusal } from '../../src/domain/errors.ts';
import type { Backends } from '../../src/roles/backends.ts';
import { fund, limit, publishPlain } from '../engine/fixture.ts';
import { query } from '../ledger/tables.ts';
import type { CopiesStage } from './copies.ts';
import { eventually } from './eventually.ts';
import type { RedisServer } from './redis-server.ts';

const M = 'ETH/USD';
const WALLETS = ['a1', 'b0', 'ca', 'da'].map((byte) => `0x${byte.repeat(20)}`);
export const OUTAGE_MS = 60_000;
/** Orders that are answered before trade counts as going on. */
const SOME = 20;

export class CopiesTrading {
  /** Order ids by the client order ids under which they were answered. */
  readonly answered = new Map<string, string>();
  readonly #stage: CopiesStage;
  #isTrading = true;
  #trading: Promise<unknown> = Promise.resolve();

  private constructor(stage: CopiesStage) {
    this.#stage = stage;
  }

  /** Waits until all servers are copies, and begins to trade. */
  static async start(stage: CopiesStage): Promise<CopiesTrading> {
    const trading = new CopiesTrading(stage);
    await stage.whole();
    const [{ engine }] = stage.apis as [Backends];
    await publishPlain(engine, M);
    for (const wallet of WALLETS) await fund(engine, wallet, { ETH: 10n ** 9n, USD: 10n ** 9n });
    trading.#trading = Promise.all(WALLETS.map((wallet, at) => trading.#trade(wallet, at)));
    return trading;
  }

  static get traders(): number {
    return WALLETS.length;
  }

  async stop(): Promise<void> {
    this.#isTrading = false;
    await this.#trading;
  }

  /** Places orders one after the other, each until it is answered, by one process and then the other. */
  async #trade(wallet: string, at: number): Promise<void> {
    for (let number = 0; this.#isTrading; number += 1) {
      const clientOrderId = `${at}-${number}`;
      for (let tries = number; this.#isTrading && !this.answered.has(clientOrderId); tries += 1) {
        const api = this.#stage.apis[tries % 2];
        const placing = api && place(api, wallet, clientOrderId, at);
        const placed = await placing?.catch((error: unknown) => {
          // A process that ends leaves the outcome open.
          const isOpen = error instanceof Refusal && error.code === 'SERVICE_UNAVAILABLE';
          if (!isOpen && this.#stage.apis.includes(api!)) throw error;
        });
        if (typeof placed === 'string') this.answered.set(clientOrderId, placed);
        await sleep(20);
      }
    }
  }

  serverOf = (name: string): RedisServer => this.#stage.copies.servers.get(name)!;
  primary = async (): Promise<string> => (await this.#stage.row()).server;
  /** Returns the copies besides the primary. */
  replicas = async (): Promise<string[]> => {
    const { server, members } = await this.#stage.row();
    return members.filter((name) => name !== server);
  };
  replica = async (): Promise<string> => (await this.replicas())[0]!;

  /** Waits until each process answers orders that begin after this call. */
  goesOn = async (): Promise<void> => {
    const before = this.answered.size;
    await eventually('orders are answered', () => this.answered.size > before + SOME, OUTAGE_MS);
  };

  /** Waits until all servers are copies again, and compares all that was ever answered with the books. */
  nothingIsLost = async (): Promise<void> => {
    await this.goesOn();
    await this.#stage.whole();
    const told = new Map(this.answered);
    const [{ engine, ledger }] = this.#stage.apis as [Backends, Backends];
    // A slow machine may find a primary silent, and name another one meanwhile.
    await eventually(
      'the books are compared',
      async () => {
        const { holds, checks } = await reconcile({ engine, ledger }, { patienceMs: OUTAGE_MS });
        expect(holds, JSON.stringify(checks.filter(({ count }) => count > 0))).to.equal(true);
        return true;
      },
      OUTAGE_MS,
    );
    const rows = await query<{ id: string; client_order_id: string }>(
      this.#stage.databaseUrl,
      'select id, client_order_id from orders',
    );
    const known = new Map(rows.map((row) => [row.client_order_id, row.id]));
    expect(known.size, 'orders of one client order id').to.equal(rows.length);
    const missing = [...told].filter(([id, order]) => known.get(id) !== order);
    expect(missing).to.deep.equal([]);
  };
}

async function place({ engine, ledger }: Backends, wallet: string, clientOrderId: string, at: number) {
  const request = limit(M, at % 2 === 0 ? 'buy' : 'sell', 10, 1, { clientOrderId });
  const first = await engine.orders.place({ wallet, request });
  if (first.outcome === 'placed') return first.order.id;
  if (first.outcome === 'claimed') return first.orderId;
  const settled = await ledger.orders.placedId(wallet, clientOrderId);
  if (settled !== null) return settled;
  const { moment: checked, ticket } = first;
  const second = await engine.orders.place({ wallet, request, checked, ticket });
  return second.outcome === 'placed' ? second.order.id : undefined;
}
