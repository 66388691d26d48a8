/**
 * Tests `ledger reconcile`: it passes, also under load; its output; and the bounded size of its reads of the engine.
 */

import { expect } from 'chai';
import type { FollowedOrder, Follower } from '../../../src/books/reconcile/follower.ts';
import { reconcile } from '../../../src/books/reconcile/index.ts';
import { compareMembers, LiveOrders } from '../../../src/books/reconcile/members.ts';
import type { MemberPage } from '../../../src/engine/index.ts';
import { BUSY_MARKETS, MAKER, openBusyFixture, TAKER } from '../../operator/busy-fixture.ts';
import { type OperatorFixture, openOperatorFixture, WALLET } from '../../operator/fixture.ts';
import { seedRestingOrders } from '../../support/resting-orders.ts';
import { random, runSeed } from '../../support/seed.ts';

const HELD = WALLET('e');
const TRADERS = [MAKER, TAKER, WALLET('c'), WALLET('d')];
const CHECKS = 65;

describe('books: reconcile', () => {
  let fixture: OperatorFixture;
  before(async () => {
    fixture = await openBusyFixture();
    await fixture.ask('account', 'hold', HELD, '--reason', 'a test');
    await fixture.ask('terms', 'require', '1');
    for (const wallet of TRADERS) await fixture.engine.switches.acceptTerms(wallet, '1');
    await fixture.settle();
  });
  after(() => fixture.close());

  const differences = async (): Promise<string[]> => {
    const { checks } = await reconcile(fixture.services, { patienceMs: 30_000 });
    return checks.flatMap(({ name, differences }) =>
      differences.map((one) => `${name}: ${one.subject}: ${one.expected} / ${one.found}`),
    );
  };

  it('passes on intact books and reports what it compared', async () => {
    const { status, stdout, stderr } = await fixture.run('ledger', 'reconcile');
    expect({ status, stderr }, stdout).to.deep.equal({ status: 0, stderr: '' });
    expect(stdout).to.match(/^CHECK +ASSET +COMPARED +RESULT$/m);
    expect(stdout).to.match(/^Redis = Postgres +USDC +6 balances up to event \d+ +holds$/m);
    expect(stdout).to.match(/^live list = live orders +14 orders up to event \d+ +holds$/m);
    expect(stdout).to.match(/^switches = their events +8 switches up to event \d+ +holds$/m);
    expect(stdout).to.match(/^adoptions sum to zero +up to event \d+ +holds$/m);
    expect(stdout).to.match(new RegExp(`everything holds: ${CHECKS} checks, up to event \\d+\\n$`));
    const { checks } = await fixture.ask('ledger', 'reconcile');
    const ofAsset = checks.filter(({ asset }: { asset: string | null }) => asset === 'USDC');
    expect(ofAsset.map(({ name }: { name: string }) => name)).to.deep.equal([
      'conservation',
      'reserved = live orders',
      'supply = credits - debits',
      'Redis = Postgres',
    ]);
  });

  it('waits for settlement, and gives up if settlement is stalled', async () => {
    await fixture.place({ wallet: TAKER, price: '1' });
    const { status, stderr, stdout } = await fixture.run('ledger', 'reconcile', '--patience', '0', '--json');
    expect({ status, stdout }).to.deep.equal({ status: 1, stdout: '' });
    expect(JSON.parse(stderr).code).to.equal('SETTLEMENT_STALLED');
    const settlement = fixture.settleOnAndOn();
    expect(await differences()).to.deep.equal([]);
    await settlement.stop();
  });

  it('never reports a difference while trading goes on', async () => {
    const settlement = fixture.settleOnAndOn();
    const dice = random(runSeed());
    for (const wallet of TRADERS)
      for (const asset of ['ETH', 'BTC', 'USDC'])
        await fixture.ask(
          'account',
          'credit',
          wallet,
          asset,
          '1000000',
          '--reference',
          `load ${wallet} ${asset}`,
        );
    let isTrading = true;
    let commands = 0;
    const trade = async (wallet: string, index: number): Promise<void> => {
      for (let turn = 0; isTrading; turn += 1) {
        commands += 1;
        const market = dice.pick(BUSY_MARKETS);
        const side = dice.pick(['buy', 'sell'] as const);
        const price = String(2000 + dice.below(9) - 4);
        const clientOrderId = dice.chance(0.5) ? `load ${index} ${turn}` : null;
        await fixture.place({ wallet, market, side, price, size: `0.0${1 + dice.below(9)}`, clientOrderId });
        if (dice.chance(0.2)) await fixture.engine.orders.cancelAll(wallet, dice.chance(0.5) ? market : null);
      }
    };
    const others = async (): Promise<void> => {
      for (let turn = 0; isTrading; turn += 1) {
        await fixture.ask('account', 'credit', HELD, 'ETH', '1', '--reference', `turn ${turn}`);
        await fixture.engine.switches.release(HELD);
        await fixture.engine.switches.hold(HELD);
        await fixture.engine.markets.change('ETH/USDC', { feeBps: turn % 20 });
        await fixture.ask('account', 'credit', WALLET(turn % 10), 'BTC', '1', '--reference', `new ${turn}`);
      }
    };
    const load = Promise.all([...TRADERS.map(trade), others()]);
    // If the load fails, the reconciles must still stop.
    load.catch(() => undefined);
    const found: string[] = [];
    for (let time = 0; time < 3; time += 1) found.push(...(await differences()));
    isTrading = false;
    await load;
    await settlement.stop();
    expect(commands).to.be.above(100);
    expect(found).to.deep.equal([]);
    expect(await differences()).to.deep.equal([]);
  });

  it('reads new events while Postgres runs a long query', async () => {
    const slow: typeof fixture.ledger.audit = (work) =>
      fixture.ledger.audit((as) =>
        work({
          ...as,
          summary: async () => {
            for (const price of ['1', '2']) await fixture.place({ wallet: MAKER, price });
            await new Promise((resolve) => setTimeout(resolve, 2_500));
            await fixture.settle();
            await fixture.redis.xtrim('{redbook}:events', 'MAXLEN', 1);
            return as.summary();
          },
        }),
      );
    const { checks } = await reconcile(
      { ...fixture.services, ledger: { ...fixture.ledger, audit: slow } },
      { patienceMs: 0 },
    );
    expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
  });

  it('includes events that are unsettled at its start, and names a missing event', async () => {
    const audit: typeof fixture.ledger.audit = (work) =>
      fixture.ledger.audit(async (as) => {
        await fixture.engine.switches.pause();
        await fixture.engine.switches.release(HELD);
        await fixture.engine.switches.hold(TAKER);
        await fixture.engine.switches.requireTerms('2');
        await fixture.engine.switches.acceptTerms(MAKER, '2');
        await fixture.engine.markets.change('ETH/USDC', { feeBps: 21 });
        await fixture.engine.switches.resume();
        await fixture.place({ wallet: MAKER, price: '1', clientOrderId: 'late' });
        return work(as);
      });
    const late = { ...fixture.services, ledger: { ...fixture.ledger, audit } };
    const { checks } = await reconcile(late, { patienceMs: 0 });
    expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
    await fixture.settle();
    const { sequence } = await fixture.engine.reads.state();
    const gone: typeof fixture.ledger.audit = (work) =>
      fixture.ledger.audit(async (as) => {
        for (const price of ['1', '2']) await fixture.place({ wallet: MAKER, price });
        await fixture.redis.xtrim('{redbook}:events', 'MAXLEN', 1);
        return work(as);
      });
    const without = { ...fixture.services, ledger: { ...fixture.ledger, audit: gone } };
    const lost = await reconcile(without, { patienceMs: 0 });
    expect(lost.checks[1]).to.deep.include({ name: 'one history', asset: null, count: 1 });
    expect(lost.checks[1]!.differences).to.deep.equal([
      { subject: `event ${sequence + 1}`, expected: 'an event of the engine', found: 'lost' },
    ]);
  });
});

describe('books: reconcile of a large book', () => {
  const ORDERS = 6_000;
  let fixture: OperatorFixture;
  before(async () => {
    fixture = await openOperatorFixture();
    await seedRestingOrders(fixture, { orders: ORDERS, wallets: 3_000 });
  });
  after(() => fixture.close());

  it('reads at most 2,000 members or fields in one command, and all accounts in one statement', async () => {
    const largest = new Map<string, number>();
    const send = fixture.operating.sendCommand.bind(fixture.operating);
    fixture.operating.sendCommand = ((command, stream) => {
      void Promise.resolve(command.promise)
        .then((reply) =>
          largest.set(command.name, Math.max(largest.get(command.name) ?? 0, longestList(reply))),
        )
        .catch(() => undefined);
      return send(command, stream);
    }) as typeof send;
    let accountReads = 0;
    const audit: typeof fixture.ledger.audit = (work) =>
      fixture.ledger.audit((as) =>
        work({
          ...as,
          accounts: () => {
            accountReads += 1;
            return as.accounts();
          },
        }),
      );
    const ledger = { ...fixture.ledger, audit };
    const { checks } = await reconcile({ ...fixture.services, ledger }, { patienceMs: 0 });
    expect(checks.filter(({ count }) => count > 0)).to.deep.equal([]);
    expect(accountReads).to.equal(1);
    const compared = checks.map(({ name, compared: what }) => `${name}: ${what}`).join('\n');
    expect(compared)
      .to.contain(`book = live orders: ${ORDERS} orders`)
      .and.to.contain(`live list = live orders: ${ORDERS} orders`)
      .and.to.contain(`used ids are known: ${ORDERS * 2} ids`);
    expect([...largest.keys()])
      .to.include('evalsha_ro')
      .and.to.not.include.members(['hgetall', 'zrange']);
    for (const [name, length] of largest) expect(length, name).to.be.at.most(2_000);
    expect(largest.get('evalsha_ro')).to.be.at.least(1_000);
  });
});

describe('books: reconcile while many orders are placed', () => {
  const PAGES = 50;
  const PLACED = 400;
  const hex = (number: number): string => number.toString(16).padStart(4, '0');

  it('reads each new order once, however many pages the set has', async () => {
    const order = (number: number): FollowedOrder => ({
      id: hex(number),
      wallet: MAKER,
      market: 'ETH/USDC',
      side: 'buy',
      priceTicks: 1n,
      sizeSteps: 1n,
      remainingSteps: 1n,
      clientOrderId: null,
      units: { base: 'ETH', quote: 'USDC', baseAtomsPerStep: 1n, quoteAtomsPerLot: 1n },
    });
    const ordersPlaced: FollowedOrder[] = [];
    let pages = 0;
    let placements = 0;
    let seen = 0;
    const follower = {
      ordersPlaced,
      order: () => undefined,
      // Between two pages some orders come, one of which is gone again at once, in no order of their keys.
      advanceTo: async () => {
        const first = (pages - 1) * (PLACED / PAGES);
        for (let at = 0; at < PLACED / PAGES; at += 1) ordersPlaced.push(order(((first + at) * 7) % PLACED));
        ordersPlaced.at(-1)!.remainingSteps = 0n;
      },
    } as unknown as Follower;
    const page = (): MemberPage => {
      pages += 1;
      const to = (pages * PLACED) / PAGES - 1;
      const placed = ordersPlaced.filter(({ remainingSteps }) => remainingSteps > 0n).map(({ id }) => id);
      // The page is as of the events that come with it.
      const first = (pages - 1) * (PLACED / PAGES);
      for (let at = 0; at < PLACED / PAGES - 1; at += 1) placed.push(hex(((first + at) * 7) % PLACED));
      const from = hex(to - PLACED / PAGES);
      const members = placed.filter((id) => (pages === 1 || id > from) && id <= hex(to)).sort();
      if (!members.includes(hex(to))) members.push(hex(to));
      return {
        sequence: pages,
        members: members.map((id) => Buffer.from(id, 'hex')),
        isLast: pages === PAGES,
        misplaced: null,
      };
    };
    const missing: string[] = [];
    await compareMembers(
      follower,
      {
        scan: async () => page(),
        keyBytes: 2,
        has: () => true,
        entryOf: ({ id }) => {
          placements += 1;
          return { key: id, member: id };
        },
      },
      new LiveOrders((async function* () {})()),
      (expected, found) => {
        seen += 1;
        if (found === null) missing.push(expected!);
      },
      () => undefined,
    );
    expect(missing).to.deep.equal([]);
    expect(seen).to.be.at.least(PLACED / 4);
    expect(placements).to.be.within(1, 2 * PLACED);
  });
});

const longestList = (reply: unknown): number =>
  Array.isArray(reply) ? Math.max(reply.length, ...reply.map(longestList)) : 0;
