/**
 * Proves that when the api and its Redis are killed with calls in flight, every order exists once or not at all after
 * the restart, that its client order id tells which, and that requests which wait for changes miss none and see none
 * twice.
 */

import { setTimeout as sleep } from 'node:timers/promises';

import { expect } from 'chai';
import { openEngine } from '../../../src/engine/index.ts';
import { ethersSigner } from '../../auth/signers.ts';
import { fund, publishPlain } from '../../engine/fixture.ts';
import { query } from '../../ledger/tables.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/ports.ts';
import { openRedis, type RedisServer, startRedisServer } from '../../support/redis-server.ts';
import { type Random, random, runSeed } from '../../support/seed.ts';
import { freshLedgerDatabase, freshRedisServer } from '../../support/servers.ts';
import { type Call, isReady, operate, type Service, signIn, startService } from '../../support/service.ts';

const M = 'ETH/USD';
/** Number of concurrent requests: far more than calls, of which each market has one at a time. */
const IN_FLIGHT = 24;
const ROUNDS = [['api'], ['redis'], ['redis', 'api']] as const;
/** Number of answered orders before anything is killed, plus a random number up to as many again. */
const MIN_ANSWERED = 30;

interface Sent {
  /** Index of its wallet. */
  readonly wallet: number;
  readonly body: { readonly clientOrderId: string };
  /** From the reply, or later from a look-up of its client order id. */
  id?: string;
  /** True if a cancel of the order was answered. */
  isCancelled: boolean;
}

describe('an api and its Redis that are killed with calls in flight', function () {
  this.timeout(240_000);
  const signers = [ethersSigner(), ethersSigner()];
  const running = new Set<Service>();
  let settings: Record<string, string>;
  let redis: RedisServer;
  let api: Service;
  let calls: Call[];

  const start = async (role: string): Promise<Service> => {
    const service = await startService(role, { ...settings, PORT: String(await freePort()) });
    running.add(service);
    return service;
  };
  const startApi = async (): Promise<void> => {
    api = await start('api');
    calls = await Promise.all(signers.map(async (signer) => (await signIn(api.url, signer))(api.url)));
  };

  before(async () => {
    redis = await freshRedisServer({}, startRedisServer);
    settings = {
      REDIS_URL: redis.url,
      DATABASE_URL: await freshLedgerDatabase(),
      WEB_HOSTS: 'redbook.example',
      JWT_SECRET: 'a secret of the tests, 32 bytes or more',
      LOG_LEVEL: 'warn',
    };
    const connection = openRedis(redis.url, 'engine-all');
    const engine = openEngine({ redis: connection, maxMakers: 1, maxLiveOrders: 1 });
    await engine.lifecycle.open({ epoch: 0, sequence: 0 });
    await publishPlain(engine, M, { feeBps: 10, selfTrade: 'expire_maker' });
    for (const { address } of signers)
      await fund(engine, address.toLowerCase(), { USD: 10n ** 12n, ETH: 10n ** 9n });
    connection.disconnect();
    await startApi();
    await start('settlement');
  });
  after(() => Promise.all([...running].map((service) => service.end('SIGKILL'))));

  it('have placed every order once or not at all, as its client order id tells', async () => {
    const dice = random(runSeed());
    const sent: Sent[] = [];
    let isOver = false;
    const begun = await Promise.all(calls.map((call) => call('GET', '/v1/orders/changes')));
    const [{ body: start }] = begun as [(typeof begun)[number]];
    const waiting = calls[0]!('GET', `/v1/orders/changes?after=${start.cursor}&wait=25`);
    await sleep(100);
    const body = { market: M, side: 'buy', type: 'limit', price: 1, size: 1, clientOrderId: 'wakes' };
    const { id } = (await calls[0]!('POST', '/v1/orders', body)).body;
    sent.push({ wallet: 0, body, id: String(id), isCancelled: false });
    expect((await waiting).body.changes).to.have.length(1);
    const following = begun.map(({ body }, wallet) =>
      follow(
        () => calls[wallet]!,
        body.cursor,
        () => isOver,
      ),
    );
    for (const [round, killed] of ROUNDS.entries()) {
      const load = begin(calls, sent, dice, `round ${round}`);
      await eventually(
        'orders are answered',
        async () => load.answered() >= MIN_ANSWERED + dice.below(MIN_ANSWERED),
      );
      const kills = killed.map((server) => (server === 'api' ? api.end('SIGKILL') : redis.kill()));
      await load.end;
      await Promise.all(kills);
      if (killed.some((server) => server === 'redis')) await redis.start();
      if (killed.some((server) => server === 'api')) await startApi();
      await eventually('the api is ready', () => isReady(api.url));
    }
    const unanswered = sent.filter(({ id }) => id === undefined);
    await lookUp(sent, calls);
    await placeAgain(unanswered, calls);
    isOver = true;
    const told = await Promise.all(following);
    const { holds } = (await operate(settings, 'ledger', 'reconcile')) as { holds: boolean };
    expect(holds).to.equal(true);
    const rows = await query<{ id: string; client_order_id: string }>(
      settings.DATABASE_URL!,
      'select id, client_order_id from orders',
    );
    const idsOf = (list: readonly (readonly [string, string])[]): string[] => list.map(String).sort();
    expect(idsOf(rows.map(({ id, client_order_id: own }) => [own, id]))).to.deep.equal(
      idsOf(sent.map(({ id, body }) => [body.clientOrderId, id!])),
    );
    for (const [at, { address }] of signers.entries())
      expect(told[at]!.sort()).to.deep.equal(await changesOf(settings.DATABASE_URL!, address.toLowerCase()));
  });
});

/** Follows the changes of a wallet, and returns each as its order and its fills. */
async function follow(call: () => Call, from: unknown, isOver: () => boolean): Promise<string[]> {
  const told: string[] = [];
  for (let cursor = from; ; ) {
    const wasOver = isOver();
    const reply = await call()('GET', `/v1/orders/changes?after=${cursor}&wait=2`).catch((error: Error) => {
      if (error instanceof TypeError) return undefined;
      throw error;
    });
    if (reply?.status !== 200) {
      expect(reply?.status ?? 503, JSON.stringify(reply?.body)).to.equal(503);
      await sleep(50);
      continue;
    }
    const changes = reply.body.changes as { order: { id: string }; fills: { id: string }[] }[];
    told.push(...changes.map(({ order, fills }) => [order.id, ...fills.map(({ id }) => id)].join(' ')));
    if (wasOver && changes.length === 0) return told;
    cursor = reply.body.cursor;
  }
}

/** Returns the same of all changes in Postgres. */
async function changesOf(databaseUrl: string, wallet: string): Promise<string[]> {
  const rows = await query<{ change: string }>(
    databaseUrl,
    `select concat_ws(' ', id, (select string_agg(trade_id::text, ' ' order by trade_id) from trades
        where taker_order_id = id)) as change from orders where wallet = '${wallet}'
     union all select maker_order_id || ' ' || trade_id from trades where maker_wallet = '${wallet}'
     union all select id from orders
       where wallet = '${wallet}' and reason is not null and closed_sequence > sequence`,
  );
  return rows.map(({ change }) => change).sort();
}

/** Places and cancels with concurrent loops, each of which ends at its first unanswered request. */
function begin(
  calls: readonly Call[],
  sent: Sent[],
  dice: Random,
  name: string,
): { answered(): number; end: Promise<unknown> } {
  let answered = 0;
  let orders = 0;
  const place = async (wallet: number): Promise<boolean> => {
    const price = 95 + dice.below(10);
    const body = {
      market: M,
      side: dice.pick(['buy', 'sell']),
      type: 'limit',
      price,
      size: 1 + dice.below(9),
      clientOrderId: `${name} ${orders++}`,
    };
    const one: Sent = { wallet, body, isCancelled: false };
    sent.push(one);
    const id = await answerOf(calls[wallet]!, 'POST', '/v1/orders', body);
    if (id === undefined) return false;
    one.id = id;
    answered += 1;
    if (!dice.chance(0.2)) return true;
    const closed = await answerOf(calls[wallet]!, 'DELETE', `/v1/orders/${id}`);
    one.isCancelled = closed === id;
    return closed !== undefined;
  };
  const work = async (wallet: number): Promise<void> => {
    let isAnswered = true;
    while (isAnswered) isAnswered = await place(wallet);
  };
  const end = Promise.all(Array.from({ length: IN_FLIGHT }, (_none, index) => work(index % calls.length)));
  return { answered: () => answered, end };
}

/** @returns the id of the order, '' if it has ended meanwhile, undefined if the outcome is unknown */
async function answerOf(
  call: Call,
  method: string,
  path: string,
  body?: object,
): Promise<string | undefined> {
  const reply = await call(method, path, body).catch((error: Error) => {
    // fetch throws a TypeError if the connection breaks. An undocumented reply fails the test.
    if (error instanceof TypeError) return undefined;
    throw error;
  });
  if (reply === undefined || reply.status === 503) return undefined;
  if (reply.body.code === 'ORDER_NOT_FOUND') return '';
  expect(reply.status, JSON.stringify(reply.body)).to.equal(200);
  return String(reply.body.id);
}

/** Checks that answered orders are found by their ids with their outcome; the others may or may not exist. */
async function lookUp(sent: readonly Sent[], calls: readonly Call[]): Promise<void> {
  let found = 0;
  let lost = 0;
  await sideBySide(sent, async (one) => {
    const { wallet, body, id, isCancelled } = one;
    const path = `/v1/orders/by-client-id/${encodeURIComponent(body.clientOrderId)}`;
    const reply = await calls[wallet]!('GET', path);
    const order = reply.body.order as Record<string, unknown> | undefined;
    if (id !== undefined) expect(order?.id, `${body.clientOrderId}: ${reply.status}`).to.equal(id);
    if (isCancelled) expect(order?.status).to.be.oneOf(['cancelled', 'partially_filled_cancelled']);
    if (id !== undefined) return;
    expect(reply.status).to.be.oneOf([200, 404]);
    if (order === undefined) lost += 1;
    else {
      found += 1;
      one.id = String(order.id);
    }
  });
  console.log(`      of ${sent.length} orders, ${found} are there without an answer, ${lost} are not there`);
  expect(found + lost, 'orders on their way').to.be.above(0);
}

/** Sends the same orders again under their ids: each returns the existing order or creates it. */
const placeAgain = (sent: readonly Sent[], calls: readonly Call[]): Promise<void> =>
  sideBySide(sent, async (one) => {
    const id = await answerOf(calls[one.wallet]!, 'POST', '/v1/orders', one.body);
    expect(id, one.body.clientOrderId).to.equal(one.id ?? id);
    one.id = id!;
  });

async function sideBySide<One>(list: readonly One[], act: (one: One) => Promise<void>): Promise<void> {
  const left = [...list];
  const work = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await act(one);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
}
