/**
 * Records each byte that a process sends to an engine on one server. They are the commands of a process that knows of no
 * copies, and one read that tells that the engine has none.
 */

import { type AddressInfo, connect, createServer } from 'node:net';
import { expect } from 'chai';
import { pino } from 'pino';
import { readConfig, requireFor } from '../../src/config.ts';
import { readOrders } from '../../src/history/order-history.ts';
import { loadScript } from '../../src/redis/lua.ts';
import { type Backends, openBackends } from '../../src/roles/backends.ts';
import { keepCopies } from '../../src/roles/copies-keeper.ts';
import type { ServedConfig } from '../../src/roles/served-config.ts';
import { createSettlementWorker } from '../../src/workers/settlement.ts';
import { ALICE, fund, limit, publishPlain } from '../engine/fixture.ts';
import { query } from '../ledger/tables.ts';
import { asUser } from '../support/redis-server.ts';
import { freshLedgerDatabase, freshRedis } from '../support/servers.ts';

const M = 'ETH/USD';
const KEY = /^\{redbook\}:/;
/** The gate sends these once a second, so they may stand in any step. */
const CHECKS = [
  'hmget engine format server state filter',
  'config GET cluster-enabled appendonly appendfsync no-appendfsync-on-rewrite maxmemory-policy cluster-replica-no-failover replica-serve-stale-data replica-read-only repl-diskless-load',
];
/** An engine that has copies must not open for a process that does not wait for them. */
const ASKS_FOR_COPIES = 'hget copies names';

const SCRIPTS = [
  'check_rights',
  'open_epoch',
  'set_asset',
  'set_market',
  'move_funds',
  'place_orders',
  'cancel_orders',
  'find_unsettled',
  'find_claim',
  'trim_settled',
  'read_book',
].map(loadScript);

interface Recorder {
  readonly url: string;
  /** Bytes that clients have sent, one item for each connection. */
  readonly clients: Buffer[][];
  close(): void;
}

/** Passes connections on to a server. */
async function record(target: string): Promise<Recorder> {
  const { hostname, port } = new URL(target);
  const clients: Buffer[][] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const sent: Buffer[] = [];
    clients.push(sent);
    client.on('data', (bytes) => sent.push(bytes));
    client.on('error', () => undefined).on('close', () => upstream.destroy());
    upstream.on('error', () => undefined).on('close', () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return { url: url.href, clients, close: () => server.close() };
}

/** Splits bytes into commands. @throws Error where they are none */
function commandsIn(bytes: Buffer): Buffer[][] {
  let at = 0;
  const number = (mark: string): number => {
    const end = bytes.indexOf('\r\n', at);
    const text = bytes.toString('latin1', at, end);
    if (end < 0 || !new RegExp(`^\\${mark}\\d+$`).test(text)) throw new Error(`no command has ${text}`);
    at = end + 2;
    return Number(text.slice(1));
  };
  const word = (): Buffer => {
    const length = number('$');
    at += length + 2;
    return bytes.subarray(at - length - 2, at - 2);
  };
  const commands: Buffer[][] = [];
  while (at < bytes.length) commands.push(Array.from({ length: number('*') }, word));
  return commands;
}

/** A script by its name, its keys and the number of its arguments; any other command by all its words. */
function shown([first, ...words]: readonly Buffer[]): string {
  const name = String(first).toLowerCase();
  const texts = words.map((word) => word.toString('latin1').replace(KEY, ''));
  // The size of a page depends on that of the events before.
  if (!name.startsWith('eval')) return [name, ...texts].join(' ').replace(/(?<=COUNT )\d+$/, '…');
  const body = String(words[0]);
  const keys = Number(texts[1]);
  const script = SCRIPTS.find(({ sha, source }) => sha === body || source === body);
  return [script?.name ?? body, ...texts.slice(2, 2 + keys), `+ ${texts.length - 2 - keys}`].join(' ');
}

describe('a process on one server', () => {
  let recorder: Recorder;
  let databaseUrl: string;
  let served: ServedConfig;
  let backends: Backends;
  let orderId: string;

  before(async () => {
    recorder = await record(await freshRedis());
    databaseUrl = await freshLedgerDatabase();
    const servers = {
      REDIS_URL: asUser('engine-all', recorder.url),
      QUEUE_REDIS_URL: asUser('queue-all', await freshRedis()),
      DATABASE_URL: databaseUrl,
    };
    const config = readConfig({ ...servers, CLAIM_FILTER_BYTES: String(64 * 1024) });
    served = requireFor('settlement', config);
    backends = openBackends('all', served, pino({ level: 'silent' }));
  });
  after(async () => {
    await backends.close();
    recorder.close();
  });

  /** Commands sent since the last call, each once, in the order in which they came first. */
  const sent = (): string[] => {
    expect(recorder.clients).to.have.length(1);
    const bytes = Buffer.concat(recorder.clients[0]!.splice(0));
    return [...new Set(commandsIn(bytes).map(shown))].filter((line) => !CHECKS.includes(line));
  };

  const BOOK = 'book:ETH/USD:bids book:ETH/USD:asks';
  const LEVELS = 'levels:ETH/USD:bids levels:ETH/USD:asks';
  const BALANCES = 'balances:ETH balances:USD';
  const CLAIMS = 'claims:0 claims:1';
  const UNSETTLED = 'unsettled:0 unsettled:1';
  const STEPS: readonly { readonly does: string; act(): Promise<unknown>; sends: readonly string[] }[] = [
    {
      does: 'opens the engine',
      act: () => backends.engineOpened,
      sends: [
        'hello 3 AUTH engine-all test',
        'client setname redbook-all-engine',
        'info',
        'config GET hash-max-listpack-entries',
        'check_rights engine + 47',
        'info server',
        ASKS_FOR_COPIES,
        'open_epoch engine + 8',
      ],
    },
    {
      does: 'publishes a market',
      act: () => publishPlain(backends.engine, M),
      sends: [
        `set_asset engine events assets ${UNSETTLED} + 4`,
        'hvals markets',
        'hgetall assets',
        `set_market engine events markets assets ${BOOK} ${UNSETTLED} + 11`,
      ],
    },
    {
      does: 'books a deposit',
      act: () => fund(backends.engine, ALICE, { ETH: 100n }),
      sends: [
        'hgetall assets',
        `move_funds engine events balances:ETH assets ${CLAIMS} claim-filter ${UNSETTLED} + 20`,
      ],
    },
    {
      does: 'places an order',
      async act() {
        const request = limit(M, 'sell', 10, 1, { clientOrderId: 'one' });
        const placed = await backends.engine.orders.place({ wallet: ALICE, request });
        if (placed.outcome === 'placed') orderId = placed.order.id;
      },
      sends: [
        `place_orders engine events ${BOOK} ${BALANCES} live ${CLAIMS} ${UNSETTLED} markets ${LEVELS} claim-filter + 2`,
      ],
    },
    {
      does: 'lists orders',
      act: () => readOrders({ ...backends, settings: served }, ALICE, {}, 10),
      sends: [`find_unsettled engine ${UNSETTLED} + 6`, 'xrange events 1-5 1-5', 'xrange events 1-4 1-4'],
    },
    {
      does: 'finds an order by its client order id',
      act: () => backends.engine.orders.find(ALICE, 'one'),
      sends: [`find_claim engine ${CLAIMS} claim-filter + 6`],
    },
    {
      does: 'reads a book',
      act: () => backends.engine.reads.book(M, 10),
      sends: [`read_book engine ${BOOK} ${LEVELS} + 4`],
    },
    {
      does: 'cancels an order',
      act: () => backends.engine.orders.cancel(ALICE, orderId),
      sends: [`cancel_orders engine events ${BOOK} ${BALANCES} live ${UNSETTLED} ${LEVELS} + 2`],
    },
    {
      does: 'settles',
      act() {
        const { engine, ledger, logger } = backends;
        return createSettlementWorker({ engine, ledger: ledger.settlement, log: logger }).run();
      },
      sends: [
        'xrange events - + COUNT …',
        'info memory',
        `trim_settled engine events ${UNSETTLED} ${CLAIMS} + 5`,
        'xrange events 1-6 + COUNT …',
      ],
    },
  ];

  for (const { does, act, sends } of STEPS)
    it(`${does} with the commands of one that knows of no copies`, async () => {
      await act();
      expect(sent()).to.deep.equal(sends);
    });

  it('has no keeper and no row', async () => {
    expect(keepCopies(backends)).to.equal(undefined);
    expect(await query(databaseUrl, 'select from engine_copies')).to.have.length(0);
  });
});
