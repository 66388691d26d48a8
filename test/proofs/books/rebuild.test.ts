/** Proves that an engine rebuilt from the ledger equals the lost one and never reissues an id. */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { rebuildEngine } from '../../../src/books/rebuild.ts';
import { KEYS } from '../../../src/engine/keys.ts';
import type { Ledger } from '../../../src/ledger/index.ts';
import { openMarkets, tradeAtRandom, WALLETS } from '../../books/random-trading.ts';
import { contentOf as contentOfEngine } from '../../books/rebuilt-engine.ts';
import { dump } from '../../engine/fixture.ts';
import { query } from '../../ledger/tables.ts';
import { marketRules, type OperatorFixture, openOperatorFixture, WALLET } from '../../operator/fixture.ts';
import { type Random, random, runSeed } from '../../support/seed.ts';

const ALICE = WALLETS[0]!;
const HELD = WALLET('e');
const RULES: Record<string, Record<string, string>> = {
  'ETH/USDC': {},
  'BTC/USDC': { 'self-trade': 'expire_maker', 'fee-bps': '0' },
  'BTC/ETH': { 'tick-size': 'null', 'self-trade': 'expire_both' },
};
const COMMANDS = 400;

async function openTradedFixture(dice: Random): Promise<OperatorFixture> {
  const fixture = await openOperatorFixture();
  await fixture.ask('asset', 'set', 'SPARE', '--scale', '3');
  await openMarkets(fixture, RULES);
  // The balance is zero, but the portfolio still shows it.
  await fixture.ask('account', 'credit', HELD, 'ETH', '1', '--reference', 'in');
  await fixture.ask('account', 'debit', HELD, 'ETH', '1', '--reference', 'out');
  await tradeAtRandom(fixture, dice, { markets: Object.keys(RULES), commands: COMMANDS, name: '№' });
  // Orders on both sides, whatever the random trading left.
  for (const [side, price] of [
    ['buy', '50'],
    ['sell', '200'],
  ] as const)
    await fixture.place({ wallet: ALICE, side, price, clientOrderId: `a ${side}` });
  // More digits than a double holds.
  await fixture.ask('account', 'credit', ALICE, 'BTC', '45000000000.00000001', '--reference', 'much');
  await fixture.ask('withdrawal', 'request', ALICE, 'BTC', '1', '--reference', 'é "taken"');
  const until = new Date(Date.now() + 3_600_000).toISOString();
  await fixture.ask('withdrawal', 'take', 'é "taken"', '--by', '“payer”', '--until', until);
  for (const reference of ['announced', 'dropped'])
    await fixture.ask('deposit', 'announce', ALICE, 'BTC', '3', '--reference', reference);
  await fixture.settle();
  await fixture.ask('deposit', 'drop', 'dropped', '--reason', 'a test');
  await fixture.ask('account', 'hold', HELD, '--reason', 'a test');
  // A spent deposit that is gone, of which the wallet still owes a part.
  for (const [part, amount] of Object.entries({ one: '0.4', other: '0.6' })) {
    await fixture.settle();
    const reversal = ['--reference', part, '--reverses', 'in', '--reason', 'a test'];
    await fixture.ask('account', 'debit', HELD, 'ETH', amount, ...reversal);
  }
  await fixture.ask('account', 'credit', HELD, 'ETH', '0.25', '--reference', 'paid');
  await fixture.ask('terms', 'require', '2');
  for (const wallet of WALLETS) await fixture.engine.switches.acceptTerms(wallet, '2');
  await fixture.ask('market', 'set', 'BTC/ETH', '--status', 'halted', '--reference-price', '99.5');
  await fixture.ask('trading', 'pause', '--reason', 'a test');
  await fixture.settle();
  return fixture;
}

/** Fields of the engine's own hash. */
const OWN = /^(sequence|time|settled|paused|terms|version:\d+|last:\d+|hold:.*|taken:.*|terms:.*)$/s;
const contentOf = (redis: Redis): Promise<Record<string, unknown>> => contentOfEngine(redis, OWN);

const newestTrade = async (ledger: Ledger): Promise<number> =>
  Math.max(...(await ledger.trades.lastBefore(Number.MAX_SAFE_INTEGER)).map(({ tradeId }) => tradeId));

describe('books: rebuild', () => {
  let fixture: OperatorFixture;
  let before: Record<string, unknown>;
  let epoch: number;

  beforeEach(async () => {
    fixture = await openTradedFixture(random(runSeed()));
    await fixture.engine.outbox.trim(await fixture.ledger.settlement.cursor());
    before = await contentOf(fixture.redis);
    ({ epoch } = await fixture.engine.reads.state());
  });
  afterEach(() => fixture.close());

  const lose = (): Promise<unknown> => fixture.redis.flushall();
  const reopen = async (): Promise<void> => {
    for (const engine of [fixture.engine, fixture.services.engine])
      await engine.lifecycle.open(await fixture.ledger.settlement.cursor());
  };

  it('restores the same engine, and the books reconcile', async () => {
    expect(before).to.include.all.keys('{redbook}:book:ETH/USDC:bids', '{redbook}:live');
    const ended = 'select id, coalesce(reject_reason, reason) as reason from orders order by id';
    const reasons = await query(fixture.databaseUrl, ended);
    expect(reasons.filter(({ reason }) => reason !== null).length).to.be.above(0);
    await lose();
    expect((await fixture.run('ledger', 'reconcile')).status).to.equal(1);
    const rebuilt = await fixture.ask('ledger', 'rebuild');
    expect(await contentOf(fixture.redis)).to.deep.equal(before);
    expect(rebuilt).to.include({ sequence: (await fixture.ledger.settlement.cursor()).sequence, markets: 3 });
    expect(rebuilt.liveOrders).to.equal((before['{redbook}:live'] as string[]).length);
    await reopen();
    const { holds } = await fixture.ask('ledger', 'reconcile');
    expect(holds).to.equal(true);
    expect(await query(fixture.databaseUrl, ended)).to.deep.equal(reasons);
  });

  it('continues trading with ids that were never issued before', async () => {
    const [newest, { sequence }] = [
      await newestTrade(fixture.ledger),
      await fixture.ledger.settlement.cursor(),
    ];
    await lose();
    await fixture.ask('ledger', 'rebuild');
    await reopen();
    expect((await fixture.engine.reads.state()).epoch).to.be.above(epoch + 50);
    await fixture.ask('trading', 'resume', '--reason', 'a test');
    const carol = WALLET('c');
    await fixture.ask('account', 'credit', carol, 'USDC', '1000000', '--reference', 'new');
    await fixture.engine.switches.acceptTerms(carol, '2');
    await fixture.engine.orders.cancelAll(ALICE, null);
    const sold = await fixture.place({ wallet: ALICE, side: 'sell', price: '10', size: '50' });
    const bought = await fixture.place({ wallet: carol, price: '3000', size: '100' });
    expect(sold.order.sequence).to.be.above(sequence);
    const trades = [...sold.trades, ...bought.trades];
    expect(trades.length).to.be.above(0);
    for (const { tradeId } of trades) expect(tradeId).to.be.above(newest);
    await fixture.settle();
    await fixture.ask('ledger', 'reconcile');
    for (const wallet of WALLETS) await fixture.engine.orders.cancelAll(wallet, null);
    await fixture.settle();
    await fixture.ask('ledger', 'reconcile');
  });

  it('removes dead-man switches and reports it', async () => {
    await fixture.engine.dueCancels.set(ALICE, 5_000);
    await lose();
    const { stdout } = await fixture.run('ledger', 'rebuild');
    expect(stdout).to.include('dead-man switches are lost: clients must set theirs again');
    await reopen();
    expect((await fixture.engine.dueCancels.take(10, 1_000)).nextDueMs).to.equal(null);
  });

  it('remembers each client order id and each reference', async () => {
    await lose();
    await fixture.ask('ledger', 'rebuild');
    await reopen();
    const used = await query<{ wallet: string; client_order_id: string; id: string }>(
      fixture.databaseUrl,
      'select wallet, client_order_id, id from orders where client_order_id is not null',
    );
    expect(used.length).to.be.above(20);
    for (const { wallet, client_order_id } of used)
      expect((await fixture.engine.orders.find(wallet, client_order_id)).outcome).to.equal('unchecked');
    expect((await fixture.engine.orders.find(ALICE, 'never')).outcome).to.equal('unclaimed');
    const shown = await fixture.ask('account', 'show', ALICE);
    await fixture.ask('account', 'credit', ALICE, 'ETH', '100000', '--reference', `${ALICE} ETH`);
    expect(await fixture.ask('account', 'show', ALICE)).to.deep.equal(shown);
  });

  it('refuses an existing engine and does not change it', async () => {
    expect(await fixture.refuse('ledger', 'rebuild')).to.equal('ENGINE_NOT_EMPTY');
    expect(await contentOf(fixture.redis)).to.deep.equal(before);
    // The engine's own key was deleted, but the remaining keys may be of use to an operator.
    await fixture.redis.del('{redbook}:engine');
    expect(await fixture.refuse('ledger', 'rebuild')).to.equal('ENGINE_NOT_EMPTY');
  });

  it('restarts after an interrupted rebuild; until then no process opens the engine', async () => {
    await lose();
    const { liveOrders } = fixture.ledger.state;
    let orders = 0;
    fixture.services.ledger.state.liveOrders = async function* (sequence) {
      for await (const order of liveOrders(sequence)) {
        orders += 1;
        if (orders > 3) throw new Error('the power went');
        yield order;
      }
      expect.fail('there are more orders');
    };
    await fixture.redis.zadd('{redbook}:book:ETH/USDC:bids', '0', 'a member of the one that broke off');
    await fixture.redis.hset('{redbook}:rebuilding', 'begun', '1');
    expect((await fixture.run('ledger', 'rebuild')).status).to.equal(1);
    const opening = fixture.engine.lifecycle.open(await fixture.ledger.settlement.cursor());
    expect(await opening.catch((error: Error) => error.name)).to.equal('EngineBehind');
    fixture.services.ledger.state.liveOrders = liveOrders;
    await fixture.ask('ledger', 'rebuild');
    expect(await contentOf(fixture.redis)).to.deep.equal(before);
  });

  it('does not open an engine to whose stream an entry was added meanwhile; the next rebuild does', async () => {
    await lose();
    const { liveOrders } = fixture.ledger.state;
    fixture.services.ledger.state.liveOrders = async function* (sequence) {
      await fixture.redis.xadd(KEYS.events, '60000-1', 'e', 'by hand');
      yield* liveOrders(sequence);
    };
    expect(await fixture.refuse('ledger', 'rebuild')).to.equal('SERVICE_UNAVAILABLE');
    expect(await fixture.redis.exists(KEYS.engine)).to.equal(0);
    fixture.services.ledger.state.liveOrders = liveOrders;
    await fixture.ask('ledger', 'rebuild');
    expect(await contentOf(fixture.redis)).to.deep.equal(before);
  });

  it('does not add unsettled events of the lost engine to the ledger', async () => {
    await fixture.ask('account', 'credit', ALICE, 'ETH', '7', '--reference', 'lost');
    const cursor = await fixture.ledger.settlement.cursor();
    const lost = await fixture.engine.outbox.readEvents(cursor, 10);
    expect(lost.map(({ kind }) => kind)).to.include('credited');
    await lose();
    const { switches } = fixture.ledger.state;
    fixture.services.ledger.state.switches = async () => {
      expect((await fixture.ledger.settlement.settle(lost)).sequence, 'settled meanwhile').to.equal(
        cursor.sequence,
      );
      return switches();
    };
    await fixture.ask('ledger', 'rebuild');
    fixture.services.ledger.state.switches = switches;
    const late = fixture.ledger.settlement.settle(lost);
    expect(await late.catch((error: Error) => error.name)).to.equal('LedgerDiverged');
    expect(await contentOf(fixture.redis)).to.deep.equal(before);
    await reopen();
    await fixture.ask('account', 'credit', ALICE, 'ETH', '7', '--reference', 'lost');
    await fixture.settle();
    await fixture.ask('ledger', 'reconcile');
  });

  it('begins an epoch after all that Postgres has noted', async () => {
    await fixture.ledger.epochs.note({ epoch: 700, server: 'the lost one' });
    await lose();
    await fixture.ask('ledger', 'rebuild');
    await reopen();
    expect((await fixture.engine.reads.state()).epoch).to.equal(801);
  });

  it('rejects a ledger whose orders reserve more than the balances', async () => {
    await lose();
    await query(
      fixture.databaseUrl,
      `set session_replication_role = replica; delete from movements where asset = 'USDC' and kind = 'credited'`,
    );
    expect(await fixture.refuse('ledger', 'rebuild')).to.equal('LEDGER_INCONSISTENT');
    const opening = fixture.engine.lifecycle.open(await fixture.ledger.settlement.cursor());
    expect(await opening.catch((error: Error) => error.name)).to.equal('EngineBehind');
  });
});

describe('books: rebuild of an engine of another format', () => {
  let fixture: OperatorFixture;

  beforeEach(async () => {
    fixture = await openOperatorFixture();
    await fixture.ask('market', 'create', 'ETH/USDC', ...marketRules());
    await fixture.ask('account', 'credit', ALICE, 'USDC', '100000', '--reference', 'in');
    await fixture.place({ wallet: ALICE, clientOrderId: 'first' });
    await fixture.place({ wallet: ALICE, price: '1990' });
    await fixture.settle();
    await fixture.engine.outbox.trim(await fixture.ledger.settlement.cursor());
  });
  afterEach(() => fixture.close());

  /** Simulates an engine of a later release. */
  const setFormat = (format: string): Promise<unknown> =>
    fixture.redis.hset('{redbook}:engine', 'format', format);
  const open = async (): Promise<unknown> =>
    fixture.engine.lifecycle.open(await fixture.ledger.settlement.cursor());
  const nameOf = (opening: Promise<unknown>): Promise<string> =>
    opening.then(
      () => 'opened',
      (error: Error) => error.name,
    );
  const codes = async (): Promise<string> => {
    const { status, stderr } = await fixture.run('ledger', 'rebuild', '--json');
    return status === 0 ? 'rebuilt' : JSON.parse(stderr).code;
  };

  it('replaces it if Postgres has all of its events, and keeps its dead-man switches', async () => {
    await fixture.engine.dueCancels.set(ALICE, 1);
    await fixture.engine.dueCancels.set(WALLET(2), 5_000);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await fixture.engine.dueCancels.take(10, 60_000)).taken).to.have.length(1);
    const before = await contentOf(fixture.redis);
    expect(before).to.include.all.keys(
      ...['due', 'leases', 'cut-offs'].map((name) => `{redbook}:cancel-after:${name}`),
    );
    await setFormat('4');
    expect(await nameOf(open())).to.equal('EngineFormat');
    const { stdout } = await fixture.run('ledger', 'rebuild');
    expect(stdout).to.include('dead-man switches are as they were');
    expect(await contentOf(fixture.redis)).to.deep.equal(before);
    await open();
    expect(await fixture.engine.orders.liveCount(ALICE)).to.equal(2);
    expect(await codes()).to.equal('ENGINE_NOT_EMPTY');
  });

  it('deletes its claim filter', async () => {
    const layout = (await fixture.redis.hget('{redbook}:engine', 'filter'))!;
    await fixture.redis.hset('{redbook}:engine', 'filter', `1/${2 ** 25}+${layout}`);
    await fixture.redis.set('{redbook}:claim-filter:1:0', 'some bits');
    await fixture.settle();
    await setFormat('4');
    const rebuilt = await fixture.ask('ledger', 'rebuild');
    expect(rebuilt).to.include({ keepsSwitches: true, usedIds: 2 });
    expect(await fixture.redis.keys('{redbook}:claim-filter*')).to.deep.equal(['{redbook}:claim-filter']);
  });

  it('rejects it while Postgres lacks events, reports how many, and changes nothing', async () => {
    for (const id of ['second', 'third'])
      await fixture.place({ wallet: ALICE, price: '1980', clientOrderId: id });
    await setFormat('4');
    const before = await dump(fixture.redis);
    const { status, stderr } = await fixture.run('ledger', 'rebuild');
    expect(status).to.equal(1);
    expect(stderr).to.match(/^ENGINE_UNSETTLED: 2 events are not in Postgres yet/);
    expect(stderr).to.include('start the release that wrote this engine');
    expect(await dump(fixture.redis)).to.deep.equal(before);
    await fixture.settle();
    expect(await codes()).to.equal('rebuilt');
  });

  it('rejects it when it is older than Postgres', async () => {
    const { sequence } = await fixture.ledger.settlement.cursor();
    await query(fixture.databaseUrl, `update engine_cursor set sequence = ${sequence + 1}`);
    await setFormat('4');
    const before = await dump(fixture.redis);
    expect(await codes()).to.equal('ENGINE_BEHIND');
    expect(await dump(fixture.redis)).to.deep.equal(before);
  });

  it('replaces an engine that was rebuilt and has had no event since', async () => {
    await fixture.redis.flushall();
    await fixture.ask('ledger', 'rebuild');
    await setFormat('4');
    expect(await codes()).to.equal('rebuilt');
    // A deleted stream proves nothing.
    await setFormat('4');
    await fixture.redis.del('{redbook}:events');
    expect(await codes()).to.equal('ENGINE_BEHIND');
  });

  it('rejects one of before release 0.1.0, says how to start anew, and changes nothing', async () => {
    await fixture.redis.hdel('{redbook}:engine', 'format');
    const before = await dump(fixture.redis);
    for (const refused of [open(), fixture.engine.lifecycle.checkFormat()])
      expect(await refused.catch((error: Error) => error.message)).to.equal(
        "the engine's Redis was written before release 0.1.0, and no release reads it: nothing was changed; start anew with an empty Redis and an empty database (`npm start`: another DATA_DIR)",
      );
    expect(await codes()).to.equal('ENGINE_NOT_EMPTY');
    expect(await dump(fixture.redis)).to.deep.equal(before);
  });

  it('restarts after an interrupted rebuild; until then no process opens the engine', async () => {
    await fixture.engine.dueCancels.set(ALICE, 5_000);
    const before = await contentOf(fixture.redis);
    await setFormat('4');
    const { liveOrders } = fixture.ledger.state;
    // biome-ignore lint/correctness/useYield: it breaks off before the first order
    fixture.services.ledger.state.liveOrders = async function* () {
      throw new Error('the power went');
    };
    expect((await fixture.run('ledger', 'rebuild')).status).to.equal(1);
    expect(await nameOf(open())).to.equal('EngineBehind');
    fixture.services.ledger.state.liveOrders = liveOrders;
    const { stdout } = await fixture.run('ledger', 'rebuild');
    expect(stdout).to.include('dead-man switches are as they were');
    expect(await contentOf(fixture.redis)).to.deep.equal(before);
  });

  it('stops writing once another rebuild has begun', async () => {
    const before = await contentOf(fixture.redis);
    await setFormat('4');
    const { liveOrders } = fixture.ledger.state;
    const other = {
      ...fixture.services,
      ledger: { ...fixture.ledger, state: { ...fixture.ledger.state, liveOrders } },
    };
    let inside = false;
    fixture.services.ledger.state.liveOrders = async function* (sequence) {
      yield* liveOrders(sequence);
      if (inside) return;
      inside = true;
      // The connection that locks the ledger was cut: another rebuild runs, and trading begins.
      await query(
        fixture.databaseUrl,
        `select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()`,
      );
      await rebuildEngine(other);
      await open();
      await fixture.engine.orders.cancelAll(ALICE, null);
    };
    expect(await codes()).to.equal('REBUILD_REPLACED');
    expect(await fixture.redis.zcard('{redbook}:live')).to.equal(0);
    expect(before).to.include.keys('{redbook}:live');
    await fixture.settle();
    await fixture.ask('ledger', 'reconcile');
  });
});

describe('books: rebuild of an empty ledger', () => {
  it('is rejected, because an empty engine opens by itself', async () => {
    const fixture = await openOperatorFixture();
    try {
      await fixture.redis.flushall();
      expect(await fixture.refuse('ledger', 'rebuild')).to.equal('NOTHING_SETTLED');
      // An engine of another format must be replaced even if it has had no event.
      await fixture.redis.hset('{redbook}:engine', 'format', '4');
      expect(await fixture.ask('ledger', 'rebuild')).to.include({ sequence: 0, markets: 0 });
      await fixture.engine.lifecycle.open(await fixture.ledger.settlement.cursor());
      await fixture.ask('asset', 'set', 'USDC', '--scale', '6');
      await fixture.settle();
      await fixture.ask('ledger', 'reconcile');
    } finally {
      await fixture.close();
    }
  });
});
