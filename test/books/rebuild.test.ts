/** Proves that an engine rebuilt from the ledger equals the lost one and never reissues an id. */

import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { rebuildEngine } from '../../src/books/rebuild.ts';
import { Refusal } from '../../src/domain/errors.ts';
import { parseDecimal } from '../../src/domain/units.ts';
import { KEYS } from '../../src/engine/keys.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { dump } from '../engine/fixture.ts';
import { query } from '../ledger/tables.ts';
import { type Desk, marketRules, openDesk, WALLET } from '../operator/fixture.ts';
import { type Random, random, runSeed } from '../support/seed.ts';
import { contentOf as contentOfEngine } from './rebuilt-engine.ts';

const WALLETS = [1, 2, 3, 4].map(WALLET);
const ALICE = WALLETS[0]!;
const HELD = WALLET('e');
const RULES: Record<string, Record<string, string>> = {
  'ETH/USDC': {},
  'BTC/USDC': { 'self-trade': 'expire_maker', 'fee-bps': '0' },
  'BTC/ETH': { 'tick-size': 'null', 'self-trade': 'expire_both' },
};
const COMMANDS = 400;

/** Places crossing orders of all kinds and cancels some. Ignores refusals. */
async function trade({ engine }: Desk, dice: Random): Promise<void> {
  for (let count = 0; count < COMMANDS; count += 1) {
    const [wallet, market] = [dice.pick(WALLETS), dice.pick(Object.keys(RULES))];
    const command = dice.chance(0.1)
      ? engine.orders.cancelAll(wallet, dice.chance(0.5) ? market : null)
      : engine.orders.place({ wallet, request: orderOf(market, dice, count) });
    await command.catch((error) => {
      if (!(error instanceof Refusal)) throw error;
    });
  }
}

const orderOf = (market: string, dice: Random, count: number) => ({
  market,
  side: dice.pick(['buy', 'sell'] as const),
  type: 'limit' as const,
  leverage: null,
  timeInForce: dice.pick(['GTC', 'GTC', 'GTC', 'IOC'] as const),
  price: parseDecimal(`${95 + dice.below(10)}`),
  size: parseDecimal(`0.${1 + dice.below(9)}`),
  clientOrderId: dice.chance(0.5) ? `№ ${count}` : null,
  postOnly: dice.chance(0.1),
  reduceOnly: false,
});

async function openTradedDesk(dice: Random): Promise<Desk> {
  const desk = await openDesk();
  await desk.ask('asset', 'set', 'USDC', '--scale', '6');
  await desk.ask('asset', 'set', 'SPARE', '--scale', '3');
  for (const [market, rules] of Object.entries(RULES))
    await desk.ask('market', 'create', market, ...marketRules(rules));
  for (const wallet of WALLETS)
    for (const asset of ['ETH', 'BTC', 'USDC'])
      await desk.ask('account', 'credit', wallet, asset, '100000', '--reference', `${wallet} ${asset}`);
  // The balance is zero, but the portfolio still shows it.
  await desk.ask('account', 'credit', HELD, 'ETH', '1', '--reference', 'in');
  await desk.ask('account', 'debit', HELD, 'ETH', '1', '--reference', 'out');
  await trade(desk, dice);
  // Orders on both sides, whatever the random trading left.
  for (const [side, price] of [
    ['buy', '50'],
    ['sell', '200'],
  ] as const)
    await desk.place({ wallet: ALICE, side, price, clientOrderId: `a ${side}` });
  // More digits than a double holds.
  await desk.ask('account', 'credit', ALICE, 'BTC', '45000000000.00000001', '--reference', 'much');
  await desk.ask('account', 'hold', HELD);
  await desk.ask('terms', 'require', '2');
  for (const wallet of WALLETS) await desk.engine.switches.acceptTerms(wallet, '2');
  await desk.ask('market', 'set', 'BTC/ETH', '--status', 'halted', '--reference-price', '99.5');
  await desk.ask('trading', 'pause');
  await desk.settle();
  return desk;
}

/** Fields of the engine's own hash. */
const OWN = /^(sequence|time|settled|paused|terms|version:\d+|last:\d+|hold:.*|terms:.*)$/s;
const contentOf = (redis: Redis): Promise<Record<string, unknown>> => contentOfEngine(redis, OWN);

const newestTrade = async (ledger: Ledger): Promise<number> =>
  Math.max(...(await ledger.trades.lastBefore(Number.MAX_SAFE_INTEGER)).map(({ tradeId }) => tradeId));

describe('books: rebuild', function () {
  this.timeout(60_000);
  let desk: Desk;
  let before: Record<string, unknown>;
  let epoch: number;

  beforeEach(async () => {
    desk = await openTradedDesk(random(runSeed()));
    await desk.engine.outbox.trim(await desk.ledger.settlement.cursor());
    before = await contentOf(desk.redis);
    ({ epoch } = await desk.engine.snapshots.state());
  });
  afterEach(() => desk.close());

  const lose = (): Promise<unknown> => desk.redis.flushall();
  const reopen = async (): Promise<void> => {
    for (const engine of [desk.engine, desk.services.engine])
      await engine.lifecycle.open(await desk.ledger.settlement.cursor());
  };

  it('restores the same engine, and the books reconcile', async () => {
    expect(before).to.include.all.keys('{redbook}:book:ETH/USDC:bids', '{redbook}:live');
    const ended = 'select id, coalesce(reject_reason, reason) as reason from orders order by id';
    const reasons = await query(desk.databaseUrl, ended);
    expect(reasons.filter(({ reason }) => reason !== null).length).to.be.above(0);
    await lose();
    expect((await desk.run('ledger', 'reconcile')).status).to.equal(1);
    const rebuilt = await desk.ask('ledger', 'rebuild');
    expect(await contentOf(desk.redis)).to.deep.equal(before);
    expect(rebuilt).to.include({ sequence: (await desk.ledger.settlement.cursor()).sequence, markets: 3 });
    expect(rebuilt.liveOrders).to.equal((before['{redbook}:live'] as string[]).length);
    await reopen();
    const { holds } = await desk.ask('ledger', 'reconcile');
    expect(holds).to.equal(true);
    expect(await query(desk.databaseUrl, ended)).to.deep.equal(reasons);
  });

  it('continues trading with ids that were never issued before', async () => {
    const [newest, { sequence }] = [await newestTrade(desk.ledger), await desk.ledger.settlement.cursor()];
    await lose();
    await desk.ask('ledger', 'rebuild');
    await reopen();
    expect((await desk.engine.snapshots.state()).epoch).to.be.above(epoch + 50);
    await desk.ask('trading', 'resume');
    const carol = WALLET('c');
    await desk.ask('account', 'credit', carol, 'USDC', '1000000', '--reference', 'new');
    await desk.engine.switches.acceptTerms(carol, '2');
    await desk.engine.orders.cancelAll(ALICE, null);
    const sold = await desk.place({ wallet: ALICE, side: 'sell', price: '10', size: '50' });
    const bought = await desk.place({ wallet: carol, price: '3000', size: '100' });
    expect(sold.order.sequence).to.be.above(sequence);
    const trades = [...sold.trades, ...bought.trades];
    expect(trades.length).to.be.above(0);
    for (const { tradeId } of trades) expect(tradeId).to.be.above(newest);
    await desk.settle();
    await desk.ask('ledger', 'reconcile');
    for (const wallet of WALLETS) await desk.engine.orders.cancelAll(wallet, null);
    await desk.settle();
    await desk.ask('ledger', 'reconcile');
  });

  it('removes dead-man switches and reports it', async () => {
    await desk.engine.dueCancels.set(ALICE, 5_000);
    await lose();
    const { stdout } = await desk.run('ledger', 'rebuild');
    expect(stdout).to.include('dead-man switches are lost: clients must set theirs again');
    await reopen();
    expect((await desk.engine.dueCancels.take(10, 1_000)).nextDueMs).to.equal(null);
  });

  it('remembers each client order id and each reference', async () => {
    await lose();
    await desk.ask('ledger', 'rebuild');
    await reopen();
    const used = await query<{ wallet: string; client_order_id: string; id: string }>(
      desk.databaseUrl,
      'select wallet, client_order_id, id from orders where client_order_id is not null',
    );
    expect(used.length).to.be.above(20);
    for (const { wallet, client_order_id } of used)
      expect((await desk.engine.orders.find(wallet, client_order_id)).outcome).to.equal('unchecked');
    expect((await desk.engine.orders.find(ALICE, 'never')).outcome).to.equal('unclaimed');
    const shown = await desk.ask('account', 'show', ALICE);
    await desk.ask('account', 'credit', ALICE, 'ETH', '100000', '--reference', `${ALICE} ETH`);
    expect(await desk.ask('account', 'show', ALICE)).to.deep.equal(shown);
  });

  it('refuses an existing engine and does not change it', async () => {
    expect(await desk.refuse('ledger', 'rebuild')).to.equal('ENGINE_NOT_EMPTY');
    expect(await contentOf(desk.redis)).to.deep.equal(before);
    // The engine's own key was deleted, but the remaining keys may be of use to an operator.
    await desk.redis.del('{redbook}:engine');
    expect(await desk.refuse('ledger', 'rebuild')).to.equal('ENGINE_NOT_EMPTY');
  });

  it('restarts after an interrupted rebuild; until then no process opens the engine', async () => {
    await lose();
    const { liveOrders } = desk.ledger.state;
    let orders = 0;
    desk.services.ledger.state.liveOrders = async function* (sequence) {
      for await (const order of liveOrders(sequence)) {
        orders += 1;
        if (orders > 3) throw new Error('the power went');
        yield order;
      }
      expect.fail('there are more orders');
    };
    await desk.redis.zadd('{redbook}:book:ETH/USDC:bids', '0', 'a member of the one that broke off');
    await desk.redis.hset('{redbook}:rebuilding', 'begun', '1');
    expect((await desk.run('ledger', 'rebuild')).status).to.equal(1);
    const opening = desk.engine.lifecycle.open(await desk.ledger.settlement.cursor());
    expect(await opening.catch((error: Error) => error.name)).to.equal('EngineBehind');
    desk.services.ledger.state.liveOrders = liveOrders;
    await desk.ask('ledger', 'rebuild');
    expect(await contentOf(desk.redis)).to.deep.equal(before);
  });

  it('puts nothing in force when somebody adds an entry to the stream meanwhile; the next rebuild does', async () => {
    await lose();
    const { liveOrders } = desk.ledger.state;
    desk.services.ledger.state.liveOrders = async function* (sequence) {
      await desk.redis.xadd(KEYS.events, '60000-1', 'e', 'by hand');
      yield* liveOrders(sequence);
    };
    expect(await desk.refuse('ledger', 'rebuild')).to.equal('SERVICE_UNAVAILABLE');
    expect(await desk.redis.exists(KEYS.engine)).to.equal(0);
    desk.services.ledger.state.liveOrders = liveOrders;
    await desk.ask('ledger', 'rebuild');
    expect(await contentOf(desk.redis)).to.deep.equal(before);
  });

  it('does not add unsettled events of the lost engine to the ledger', async () => {
    await desk.ask('account', 'credit', ALICE, 'ETH', '7', '--reference', 'lost');
    const cursor = await desk.ledger.settlement.cursor();
    const lost = await desk.engine.outbox.readEvents(cursor, 10);
    expect(lost.map(({ kind }) => kind)).to.include('credited');
    await lose();
    const { switches } = desk.ledger.state;
    desk.services.ledger.state.switches = async () => {
      expect((await desk.ledger.settlement.settle(lost)).sequence, 'settled meanwhile').to.equal(
        cursor.sequence,
      );
      return switches();
    };
    await desk.ask('ledger', 'rebuild');
    desk.services.ledger.state.switches = switches;
    const late = desk.ledger.settlement.settle(lost);
    expect(await late.catch((error: Error) => error.name)).to.equal('LedgerDiverged');
    expect(await contentOf(desk.redis)).to.deep.equal(before);
    await reopen();
    await desk.ask('account', 'credit', ALICE, 'ETH', '7', '--reference', 'lost');
    await desk.settle();
    await desk.ask('ledger', 'reconcile');
  });

  it('goes on after every epoch that Postgres has noted', async () => {
    await desk.ledger.epochs.note({ epoch: 700, server: 'the lost one' });
    await lose();
    await desk.ask('ledger', 'rebuild');
    await reopen();
    expect((await desk.engine.snapshots.state()).epoch).to.equal(801);
  });

  it('rejects a ledger whose orders reserve more than the balances', async () => {
    await lose();
    await query(
      desk.databaseUrl,
      `set session_replication_role = replica; delete from ledger_entries where asset = 'USDC' and kind = 'credit'`,
    );
    expect(await desk.refuse('ledger', 'rebuild')).to.equal('LEDGER_INCONSISTENT');
    const opening = desk.engine.lifecycle.open(await desk.ledger.settlement.cursor());
    expect(await opening.catch((error: Error) => error.name)).to.equal('EngineBehind');
  });
});

describe('books: rebuild of an engine of another format', function () {
  this.timeout(60_000);
  let desk: Desk;

  beforeEach(async () => {
    desk = await openDesk();
    await desk.ask('market', 'create', 'ETH/USDC', ...marketRules());
    await desk.ask('account', 'credit', ALICE, 'USDC', '100000', '--reference', 'in');
    await desk.place({ wallet: ALICE, clientOrderId: 'first' });
    await desk.place({ wallet: ALICE, price: '1990' });
    await desk.settle();
    await desk.engine.outbox.trim(await desk.ledger.settlement.cursor());
  });
  afterEach(() => desk.close());

  /** Simulates an engine of a later release. */
  const setFormat = (format: string): Promise<unknown> =>
    desk.redis.hset('{redbook}:engine', 'format', format);
  const open = async (): Promise<unknown> =>
    desk.engine.lifecycle.open(await desk.ledger.settlement.cursor());
  const nameOf = (opening: Promise<unknown>): Promise<string> =>
    opening.then(
      () => 'opened',
      (error: Error) => error.name,
    );
  const codes = async (): Promise<string> => {
    const { status, stderr } = await desk.run('ledger', 'rebuild', '--json');
    return status === 0 ? 'rebuilt' : JSON.parse(stderr).code;
  };

  it('replaces it if Postgres has all of its events, and keeps its dead-man switches', async () => {
    await desk.engine.dueCancels.set(ALICE, 5_000);
    await desk.engine.dueCancels.set(WALLET(2), 1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await desk.engine.dueCancels.take(10, 60_000)).taken).to.have.length(1);
    const before = await contentOf(desk.redis);
    expect(before).to.include.all.keys(
      ...['due', 'leases', 'cut-offs'].map((name) => `{redbook}:cancel-after:${name}`),
    );
    await setFormat('3');
    expect(await nameOf(open())).to.equal('EngineFormat');
    const { stdout } = await desk.run('ledger', 'rebuild');
    expect(stdout).to.include('dead-man switches are as they were');
    expect(await contentOf(desk.redis)).to.deep.equal(before);
    await open();
    expect(await desk.engine.orders.liveCount(ALICE)).to.equal(2);
    expect(await codes()).to.equal('ENGINE_NOT_EMPTY');
  });

  it('deletes its claim filter', async () => {
    await desk.resizeFilter(2 ** 25);
    await desk.ask('claims', 'rebuild');
    await desk.resizeFilter(2 ** 24);
    await setFormat('3');
    const rebuilt = await desk.ask('ledger', 'rebuild');
    expect(rebuilt).to.include({ keepsSwitches: true, usedIds: 2 });
    expect(await desk.redis.keys('{redbook}:claim-filter*')).to.deep.equal(['{redbook}:claim-filter']);
  });

  it('refuses it while Postgres lacks events, reports how many, and changes nothing', async () => {
    for (const id of ['second', 'third'])
      await desk.place({ wallet: ALICE, price: '1980', clientOrderId: id });
    await setFormat('3');
    const before = await dump(desk.redis);
    const { status, stderr } = await desk.run('ledger', 'rebuild');
    expect(status).to.equal(1);
    expect(stderr).to.match(/^ENGINE_UNSETTLED: 2 events are not in Postgres yet/);
    expect(stderr).to.include('start the release that wrote this engine');
    expect(await dump(desk.redis)).to.deep.equal(before);
    await desk.settle();
    expect(await codes()).to.equal('rebuilt');
  });

  it('refuses it when it is older than Postgres', async () => {
    const { sequence } = await desk.ledger.settlement.cursor();
    await query(desk.databaseUrl, `update engine_cursor set sequence = ${sequence + 1}`);
    await setFormat('3');
    const before = await dump(desk.redis);
    expect(await codes()).to.equal('ENGINE_BEHIND');
    expect(await dump(desk.redis)).to.deep.equal(before);
  });

  it('replaces an engine that was rebuilt and has had no event since', async () => {
    await desk.redis.flushall();
    await desk.ask('ledger', 'rebuild');
    await setFormat('3');
    expect(await codes()).to.equal('rebuilt');
    // A deleted stream proves nothing.
    await setFormat('3');
    await desk.redis.del('{redbook}:events');
    expect(await codes()).to.equal('ENGINE_BEHIND');
  });

  it('refuses one that was written before release 0.1.0, says how to start anew, and changes nothing', async () => {
    await desk.redis.hdel('{redbook}:engine', 'format');
    const before = await dump(desk.redis);
    for (const refused of [open(), desk.engine.lifecycle.checkFormat()])
      expect(await refused.catch((error: Error) => error.message)).to.equal(
        "the engine's Redis was written before release 0.1.0, and no release reads it: nothing was changed; start anew with an empty Redis and an empty database (`npm start`: another DATA_DIR)",
      );
    expect(await codes()).to.equal('ENGINE_NOT_EMPTY');
    expect(await dump(desk.redis)).to.deep.equal(before);
  });

  it('restarts after an interrupted rebuild; until then no process opens the engine', async () => {
    await desk.engine.dueCancels.set(ALICE, 5_000);
    const before = await contentOf(desk.redis);
    await setFormat('3');
    const { liveOrders } = desk.ledger.state;
    // biome-ignore lint/correctness/useYield: it breaks off before the first order
    desk.services.ledger.state.liveOrders = async function* () {
      throw new Error('the power went');
    };
    expect((await desk.run('ledger', 'rebuild')).status).to.equal(1);
    expect(await nameOf(open())).to.equal('EngineBehind');
    desk.services.ledger.state.liveOrders = liveOrders;
    const { stdout } = await desk.run('ledger', 'rebuild');
    expect(stdout).to.include('dead-man switches are as they were');
    expect(await contentOf(desk.redis)).to.deep.equal(before);
  });

  it('stops writing once another rebuild has begun', async () => {
    const before = await contentOf(desk.redis);
    await setFormat('3');
    const { liveOrders } = desk.ledger.state;
    const other = {
      ...desk.services,
      ledger: { ...desk.ledger, state: { ...desk.ledger.state, liveOrders } },
    };
    let inside = false;
    desk.services.ledger.state.liveOrders = async function* (sequence) {
      yield* liveOrders(sequence);
      if (inside) return;
      inside = true;
      // The connection that locks the ledger was cut: another rebuild runs, and trading begins.
      await query(
        desk.databaseUrl,
        `select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()`,
      );
      await rebuildEngine(other);
      await open();
      await desk.engine.orders.cancelAll(ALICE, null);
    };
    expect(await codes()).to.equal('REBUILD_REPLACED');
    expect(await desk.redis.zcard('{redbook}:live')).to.equal(0);
    expect(before).to.include.keys('{redbook}:live');
    await desk.settle();
    await desk.ask('ledger', 'reconcile');
  });
});

describe('books: rebuild of nothing', () => {
  it('is refused: an empty engine opens by itself', async () => {
    const desk = await openDesk();
    try {
      await desk.redis.flushall();
      expect(await desk.refuse('ledger', 'rebuild')).to.equal('NOTHING_SETTLED');
      // An engine of another format must be replaced even if it has had no event.
      await desk.redis.hset('{redbook}:engine', 'format', '3');
      expect(await desk.ask('ledger', 'rebuild')).to.include({ sequence: 0, markets: 0 });
      await desk.engine.lifecycle.open(await desk.ledger.settlement.cursor());
      await desk.ask('asset', 'set', 'USDC', '--scale', '6');
      await desk.settle();
      await desk.ask('ledger', 'reconcile');
    } finally {
      await desk.close();
    }
  });
});
