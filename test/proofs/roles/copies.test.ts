/** Tests that an engine with copies loses no answered order, and gives no id twice, whichever server fails. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { reconcile } from '../../../src/books/reconcile/index.ts';
import { Refusal } from '../../../src/domain/errors.ts';
import { runOperator } from '../../../src/operator/command-line.ts';
import type { Backends } from '../../../src/roles/backends.ts';
import { lookAtCopies } from '../../../src/roles/operator.ts';
import { fund, limit, publishPlain } from '../../engine/fixture.ts';
import { query } from '../../ledger/tables.ts';
import { Capture } from '../../operator/fixture.ts';
import { type CopiesStage, cutReplication, hideFromKeepers, openCopiesStage } from '../../support/copies.ts';
import { eventually } from '../../support/eventually.ts';
import { ADMIN, PASSWORD, type RedisServer } from '../../support/redis-server.ts';
import { random, runSeed } from '../../support/seed.ts';

const M = 'ETH/USD';
const WALLETS = ['a1', 'b0', 'ca', 'da'].map((byte) => `0x${byte.repeat(20)}`);
const OUTAGE_MS = 60_000;
const BREAKS = 15;
const MAX_CUT_BYTES = 20_000;

describe('an engine with copies', function () {
  this.timeout(240_000);
  let stage: CopiesStage;
  /** Order ids by the client order ids under which they were answered. */
  const answered = new Map<string, string>();
  let isTrading = true;
  let trading: Promise<unknown>;

  before(async () => {
    stage = await openCopiesStage();
    await stage.whole();
    const [{ engine }] = stage.apis as [Backends, Backends];
    await publishPlain(engine, M);
    for (const wallet of WALLETS) await fund(engine, wallet, { ETH: 10n ** 9n, USD: 10n ** 9n });
    trading = Promise.all(WALLETS.map((wallet, at) => trade(wallet, at)));
  });
  after(async () => {
    isTrading = false;
    await trading;
    await stage.stop();
  });

  /** Places orders one after the other, each until it is answered, by one process and then the other. */
  const trade = async (wallet: string, at: number): Promise<void> => {
    for (let number = 0; isTrading; number += 1) {
      const clientOrderId = `${at}-${number}`;
      for (let tries = number; isTrading && !answered.has(clientOrderId); tries += 1) {
        const api = stage.apis[tries % 2];
        const placing = api && place(api, wallet, clientOrderId, at);
        const placed = await placing?.catch((error: unknown) => {
          // A process that ends leaves the outcome open.
          const isOpen = error instanceof Refusal && error.code === 'SERVICE_UNAVAILABLE';
          if (!isOpen && stage.apis.includes(api!)) throw error;
        });
        if (typeof placed === 'string') answered.set(clientOrderId, placed);
        await sleep(20);
      }
    }
  };
  const place = async ({ engine, ledger }: Backends, wallet: string, clientOrderId: string, at: number) => {
    const request = limit(M, at % 2 === 0 ? 'buy' : 'sell', 10, 1, { clientOrderId });
    const first = await engine.orders.place({ wallet, request });
    if (first.outcome === 'placed') return first.order.id;
    if (first.outcome === 'claimed') return first.orderId;
    const settled = await ledger.orders.placedId(wallet, clientOrderId);
    if (settled !== null) return settled;
    const { moment: checked, ticket } = first;
    const second = await engine.orders.place({ wallet, request, checked, ticket });
    return second.outcome === 'placed' ? second.order.id : undefined;
  };

  const serverOf = (name: string): RedisServer => stage.copies.servers.get(name)!;
  const primary = async (): Promise<string> => (await stage.row()).server;
  const replica = async (): Promise<string> => {
    const { server, members } = await stage.row();
    return members.find((name) => name !== server)!;
  };
  /** Waits until each process answers orders that begin after this call. */
  const goesOn = async (): Promise<void> => {
    const before = answered.size;
    await eventually('orders are answered', () => answered.size > before + 20, OUTAGE_MS);
  };
  /** Waits until all servers are copies again, and compares all that was ever answered with the books. */
  const nothingIsLost = async (): Promise<void> => {
    await goesOn();
    await stage.whole();
    const told = new Map(answered);
    const [{ engine, ledger }] = stage.apis as [Backends, Backends];
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
      stage.databaseUrl,
      'select id, client_order_id from orders',
    );
    const known = new Map(rows.map((row) => [row.client_order_id, row.id]));
    expect(known.size, 'orders of one client order id').to.equal(rows.length);
    const missing = [...told].filter(([id, order]) => known.get(id) !== order);
    expect(missing).to.deep.equal([]);
  };

  it('goes on when the primary is killed, and takes it back as a copy', async () => {
    const first = await primary();
    await serverOf(first).kill();
    await goesOn();
    expect(await primary()).not.to.equal(first);
    await serverOf(first).start();
    await nothingIsLost();
  });

  it('goes on when the primary hangs for a while, which is told nothing and tells nobody anything', async () => {
    const first = await primary();
    process.kill(serverOf(first).pid(), 'SIGSTOP');
    await goesOn();
    expect(await primary()).not.to.equal(first);
    await sleep(3_000);
    process.kill(serverOf(first).pid(), 'SIGCONT');
    await nothingIsLost();
  });

  it('answers nothing that the copies lack when their replication is cut and the primary is killed', async () => {
    const first = await primary();
    await cutReplication(serverOf(first));
    const before = answered.size;
    await sleep(1_500);
    // Each client may have had one order in a round that was whole.
    expect(answered.size - before).to.be.at.most(WALLETS.length);
    await serverOf(first).kill();
    await goesOn();
    await serverOf(first).start();
    await nothingIsLost();
  });

  it('answers nothing on a primary that keepers and copies do not reach, while its clients do', async () => {
    const first = await primary();
    const showAgain = await hideFromKeepers(serverOf(first));
    await goesOn();
    expect(await primary()).not.to.equal(first);
    await showAgain();
    await nothingIsLost();
  });

  it('loses nothing when replication and all other connections break at random bytes', async () => {
    const dice = random(runSeed());
    for (let times = 0; times < BREAKS; times += 1) {
      for (const link of stage.copies.links.values())
        link.limp({ delayMs: 0, cutAfterBytes: 1 + dice.below(MAX_CUT_BYTES) });
      await sleep(200);
    }
    for (const link of stage.copies.links.values()) await link.mend();
    await nothingIsLost();
  });

  it('goes on without a copy that is killed, and takes it back', async () => {
    const [first, killed] = [await primary(), await replica()];
    await serverOf(killed).kill();
    await goesOn();
    expect((await stage.row()).members).not.to.include(killed);
    expect(await primary()).to.equal(first);
    await serverOf(killed).start();
    await nothingIsLost();
  });

  it('goes on when the primary is lost with its disk and an empty one is started in its place', async () => {
    const first = await primary();
    await serverOf(first).kill();
    rmSync(join(stage.copies.folderOf(first), 'appendonlydir'), { recursive: true });
    await serverOf(first).start();
    await nothingIsLost();
    expect(await primary()).not.to.equal(first);
  });

  it('goes on when the next primary is killed as soon as it answers', async () => {
    for (let times = 0; times < 2; times += 1) {
      const first = await primary();
      await serverOf(first).kill();
      await goesOn();
      await serverOf(first).start();
      // The members are those that have every answered order; a second one must be there to take over.
      await eventually('a copy has joined', async () => (await stage.row()).members.length > 1, OUTAGE_MS);
    }
    await nothingIsLost();
  });

  it('goes on with the data of all servers when they are killed at once', async () => {
    await Promise.all([...stage.copies.servers.values()].map((server) => server.kill()));
    await Promise.all([...stage.copies.servers.values()].map((server) => server.start()));
    await nothingIsLost();
  });

  describe('by the operator', () => {
    const run = async (...argv: string[]) => {
      const [backends] = stage.settling as [Backends];
      const { engine, ledger } = backends;
      const copies = () => lookAtCopies(backends);
      const [out, err] = [new Capture(), new Capture()];
      const open = async () => ({ engine, ledger, networkId: '1', copies, close: async () => undefined });
      await runOperator([...argv, '--json'], open, { out, err });
      return JSON.parse(out.text || err.text);
    };

    it('is shown', async () => {
      await stage.whole();
      const row = await stage.row();
      const shown = await run('copies');
      expect(shown).to.deep.include({ primary: row.server, version: row.version, members: row.members });
      expect(shown.servers.map(({ server }: { server: string }) => server)).to.have.members(row.members);
      for (const one of shown.servers) {
        expect(one.role).to.equal(one.server === row.server ? 'primary' : 'copy');
        expect(one.offset).to.be.above(0);
        expect(one.lagEvents).to.be.a('number');
      }
    });

    it('takes the first call of each process that has opened it', async () => {
      for (let times = 0; times < 10; times += 1) {
        const opened = stage.open('operator');
        await opened.engineOpened;
        expect(await opened.engine.markets.all().finally(opened.close)).to.have.length(1);
      }
    });

    it('is part of the status', async () => {
      const { server, members } = await stage.row();
      expect((await run('status')).copies).to.deep.equal({ primary: server, members, away: [] });
    });

    it('gets another primary, and loses no answered order', async () => {
      const next = await replica();
      expect(await run('copies', 'name', next)).to.deep.include({ primary: next });
      await nothingIsLost();
      expect(await primary()).to.equal(next);
      expect((await run('copies', 'name', '127.0.0.1:1')).code).to.equal('NO_COPY');
    });

    it('drops a copy that is away, and no other', async () => {
      const dropped = await replica();
      expect((await run('copies', 'drop', await primary())).code).to.equal('IS_PRIMARY');
      expect((await run('copies', 'drop', dropped)).code).to.equal('WOULD_JOIN_AGAIN');
      await serverOf(dropped).kill();
      expect((await run('copies', 'drop', dropped)).members).not.to.include(dropped);
      await goesOn();
      await serverOf(dropped).start();
      await nothingIsLost();
    });

    it('is forced onto one server only with its name, and is told what may be lost', async () => {
      const { server } = await stage.row();
      const { code, error } = await run('copies', 'force', server);
      expect([code, error]).to.deep.equal([
        'CONFIRM',
        `${server} becomes the only copy: it is a copy, so it has every answered order. Repeat the command with --confirm ${server}`,
      ]);
      expect(await run('copies', 'force', server, '--confirm', server)).to.deep.include({ primary: server });
      await nothingIsLost();
    });

    it('becomes one server, and three again, by the guide', async () => {
      await stage.whole();
      const { server, members } = await stage.row();
      const [second, third] = members.filter((name) => name !== server) as [string, string];
      const startAnew = async (name: string): Promise<void> => {
        await serverOf(name).kill();
        rmSync(join(stage.copies.folderOf(name), 'appendonlydir'), { recursive: true });
        await serverOf(name).start();
      };
      const urlOf = (scheme: string, ...names: string[]) =>
        `${scheme}://${ADMIN}:${PASSWORD}@${names.join(',')}`;
      await stage.restart({
        redisUrl: urlOf('redis+copies', server, second),
        minCopies: 1,
        takesOrders: false,
      });
      expect((await run('copies', 'drop', third)).members).to.have.members([server, second]);
      await serverOf(second).kill();
      expect((await run('copies', 'drop', second)).members).to.deep.equal([server]);
      await stage.restart({ redisUrl: urlOf('redis', server) });
      await goesOn();
      await serverOf(second).start();
      for (const name of [second, third]) await startAnew(name);
      await stage.restart({});
      await nothingIsLost();
      expect(await primary()).to.equal(server);
    });

    it('is adopted by a Postgres that was put back to an earlier moment', async () => {
      expect(await run('copies', 'adopt')).to.deep.equal({ primary: await primary() });
      await query(stage.databaseUrl, `update engine_copies set version = 1, members = array['elsewhere:1']`);
      expect(await run('copies', 'adopt')).to.deep.equal({ primary: await primary() });
      await nothingIsLost();
    });
  });
});
