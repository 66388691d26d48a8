/**
 * Tests a stream to which somebody has added an entry by hand, with a higher id than the engine's next event. Every
 * operation that appends an event must then be refused with nothing written, and must work again once the entry and its
 * id are gone.
 */

import { expect } from 'chai';
import type { SelfTradePolicy } from '../../src/domain/market.ts';
import type { MarketSpec } from '../../src/domain/market-rules.ts';
import { walletBytes } from '../../src/engine/codec.ts';
import type { DueCancel } from '../../src/engine/due-cancels.ts';
import { EventRefused } from '../../src/engine/failures.ts';
import type { Engine } from '../../src/engine/index.ts';
import { balancesKey, KEYS } from '../../src/engine/keys.ts';
import type { OrderRequest } from '../../src/order/request.ts';
import { entryRemoval } from '../support/guide.ts';
import {
  ALICE,
  atMarket,
  BOB,
  CAROL,
  changeState,
  dump,
  type EngineFixture,
  eventsOf,
  expectConserved,
  fund,
  limit,
  movement,
  openEngineFixture,
  place,
  publishPlain,
  refusalOf,
  spec,
  spend,
} from './fixture.ts';

const M = 'ETH/USD';

/** An operation, after its preparation, and the kinds of the events that it appends. */
interface Operation {
  readonly name: string;
  readonly market?: Partial<MarketSpec>;
  prepare?(fixture: EngineFixture): Promise<unknown>;
  run(engine: Engine): Promise<unknown>;
  readonly appends: readonly string[];
}

const rest = (engine: Engine, wallet: string, side: 'buy' | 'sell', price: number, size = 5) =>
  place(engine, wallet, limit(M, side, price, size));

const ordered = (
  name: string,
  request: OrderRequest,
  prepare: (engine: Engine) => Promise<unknown> = async () => undefined,
  market: Partial<MarketSpec> = {},
): Operation => ({
  name,
  market,
  prepare: ({ engine }) => prepare(engine),
  run: (engine) => place(engine, CAROL, request),
  appends: ['order_placed'],
});

const id = { clientOrderId: 'an id' };
const asks =
  (...prices: number[]) =>
  async (engine: Engine): Promise<void> => {
    for (const price of prices) await rest(engine, ALICE, 'sell', price);
  };
const bids =
  (...prices: number[]) =>
  async (engine: Engine): Promise<void> => {
    for (const price of prices) await rest(engine, ALICE, 'buy', price);
  };
/** Rests two own asks of the taker between those of another wallet. */
const ownAsks = async (engine: Engine): Promise<void> => {
  await asks(10)(engine);
  for (const price of [11, 12]) await rest(engine, CAROL, 'sell', price);
  await asks(13)(engine);
};
const meetingOwn = (selfTrade: SelfTradePolicy): Operation =>
  ordered(`an order that meets own orders under ${selfTrade}`, limit(M, 'buy', 13, 20, id), ownAsks, {
    selfTrade,
  });

const ORDERS: readonly Operation[] = [
  ordered('an order that rests', limit(M, 'buy', 9, 5, id)),
  ordered('an order that rests, and has no id', limit(M, 'sell', 9, 5)),
  ordered('a post-only order that rests', limit(M, 'buy', 9, 5, { ...id, postOnly: true })),
  ordered('an order that one order fills', limit(M, 'buy', 10, 5, id), asks(10)),
  ordered('an order that cuts one order', limit(M, 'sell', 10, 3), bids(10)),
  ordered('an order that several orders fill', limit(M, 'buy', 12, 12, id), asks(10, 11, 12)),
  ordered('an order that fills in part and rests', limit(M, 'buy', 11, 12, id), asks(10, 11)),
  ordered(
    'an IOC order that fills in part',
    limit(M, 'sell', 10, 7, { ...id, timeInForce: 'IOC' }),
    bids(10),
  ),
  ordered('an IOC order that meets nobody', limit(M, 'buy', 10, 7, { ...id, timeInForce: 'IOC' })),
  ordered('a FOK order that is filled', limit(M, 'buy', 11, 10, { ...id, timeInForce: 'FOK' }), asks(10, 11)),
  ordered(
    'a FOK order that is rejected',
    limit(M, 'buy', 11, 11, { ...id, timeInForce: 'FOK' }),
    asks(10, 11),
  ),
  ordered('a post-only order that is rejected', limit(M, 'buy', 10, 5, { ...id, postOnly: true }), asks(10)),
  ordered('a market order for a size', atMarket(M, 'sell', 7, id), bids(10, 9)),
  ordered('a market order for a size that fills in part', atMarket(M, 'buy', 50, id), asks(10, 11)),
  ordered('a market order for a quote amount', spend(M, 73, id), asks(10, 11)),
  meetingOwn('expire_taker'),
  meetingOwn('expire_maker'),
  meetingOwn('expire_both'),
];

const live = async (engine: Engine): Promise<void> => {
  for (const price of [7, 8, 9]) await rest(engine, CAROL, 'buy', price);
  for (const price of [11, 12]) await rest(engine, CAROL, 'sell', price);
  await rest(engine, ALICE, 'buy', 11, 2);
};
const liveIds = async (engine: Engine): Promise<string[]> =>
  (await eventsOf(engine)).flatMap((event) =>
    event.kind === 'order_placed' && event.order.wallet === CAROL ? [event.order.id] : [],
  );
/** @param run gets the ids of the orders of the wallet: three bids and two asks, the first of which had fills */
function cancelled(
  name: string,
  run: (engine: Engine, ids: readonly string[]) => Promise<unknown>,
): Operation {
  let ids: readonly string[] = [];
  const prepare = async ({ engine }: EngineFixture): Promise<void> => {
    await live(engine);
    ids = await liveIds(engine);
  };
  return { name, prepare, run: (engine) => run(engine, ids), appends: ['orders_closed'] };
}

function fired(): Operation {
  let due: DueCancel;
  return {
    name: 'a dead-man switch that fires',
    async prepare({ engine, redis }) {
      await live(engine);
      await engine.dueCancels.set(CAROL, 5_000);
      await redis.zincrby(KEYS.cancelAfter, -5_000, walletBytes(CAROL));
      [due] = (await engine.dueCancels.take(10, 60_000)).taken as [DueCancel];
    },
    run: (engine) => engine.dueCancels.cancelPage(due, null),
    appends: ['orders_closed'],
  };
}

const CANCELS: readonly Operation[] = [
  cancelled('a cancel of one order', (engine, [first]) => engine.orders.cancel(CAROL, first!)),
  cancelled('a cancel of an order that had fills', (engine, ids) => engine.orders.cancel(CAROL, ids[3]!)),
  cancelled('an order that an operator voids', (engine, ids) => engine.orders.void(ids[4]!)),
  cancelled('a cancel of all orders of a wallet', (engine) => engine.orders.cancelAll(CAROL, null)),
  cancelled('a market that is cleared', (engine) => engine.orders.clear(M)),
  fired(),
];

/** Rests an ask whose reservation is missing. */
async function unpayable({ engine, redis }: EngineFixture): Promise<void> {
  await asks(10)(engine);
  await redis.hincrby(balancesKey('ETH'), Buffer.concat([walletBytes(ALICE), Buffer.from('r')]), -1);
}

/** A settlement that fails for a maker whose reservation is missing. */
const FAILING: Operation = {
  name: 'an order whose settlement fails, which halts its market',
  prepare: unpayable,
  async run(engine) {
    const refusal = await refusalOf(place(engine, CAROL, limit(M, 'buy', 10, 5, id)));
    if (refusal.code !== 'SETTLEMENT_FAILED') throw refusal;
  },
  appends: ['order_placed', 'market_changed'],
};

const VERSION = '2026-01';
const changed = (
  kind: string,
  run: (engine: Engine) => Promise<unknown>,
  prepare?: (engine: Engine) => Promise<unknown>,
): Operation => ({
  name: kind,
  ...(prepare && { prepare: ({ engine }: EngineFixture) => prepare(engine) }),
  run,
  appends: [kind],
});
const moved = (kind: 'credited' | 'debited'): Operation =>
  changed(kind, (engine) => engine.funds.move(movement(kind, ALICE, 'USD', 5n, `foreign ${kind}`)));

const CHANGES: readonly Operation[] = [
  moved('credited'),
  moved('debited'),
  changed('asset_changed', (engine) => engine.assets.set({ symbol: 'NEW', scale: 4 })),
  changed('market_changed', (engine) => engine.markets.create(spec('SOL/USD'))),
  { ...changed('market_changed', (engine) => engine.markets.change(M, { feeBps: 9 })), name: 'other rules' },
  changed('trading_paused', (engine) => engine.switches.pause()),
  changed(
    'trading_resumed',
    (engine) => engine.switches.resume(),
    (engine) => engine.switches.pause(),
  ),
  changed('terms_required', (engine) => engine.switches.requireTerms(VERSION)),
  changed(
    'terms_accepted',
    (engine) => engine.switches.acceptTerms(ALICE, VERSION),
    (engine) => engine.switches.requireTerms(VERSION),
  ),
  changed('account_held', (engine) => engine.switches.hold(BOB)),
  changed(
    'account_released',
    (engine) => engine.switches.release(BOB),
    (engine) => engine.switches.hold(BOB),
  ),
];

const MAX_ID = '18446744073709551615-18446744073709551615';

describe('engine: an event that was added to the stream by hand', () => {
  let fixture: EngineFixture;
  let warnings: string[];

  beforeEach(async () => {
    warnings = [];
    fixture = await openEngineFixture({ warn: (message) => warnings.push(message) });
  });
  afterEach(() => fixture.close());

  const prepare = async (market: Partial<MarketSpec> = {}): Promise<void> => {
    const { engine } = fixture;
    await publishPlain(engine, M, { feeBps: 700, ...market });
    for (const wallet of [ALICE, BOB, CAROL]) await fund(engine, wallet, { USD: 1_000n, ETH: 1_000n });
  };

  const addForeign = async (entry?: string): Promise<string> => {
    const { epoch, sequence } = await fixture.engine.reads.state();
    return (await fixture.redis.xadd(KEYS.events, entry ?? `${epoch}-${sequence + 1_000}`, 'by', 'hand'))!;
  };

  /** Empties the stream and sets its last id back, as `docs/runbook.md` says. */
  const removeForeign = async (): Promise<void> => {
    for (const command of entryRemoval(await fixture.engine.reads.state()))
      await fixture.redis.call(...command);
  };

  /** Runs a command that must be refused and write nothing. */
  const expectRefused = async (run: (engine: Engine) => Promise<unknown>): Promise<void> => {
    const before = await dump(fixture.redis);
    const refusal = await refusalOf(run(fixture.engine));
    expect(await dump(fixture.redis), 'the refused command wrote').to.deep.equal(before);
    expect(refusal).to.be.instanceOf(EventRefused).and.to.have.property('code', 'SERVICE_UNAVAILABLE');
    expect(refusal.message).to.include('nothing was done');
    expect(warnings.at(-1)).to.include('has an entry with a higher id');
  };

  const expectWhole = async (): Promise<void> => {
    const events = await eventsOf(fixture.engine);
    const first = events[0]!.sequence; // the events before were removed with the entry
    expect(events.map(({ sequence }) => sequence)).to.deep.equal(
      events.map((_event, index) => first + index),
    );
    for (const asset of ['ETH', 'USD']) await expectConserved(fixture.engine, asset);
  };

  for (const operation of [...ORDERS, ...CANCELS, ...CHANGES, FAILING]) {
    it(`rejects the operation until the event is removed: ${operation.name}`, async () => {
      await prepare(operation.market);
      await operation.prepare?.(fixture);
      const { sequence } = await fixture.engine.reads.state();
      await addForeign();
      await expectRefused(operation.run);
      await removeForeign();
      await operation.run(fixture.engine);
      const appended = (await eventsOf(fixture.engine)).filter((event) => event.sequence > sequence);
      expect(appended.map(({ kind }) => kind)).to.deep.equal(operation.appends);
      if (operation !== FAILING) await expectWhole();
    });
  }

  /** Runs commands of one turn, each of which must be refused, and expects nothing to be written by any. */
  const expectAllRefused = async (
    commands: readonly ((engine: Engine) => Promise<unknown>)[],
  ): Promise<void> => {
    const before = await dump(fixture.redis);
    const refusals = await Promise.all(commands.map((run) => refusalOf(run(fixture.engine))));
    expect(await dump(fixture.redis), 'a refused command of the turn wrote').to.deep.equal(before);
    for (const refusal of refusals) expect(refusal).to.be.instanceOf(EventRefused);
  };

  it('rejects every order of a turn until the event is removed', async () => {
    await prepare({ selfTrade: 'expire_maker' });
    const { engine } = fixture;
    await live(engine);
    const turns: OrderRequest[][] = [
      [limit(M, 'buy', 9, 5, id), limit(M, 'sell', 8, 40), limit(M, 'buy', 12, 5, { timeInForce: 'IOC' })],
      [
        limit(M, 'buy', 12, 30, { postOnly: true }),
        limit(M, 'buy', 12, 30),
        limit(M, 'sell', 15, 1, { clientOrderId: 'another' }),
      ],
      [limit(M, 'buy', 15, 7, { timeInForce: 'FOK' }), atMarket(M, 'sell', 4), limit(M, 'sell', 1, 9)],
    ];
    for (const requests of turns) {
      for (const wallet of [BOB, CAROL]) {
        await addForeign();
        const placing = requests.map((request) => (one: Engine) => place(one, wallet, request));
        await expectAllRefused(placing);
        await removeForeign();
      }
      await Promise.all(requests.map((request) => place(engine, BOB, request)));
      await expectWhole();
    }
  });

  it('rejects the orders behind one whose settlement fails, without halting the market', async () => {
    await prepare();
    await unpayable(fixture);
    await addForeign();
    const placing = [10, 9, 8].map((price) => (engine: Engine) => rest(engine, CAROL, 'buy', price));
    await expectAllRefused(placing);
    await removeForeign();
    expect((await fixture.engine.markets.all())[0]?.status).to.equal('active');
    await rest(fixture.engine, CAROL, 'buy', 9);
  });

  it('rejects every cancel of a turn until the event is removed', async () => {
    await prepare();
    const { engine } = fixture;
    await live(engine);
    const ids = await liveIds(engine);
    await addForeign();
    const cancels = [
      ...ids.map((one) => (on: Engine) => on.orders.cancel(CAROL, one)),
      (on: Engine) => on.orders.clear(M),
    ];
    await expectAllRefused(cancels);
    await removeForeign();
    await Promise.all(ids.map((one) => engine.orders.cancel(CAROL, one)));
    expect(await engine.orders.liveCount(CAROL)).to.equal(0);
    await expectWhole();
  });

  for (const entry of ['*', MAX_ID])
    it(`rejects every operation when the last id is ${entry}`, async () => {
      await prepare();
      await live(fixture.engine);
      await addForeign(entry);
      await expectRefused((engine) => rest(engine, CAROL, 'buy', 9));
      await expectRefused((engine) => engine.orders.cancelAll(CAROL, null));
      await expectRefused((engine) => engine.switches.pause());
      await fixture.redis.xtrim(KEYS.events, 'MAXLEN', 0); // leaves the stream's last id as it is
      await expectRefused((engine) => rest(engine, CAROL, 'buy', 9));
      await removeForeign();
      await rest(fixture.engine, CAROL, 'buy', 9);
      expect(await fixture.engine.orders.cancelAll(CAROL, null)).to.have.length(6);
      await expectWhole();
    });

  it('may be removed after a new epoch began, without a change of the last id', async () => {
    await prepare();
    const foreign = await addForeign();
    await expectRefused((engine) => rest(engine, CAROL, 'buy', 9));
    const { epoch } = await fixture.engine.reads.state();
    await changeState(fixture.redis, { epoch: epoch + 1 });
    await rest(fixture.engine, CAROL, 'buy', 9);
    await fixture.redis.xdel(KEYS.events, foreign);
    expect(await fixture.engine.orders.cancelAll(CAROL, null)).to.have.length(1);
    await expectWhole();
  });
});
