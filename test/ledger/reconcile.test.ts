import { expect } from 'chai';
import { type Ledger, openLedger } from '../../src/ledger/index.ts';
import { runSeed } from '../support/seed.ts';
import { seededEvents } from '../support/seeded-events.ts';
import { freshDatabase } from '../support/servers.ts';
import { query } from './tables.ts';

/** What a hand in the database could do, with the triggers off, and the checks that must see it. */
const DAMAGE: Record<string, { sql: string; seenBy: string[] }> = {
  'an entry is missing': {
    sql: 'delete from ledger_entries where (sequence, line) in (select sequence, 0 from trades order by 1 limit 1)',
    seenBy: ['transactions sum to zero', 'entries follow from trades and movements'],
  },
  'a trade was booked twice': {
    sql: `insert into ledger_entries
      select sequence, line + 1000, transaction_id, kind, account, asset, amount_atoms, reference, time_ms
      from ledger_entries where transaction_id = (select 'trade-' || max(trade_id) from trades)`,
    seenBy: ['entries follow from trades and movements'],
  },
  'a trade was not booked': {
    sql: `delete from ledger_entries where transaction_id = (select 'trade-' || max(trade_id) from trades)`,
    seenBy: ['entries follow from trades and movements'],
  },
  'money moved to another account': {
    sql: `update ledger_entries set account = 'nobody'
      where kind = 'credit' and account <> 'custody' and sequence = (select min(sequence) from movements)`,
    seenBy: ['entries follow from trades and movements', 'no account is overdrawn'],
  },
  'a deposit is larger than its entries': {
    sql: 'update movements set amount_atoms = amount_atoms - 1 where sequence = (select max(sequence) from movements)',
    seenBy: ['entries follow from trades and movements'],
  },
  'an order counts a fill that no trade made': {
    sql: `update orders set filled_steps = filled_steps - 1
      where id = (select taker_order_id from trades order by trade_id limit 1)`,
    seenBy: ['fills are trades'],
  },
  'an order counts one fill too many': {
    sql: `update orders set fill_count = fill_count + 1
      where id = (select maker_order_id from trades order by trade_id limit 1)`,
    seenBy: ['fills are trades'],
  },
  'a trade is gone': {
    sql: 'delete from trades where trade_id = (select max(trade_id) from trades)',
    seenBy: ['entries follow from trades and movements', 'fills are trades', 'candles are their trades'],
  },
  'an order is gone': {
    sql: 'delete from orders where id = (select maker_order_id from trades order by trade_id limit 1)',
    seenBy: ['trades fit their orders'],
  },
  'a trade names the wrong wallet': {
    sql: `update orders set wallet = 'nobody' where id = (select maker_order_id from trades limit 1)`,
    seenBy: ['trades fit their orders'],
  },
  'a trade was made at another price': {
    sql: `update orders set price_ticks = price_ticks + 1
      where id = (select maker_order_id from trades order by trade_id limit 1)`,
    seenBy: ['trades fit their orders'],
  },
  'a candle is too high': {
    sql: 'update candles set high_ticks = high_ticks + 1 where open_ms = (select max(open_ms) from candles)',
    seenBy: ['candles are their trades'],
  },
  'a candle is gone': {
    sql: 'delete from candles where open_ms = (select max(open_ms) from candles)',
    seenBy: ['candles are their trades'],
  },
  'a candle counts what nobody traded': {
    sql: `insert into candles values ('ETH/USDC', 0, 1, 1, 1, 1, 1, 1, 1, 1)`,
    seenBy: ['candles are their trades'],
  },
  'trade ids are out of order': {
    sql: `update trades set trade_id = 9007199254740991 where trade_id = (select min(trade_id) from trades);
      update ledger_entries set transaction_id = 'trade-9007199254740991'
      where transaction_id = (select transaction_id from ledger_entries where kind = 'trade' order by sequence, line
        limit 1)`,
    seenBy: ['trade ids rise', 'candles are their trades'],
  },
};

describe('ledger check', () => {
  let ledger: Ledger;
  let databaseUrl: string;

  before(async () => {
    databaseUrl = await freshDatabase();
    ledger = openLedger({ databaseUrl });
    await ledger.migrate();
    await ledger.settle(seededEvents(runSeed()).next(800));
  });

  after(() => ledger.close());

  it('finds nothing wrong with what was settled', async () => {
    const { sequence, checks } = await ledger.check();
    expect(sequence).to.equal(800);
    for (const { name, meaning, count, violations } of checks) {
      expect(count, name).to.equal(0);
      expect(violations, name).to.deep.equal([]);
      expect(meaning).to.be.a('string');
    }
  });

  for (const [name, { sql, seenBy }] of Object.entries(DAMAGE)) {
    it(`sees that ${name}`, async () => {
      const copyUrl = await freshDatabase();
      const damaged = openLedger({ databaseUrl: copyUrl });
      await damaged.migrate();
      await damaged.settle(seededEvents(7).next(800));
      await query(copyUrl, `set session_replication_role = replica; ${sql}`);
      const { checks } = await damaged.check();
      await damaged.close();
      const seen = checks.filter(({ count }) => count > 0);
      expect(seen.map((check) => check.name)).to.deep.equal(seenBy);
      for (const { violations } of seen) {
        expect(violations[0]?.subject).to.match(/\w/);
        expect(violations[0]?.expected).to.not.equal(violations[0]?.found);
      }
    });
  }
});
