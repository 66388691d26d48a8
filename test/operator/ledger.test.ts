import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { checkSwitches } from '../../src/operator/reconcile/switches.ts';
import { query, TABLES } from '../ledger/tables.ts';
import { type Desk, marketRules, openDesk, WALLET } from './fixture.ts';

const MAKER = WALLET('a');
const TAKER = WALLET('b');
const HELD = WALLET('e');
const MARKETS = ['ETH/USDC', 'BTC/USDC'];

interface Check {
  name: string;
  asset: string | null;
  count: number;
  differences: { subject: string; expected: string; found: string }[];
}

/** Funds two wallets on two markets that share their quote asset; some orders rest, some trade, some are gone. */
async function openBusyDesk(): Promise<Desk> {
  const desk = await openDesk();
  await desk.ask('asset', 'set', 'USDC', '--scale', '6');
  for (const market of MARKETS) await desk.ask('market', 'create', market, ...marketRules());
  for (const wallet of [MAKER, TAKER]) {
    for (const asset of ['ETH', 'BTC', 'USDC']) {
      await desk.ask('account', 'credit', wallet, asset, '1000000', '--reference', `${wallet} ${asset}`);
    }
  }
  await desk.ask('account', 'debit', TAKER, 'BTC', '1', '--reference', 'out, "quoted"\nand broken');
  for (const market of MARKETS) {
    for (let level = 1; level <= 4; level += 1) {
      await desk.place({ wallet: MAKER, market, side: 'sell', price: `${2000 + level}`, size: '1' });
      await desk.place({ wallet: MAKER, market, side: 'buy', price: `${2000 - level}`, size: '1' });
    }
    await desk.place({ wallet: TAKER, market, side: 'buy', price: '2002', size: '1.603' });
    const { order } = await desk.place({ wallet: TAKER, market, side: 'buy', price: '10', size: '1' });
    await desk.engine.cancelOrder(TAKER, order.id);
  }
  await desk.settle();
  return desk;
}

const bytes = (wallet: string, ...rest: string[]): Buffer =>
  Buffer.concat([Buffer.from(wallet.slice(2), 'hex'), ...rest.map((text) => Buffer.from(text))]);

/** Keeps a copy of all that Redis and Postgres hold; what it returns puts everything back. */
async function remember({ redis, databaseUrl }: Desk): Promise<() => Promise<void>> {
  const keys = await redis.keys('*');
  const values = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
  const copies = TABLES.map((table) => `create table saved.${table} as table ${table};`);
  await query(databaseUrl, `create schema saved; ${copies.join(' ')}`);
  return async () => {
    await redis.flushall();
    await Promise.all(keys.map((key, index) => redis.restore(key, 0, values[index]!)));
    const rows = TABLES.map((table) => `delete from ${table}; insert into ${table} table saved.${table};`);
    await query(databaseUrl, withTriggersOff(rows.join(' ')));
  };
}

/** A field of the engine hash that is of a wallet. */
const bytesOfField = (name: string, wallet: string): Buffer =>
  Buffer.concat([Buffer.from(`${name}:`), bytes(wallet)]);

const addTo = (redis: Redis, asset: string, field: Buffer, atoms: number): Promise<unknown> =>
  redis.call('HINCRBY', `{redbook}:balances:${asset}`, field, atoms);

async function changeRecord(redis: Redis, symbol: string, from: string, to: string): Promise<unknown> {
  const record = await redis.hget('{redbook}:markets', symbol);
  expect(record).to.contain(from);
  return redis.hset('{redbook}:markets', symbol, record!.replace(from, to));
}

const withTriggersOff = (sql: string): string => `set session_replication_role = replica; ${sql}`;

describe('operator: ledger reconcile', function () {
  this.timeout(60_000);
  let desk: Desk;
  let restore: () => Promise<void>;
  before(async () => {
    desk = await openBusyDesk();
    // Some of every switch; none of them is in the way of what wallets do below.
    await desk.ask('account', 'hold', HELD);
    await desk.ask('terms', 'require', '1');
    for (const wallet of [MAKER, TAKER, WALLET('c'), WALLET('d')]) await desk.engine.acceptTerms(wallet, '1');
    await desk.settle();
    restore = await remember(desk);
  });
  afterEach(() => restore());
  after(() => desk.close());

  const violated = async (): Promise<Check[]> => {
    const { status, stdout, stderr } = await desk.run('ledger', 'reconcile', '--json');
    expect(stdout, stderr).not.to.equal('');
    const document = JSON.parse(stdout);
    const checks = document.checks.filter(({ count }: Check) => count > 0);
    expect(status).to.equal(checks.length > 0 ? 1 : 0);
    expect(document.holds).to.equal(checks.length === 0);
    if (checks.length > 0) expect(JSON.parse(stderr).code).to.equal('NOT_RECONCILED');
    return checks;
  };

  it('holds, and says what it compared', async () => {
    expect(await violated()).to.deep.equal([]);
    const { checks } = await desk.ask('ledger', 'reconcile');
    const perAsset = checks.filter(({ asset }: Check) => asset === 'USDC');
    expect(perAsset.map(({ name }: Check) => name)).to.deep.equal([
      'conservation',
      'reserved = live orders',
      'supply = credits - debits',
      'Redis = Postgres',
      'book = live orders',
    ]);
    const { status, stdout } = await desk.run('ledger', 'reconcile');
    expect(status).to.equal(0);
    expect(stdout).to.match(/^CHECK +ASSET +COMPARED +RESULT$/m);
    expect(stdout).to.match(/^Redis = Postgres +USDC +3 accounts at event \d+ +holds$/m);
    expect(stdout).to.match(/^live list = live orders +14 orders at event \d+ +holds$/m);
    expect(stdout).to.match(/^switches = their events +10 switches at event \d+ +holds$/m);
    expect(stdout).to.match(/^transactions sum to zero +up to event \d+ +holds$/m);
    expect(stdout).to.match(/everything holds: 35 checks, up to event \d+\n$/);
  });

  it('waits for settlement, and gives up when it stands still', async () => {
    await desk.place({ wallet: TAKER, price: '1' });
    const { status, stderr, stdout } = await desk.run('ledger', 'reconcile', '--patience', '0', '--json');
    expect({ status, stdout }).to.deep.equal({ status: 1, stdout: '' });
    expect(JSON.parse(stderr).code).to.equal('SETTLEMENT_STALLED');
    const settlement = desk.settleOnAndOn();
    expect(await violated()).to.deep.equal([]);
    await settlement.stop();
  });

  it('holds under load, again and again', async () => {
    const settlement = desk.settleOnAndOn();
    let trading = true;
    const load = Promise.all(
      [MAKER, TAKER, WALLET('c'), WALLET('d')].map(async (wallet, index) => {
        const reference = `load ${index}`;
        await desk.ask('account', 'credit', wallet, 'USDC', '1000000', '--reference', reference);
        for (let turn = 0; trading; turn += 1) {
          const market = MARKETS[turn % 2]!;
          const side = index === 0 ? 'sell' : 'buy';
          const price = String(2000 + ((turn * 7 + index) % 5) - (turn % 3));
          const { order } = await desk.place({ wallet, market, side, price, size: '0.01' });
          if (turn % 2 === 0) await desk.engine.cancelOrder(wallet, order.id).catch(() => undefined);
        }
      }),
    );
    for (let time = 0; time < 5; time += 1) expect(await violated()).to.deep.equal([]);
    trading = false;
    await load;
    await settlement.stop();
  });

  it('follows switches that are not settled yet, and misses an event that is gone', async () => {
    await desk.engine.pause();
    await desk.engine.release(HELD);
    await desk.engine.hold(TAKER);
    await desk.engine.requireTerms('2');
    await desk.engine.acceptTerms(MAKER, '2');
    await desk.engine.setMarket('ETH/USDC', { feeBps: 11 });
    expect(await checkSwitches(desk)).to.deep.include({ count: 0, compared: '11 switches at event 44' });
    await desk.redis.xtrim('{redbook}:events', 'MAXLEN', 1);
    const { differences } = await checkSwitches(desk);
    expect(differences[0]).to.deep.equal({
      subject: 'event 39',
      expected: 'an event of the engine',
      found: 'lost',
    });
  });

  it('is remembered with what it found', async () => {
    await desk.ask('ledger', 'reconcile');
    const held = (await desk.ask('status')).reconciled;
    expect(held).to.include({ holds: true, checks: 35, differences: 0 });
    await desk.redis.hset('{redbook}:engine', 'paused', '1');
    await desk.run('ledger', 'reconcile');
    const failed = (await desk.ask('status')).reconciled;
    expect(failed).to.deep.include({
      holds: false,
      differences: 1,
      failedChecks: ['switches = their events'],
    });
    expect(Date.parse(failed.at)).to.be.least(Date.parse(held.at));
    const { stdout } = await desk.run('status');
    expect(stdout).to.match(/^books +1 difference in switches = their events, \d{4}-\S+Z, event 38$/m);
  });

  const damage: Record<string, { seenBy: string[]; act: (desk: Desk) => Promise<unknown> }> = {
    'a balance in Redis was changed': {
      act: ({ redis }) => addTo(redis, 'USDC', bytes(TAKER, 'a'), 1),
      seenBy: ['conservation', 'Redis = Postgres'],
    },
    'money moved between wallets in Redis': {
      act: async ({ redis }) => {
        await addTo(redis, 'USDC', bytes(TAKER, 'a'), 1);
        await addTo(redis, 'USDC', bytes(MAKER, 'a'), -1);
      },
      seenBy: ['Redis = Postgres'],
    },
    'the supply in Redis was changed': {
      act: ({ redis }) => redis.hincrby('{redbook}:balances:ETH', 'supply', -5),
      seenBy: ['conservation', 'supply = credits - debits'],
    },
    'the fees in Redis were taken': {
      act: ({ redis }) => redis.hset('{redbook}:balances:USDC', 'house', '0'),
      seenBy: ['conservation', 'Redis = Postgres'],
    },
    'a reservation in Redis was changed': {
      act: async ({ redis }) => {
        await addTo(redis, 'ETH', bytes(MAKER, 'r'), -1);
        await addTo(redis, 'ETH', bytes(MAKER, 'a'), 1);
      },
      seenBy: ['reserved = live orders'],
    },
    'a balance in Redis is negative': {
      act: ({ redis }) => redis.call('HSET', '{redbook}:balances:BTC', bytes(TAKER, 'a'), '-1'),
      seenBy: ['conservation', 'reserved = live orders', 'Redis = Postgres'],
    },
    'an order is not listed as live': {
      act: async ({ redis }) => {
        const [member] = await redis.zrangeBuffer('{redbook}:live', '0', '0');
        await redis.zrem('{redbook}:live', member!);
      },
      seenBy: ['live list = live orders'],
    },
    'an order is listed as live that is not': {
      act: ({ redis }) => redis.zadd('{redbook}:live', 0, bytes(TAKER, '\0'.repeat(17))),
      seenBy: ['live list = live orders'],
    },
    'an order is gone from the book': {
      act: async ({ redis }) => {
        const [member] = await redis.zrangeBuffer('{redbook}:book:ETH/USDC:asks', '0', '0');
        await redis.zrem('{redbook}:book:ETH/USDC:asks', member!);
      },
      seenBy: ['reserved = live orders', 'book = live orders'],
    },
    'an order in the book belongs to somebody else': {
      act: async ({ redis }) => {
        const book = '{redbook}:book:BTC/USDC:bids';
        const [member] = await redis.zrangeBuffer(book, '0', '0');
        await redis.zrem(book, member!);
        bytes(TAKER).copy(member!, 15);
        await redis.zadd(book, 0, member!);
      },
      seenBy: ['reserved = live orders', 'book = live orders'],
    },
    'an entry in Postgres was changed': {
      act: ({ databaseUrl }) =>
        query(
          databaseUrl,
          withTriggersOff(`update ledger_entries set amount_atoms = amount_atoms + 1
            where (sequence, line) = (select min(sequence), 0 from trades)`),
        ),
      seenBy: ['Redis = Postgres', 'transactions sum to zero', 'entries follow from trades and movements'],
    },
    'a deposit is gone from Postgres': {
      act: ({ databaseUrl }) =>
        query(
          databaseUrl,
          withTriggersOff(
            `delete from ledger_entries where sequence = (select min(sequence) from movements)`,
          ),
        ),
      seenBy: [
        'supply = credits - debits',
        'Redis = Postgres',
        'entries follow from trades and movements',
        'no account is overdrawn',
      ],
    },
    'an order in Postgres counts a fill that no trade made': {
      act: ({ databaseUrl }) =>
        query(databaseUrl, 'update orders set filled_steps = filled_steps - 1 where filled_steps = 603'),
      seenBy: ['fills are trades'],
    },
    'a live order in Postgres was closed': {
      act: ({ databaseUrl }) =>
        query(
          databaseUrl,
          `update orders set status = 'cancelled', closed_sequence = sequence
           where id = (select id from orders where status = 'resting' and side = 'buy' limit 1)`,
        ),
      seenBy: ['book = live orders', 'live list = live orders'],
    },
    'trading was paused in Redis alone': {
      act: ({ redis }) => redis.hset('{redbook}:engine', 'paused', '1'),
      seenBy: ['switches = their events'],
    },
    'a hold is gone from Redis': {
      act: ({ redis }) => redis.hdel('{redbook}:engine', bytesOfField('hold', HELD)),
      seenBy: ['switches = their events'],
    },
    'a hold is gone from Postgres': {
      act: ({ databaseUrl }) => query(databaseUrl, 'delete from holds'),
      seenBy: ['switches = their events'],
    },
    'other terms were accepted': {
      act: ({ databaseUrl }) => query(databaseUrl, `update wallet_terms set version = '2'`),
      seenBy: ['switches = their events'],
    },
    'other terms are required': {
      act: ({ databaseUrl }) => query(databaseUrl, `update trading_switches set terms_version = '2'`),
      seenBy: ['switches = their events'],
    },
    'the rules of a market are of another version': {
      act: ({ redis }) => redis.hincrby('{redbook}:engine', 'version:1', 1),
      seenBy: ['switches = their events'],
    },
    'a rule of a market is another one in Redis, of the same version': {
      act: ({ redis }) => changeRecord(redis, 'ETH/USDC', '"feeBps":10', '"feeBps":1'),
      seenBy: ['switches = their events'],
    },
    'Postgres holds another last event': {
      act: ({ databaseUrl }) => query(databaseUrl, `update engine_cursor set digest = repeat('0', 64)`),
      seenBy: ['one history'],
    },
  };
  for (const [what, { act, seenBy }] of Object.entries(damage)) {
    it(`sees that ${what}`, async () => {
      await act(desk);
      const checks = await violated();
      expect(checks.map(({ name }) => name)).to.include.members(seenBy);
      const { status, stdout, stderr } = await desk.run('ledger', 'reconcile');
      expect(status).to.equal(1);
      expect(stdout)
        .to.match(/\d differences?$/m)
        .and.to.match(/^ {4}expected /m);
      expect(stderr).to.match(/^NOT_RECONCILED: \d+ of 35 checks do not hold\n$/);
    });
  }

  it('counts every difference and shows the first twenty', async () => {
    await query(desk.databaseUrl, withTriggersOff('delete from ledger_entries'));
    const checks = await violated();
    const entries = checks.find(({ name }) => name === 'entries follow from trades and movements')!;
    expect(entries.count).to.be.greaterThan(20);
    expect(entries.differences).to.have.length(20);
    const { stdout } = await desk.run('ledger', 'reconcile');
    expect(stdout).to.contain(`… and ${entries.count - 20} more`);
  });
});

describe('operator: ledger export', () => {
  let desk: Desk;
  before(async () => {
    desk = await openBusyDesk();
  });
  after(() => desk.close());

  const SPAN = ['--from', '2020-01-01', '--to', '2100-01-01T00:00:00+02:00'];
  const read = async (...argv: string[]): Promise<string> => {
    const { status, stdout, stderr } = await desk.run('ledger', 'export', ...SPAN, ...argv);
    expect(stderr).to.equal('');
    expect(status).to.equal(0);
    return stdout;
  };

  it('writes CSV with a header row, exact amounts and quoted texts', async () => {
    const text = await read();
    const lines = text.split('\n');
    expect(lines[0]).to.equal('entry_id,time,transaction_id,kind,account,asset,amount,reference');
    expect(lines.at(-1)).to.equal('');
    expect(text).to.contain(`,custody,BTC,1,"out, ""quoted""\nand broken"\n`);
    expect(text).to.match(
      /^\d+-\d,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z,trade-\d+,fee,house,USDC,2\.001,[0-9a-f]{34}$/m,
    );
  });

  it('writes lines of JSON, and one JSON document, with the same entries', async () => {
    const lines = (await read('--format', 'jsonl')).trimEnd().split('\n');
    const entries = lines.map((line) => JSON.parse(line));
    expect(Object.keys(entries[0])).to.deep.equal([
      ...['entryId', 'time', 'transactionId', 'kind', 'account', 'asset', 'amount', 'reference'],
    ]);
    expect(JSON.parse(await read('--json'))).to.deep.equal({ entries });
    const csvRecords = [...(await read()).matchAll(/^\d+-\d+,/gm)].length;
    expect(csvRecords).to.equal(entries.length);
    for (const asset of ['ETH', 'USDC']) {
      const some = (await read('--format', 'jsonl', '--asset', asset)).trimEnd().split('\n');
      expect(some).to.deep.equal(lines.filter((line) => JSON.parse(line).asset === asset));
    }
  });

  it('goes on after any entry, so that the parts make the whole', async () => {
    for (const format of ['csv', 'jsonl']) {
      const whole = await read('--format', format);
      const idsIn = (text: string): string[] =>
        [...text.matchAll(/^(?:\{"entryId":")?(\d+-\d+)[,"]/gm)].map(([, id]) => id!);
      const ids = idsIn(whole);
      expect(ids.length).to.be.greaterThan(20);
      for (const [index, id] of ids.entries()) {
        const rest = await read('--format', format, '--after', id);
        expect(idsIn(rest)).to.deep.equal(ids.slice(index + 1));
        expect(whole.endsWith(rest)).to.equal(true);
      }
    }
  });

  it('takes its span to the millisecond, the end left out', async () => {
    const entries = JSON.parse(await read('--json')).entries;
    const times = entries.map(({ time }: { time: string }) => time);
    const [first, last] = [times[0], times.at(-1)];
    const { stdout } = await desk.run('ledger', 'export', '--from', first, '--to', last, '--json');
    expect(JSON.parse(stdout).entries).to.deep.equal(
      entries.filter(({ time }: { time: string }) => time < last),
    );
    const none = await desk.run('ledger', 'export', '--from', first, '--to', first, '--json');
    expect(JSON.parse(none.stdout)).to.deep.equal({ entries: [] });
    const header = await desk.run('ledger', 'export', '--from', '2090-01-01', '--to', '2091-01-01');
    expect(header.stdout.split('\n')).to.have.length(2);
  });

  it('sums to zero in every asset', async () => {
    const { entries } = JSON.parse(await read('--json'));
    const sums: Record<string, bigint> = {};
    for (const { asset, amount } of entries as { asset: string; amount: string }[]) {
      const [whole, fraction = ''] = amount.replace('-', '').split('.');
      const atoms = BigInt(whole + fraction.padEnd(8, '0'));
      sums[asset] = (sums[asset] ?? 0n) + (amount.startsWith('-') ? -atoms : atoms);
    }
    expect(sums).to.deep.equal({ ETH: 0n, BTC: 0n, USDC: 0n });
  });
});

describe('operator: status', () => {
  let desk: Desk;
  before(async () => {
    desk = await openBusyDesk();
  });
  after(() => desk.close());

  it('tells the lag of settlement, and what else is known', async () => {
    const { sequence } = await desk.engine.state();
    const quiet = await desk.ask('status');
    expect(quiet.engine).to.include({ epoch: 1, sequence, paused: false, requiredTerms: null });
    expect(quiet.settlement).to.deep.include({ epoch: 1, sequence, lag: { events: 0, seconds: 0 } });
    expect(quiet.markets).to.deep.equal(
      MARKETS.map((symbol) => ({ symbol, status: 'active', tradingEnabled: true })),
    );
    expect(quiet).to.include({ queue: null, replicas: null, snapshotAgeMs: null });

    await desk.place({ wallet: TAKER, price: '1' });
    await desk.place({ wallet: TAKER, price: '1' });
    const { settlement } = await desk.ask('status');
    expect(settlement.lag.events).to.equal(2);
    expect(settlement.lag.seconds).to.be.within(0, 5);
    await desk.settle();
  });

  it('shows it to people', async () => {
    await desk.ask('market', 'set', 'BTC/USDC', '--status', 'halted');
    Object.assign(desk.services, {
      queueCounts: async () => ({ waiting: 1, active: 0, delayed: 1 }),
      replicas: async () => ({ api: 2, settlement: 1 }),
      snapshotAgeMs: async () => 1234,
    });
    const { stdout, status } = await desk.run('status');
    expect(status).to.equal(0);
    expect(stdout).to.match(/^trading {4}on$/m);
    expect(stdout).to.match(/^markets {4}1 active, 1 halted$/m);
    expect(stdout).to.match(/^lag {8}1 events, [\d.]+ s$/m);
    expect(stdout).to.match(/^queue {6}1 waiting, 1 delayed$/m);
    expect(stdout).to.match(/^replicas {3}2 api, 1 settlement$/m);
    expect(stdout).to.match(/^snapshots {2}1.2 s old$/m);
  });

  it('does without what cannot be known', async () => {
    const queueCounts = async (): Promise<never> => {
      throw new Error('no queue');
    };
    Object.assign(desk.services, { queueCounts });
    expect(await desk.ask('status')).to.include({ queue: null });
  });

  it('is of use when a server is away, and fails all the same', async () => {
    desk.operating.disconnect();
    const { status, stdout, stderr } = await desk.run('status', '--json');
    expect(status).to.equal(1);
    expect(JSON.parse(stderr).code).to.equal('SERVICE_UNAVAILABLE');
    const document = JSON.parse(stdout);
    expect(document.engine).to.equal(null);
    expect(document.settlement).to.deep.include({ epoch: 1, lag: null });
    expect((await desk.run('status')).stdout).to.match(/^engine {5}away$/m);
  });
});
