/**
 * Counts what an order and a cancel make in their api process: promises, bytes that are allocated, and bytes that the
 * collector moves to the old space. These figures need no quiet machine: they repeat within 2 %.
 */

import { fundMarkets } from '../../support/funded-markets.ts';
import { freePort } from '../../support/ports.ts';
import { freshLedgerDatabase, freshRedis } from '../../support/servers.ts';
import { startService } from '../../support/service.ts';
import { keepBuilds, withServers } from '../command.ts';
import { WALLETS, walletOf } from './driver-wallets.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { type Inspected, inspect, inspectedOn } from './inspected.ts';
import { load } from './load.ts';
import { cancelOf, orderRequests, restingOrder } from './order-requests.ts';
import { SECRET } from './sessions.ts';

/** Orders before the first count: V8 has compiled then what an order runs. */
const WARMING = 12_000;
/** Each figure is the median of so many counts. */
const COUNTS = 5;
const COUNTED = 2_000;
/** Longer than any count takes. */
const SECONDS = 300;

/** What one command makes. */
export interface Made {
  readonly promises: number;
  /** Bytes allocated in the new space. */
  readonly youngBytes: number;
  /** Bytes that come into the old space: promoted by scavenges, or allocated there. */
  readonly oldBytes: number;
}

type CountedCommand = 'an order, 64 in flight' | 'an order, 8 in flight' | 'a cancel, 64 in flight';

/** Bounds. A machine that is busy makes smaller batches, whose orders cost a little more. */
export const MOST: Record<CountedCommand, Made> = {
  'an order, 64 in flight': { promises: 25, youngBytes: 36_700, oldBytes: 2_200 },
  'an order, 8 in flight': { promises: 30, youngBytes: 42_500, oldBytes: 3_000 },
  'a cancel, 64 in flight': { promises: 15.6, youngBytes: 24_700, oldBytes: 1_600 },
};

/** Code that runs in the api process. */
const IN_PROCESS = {
  prepare: `(() => {
    const v8 = process.getBuiltinModule('node:v8');
    globalThis.promisesMade = 0;
    v8.promiseHooks.onInit(() => { globalThis.promisesMade += 1; });
    const used = ({ heapSpaceStatistics }, name) =>
      heapSpaceStatistics.find(({ spaceName }) => spaceName === name).spaceUsedSize;
    globalThis.begin = () => {
      globalThis.collections = new v8.GCProfiler();
      globalThis.collections.start();
    };
    globalThis.end = () => {
      let [young, old, before] = [0, 0, undefined];
      for (const { beforeGC, afterGC, gcType } of globalThis.collections.stop().statistics) {
        if (before !== undefined) {
          young += Math.max(0, used(beforeGC, 'new_space') - used(before, 'new_space'));
          old += Math.max(0, used(beforeGC, 'old_space') - used(before, 'old_space'));
          if (gcType === 'Scavenge')
            old += Math.max(0, used(afterGC, 'old_space') - used(beforeGC, 'old_space'));
        }
        before = afterGC;
      }
      Object.assign(globalThis, { young, old });
    };
  })(), 0`,
  begin: 'begin(), promisesMade',
  end: 'promisesMade',
  young: 'end(), young',
  old: 'old',
} as const;

/** Counts what `commands` commands make: figures that lie between two collections of all garbage. */
async function count(process: Inspected, commands: number, work: () => Promise<unknown>): Promise<Made> {
  const before = await process.evaluate(IN_PROCESS.begin);
  await process.collectGarbage();
  await work();
  const promises = (await process.evaluate(IN_PROCESS.end)) - before;
  await process.collectGarbage();
  const young = await process.evaluate(IN_PROCESS.young);
  const old = await process.evaluate(IN_PROCESS.old);
  return { promises: promises / commands, youngBytes: young / commands, oldBytes: old / commands };
}

/** @param servers an empty Redis and Postgres */
export async function costsOfCommands(servers: {
  readonly redisUrl: string;
  readonly databaseUrl: string;
}): Promise<Record<CountedCommand, Made>> {
  const settings = { REDIS_URL: servers.redisUrl, DATABASE_URL: servers.databaseUrl, JWT_SECRET: SECRET };
  const wallets = Array.from({ length: WALLETS }, (_none, index) => walletOf(index));
  await fundMarkets(settings, ['ETH/USDC'], wallets);
  const [port, inspectorPort] = [await freePort(), await freePort()];
  const service = await startService('api', {
    ...{ ...settings, PORT: String(port), LOG_LEVEL: 'fatal', WEB_HOSTS: 'localhost' },
    ...inspectedOn(inspectorPort),
  });
  const process = await inspect(inspectorPort);
  const commands = new Commands(service.url);
  const medianOf = async (work: () => Promise<unknown>): Promise<Made> => {
    const counts: Made[] = [];
    while (counts.length < COUNTS) counts.push(await count(process, COUNTED, work));
    const of = (name: keyof Made): number => median(counts.map((one) => one[name]));
    return { promises: of('promises'), youngBytes: of('youngBytes'), oldBytes: of('oldBytes') };
  };
  try {
    await process.evaluate(IN_PROCESS.prepare);
    await commands.place(64, WARMING);
    await commands.rest((COUNTS + 1) * COUNTED);
    await commands.cancel(COUNTED);
    return {
      'a cancel, 64 in flight': await medianOf(() => commands.cancel(COUNTED)),
      'an order, 64 in flight': await medianOf(() => commands.place(64, COUNTED)),
      'an order, 8 in flight': await medianOf(() => commands.place(8, COUNTED)),
    };
  } finally {
    process.close();
    await service.end('SIGTERM');
  }
}

/** Sends so many commands, by so many connections. */
class Commands {
  readonly #url: string;
  readonly #nextOrder = orderRequests();
  readonly #nextResting = orderRequests(restingOrder);
  readonly #cancels: string[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  place(connections: number, orders: number): Promise<unknown> {
    return this.#send(connections, orders, this.#nextOrder);
  }

  /** Places orders that rest, for `cancel`. */
  rest(orders: number): Promise<unknown> {
    return this.#send(64, orders, this.#nextResting, (body, request) => {
      this.#cancels.push(cancelOf(body, request));
    });
  }

  cancel(orders: number): Promise<unknown> {
    return this.#send(64, orders, () => this.#cancels.pop());
  }

  #send(
    connections: number,
    requests: number,
    next: () => string | undefined,
    onAnswer = (_body: string, _request: string) => {},
  ) {
    let sent = 0;
    const nextRequest = (): string | undefined => (sent++ < requests ? next() : undefined);
    // An engine on a starved machine refuses commands that waited for a second.
    return load(this.#url, { connections, seconds: SECONDS, nextRequest, onAnswer, alsoStatus: 503 });
  }
}

export async function benchCosts(): Promise<Table> {
  keepBuilds('bench');
  const costs = await withServers(async () =>
    costsOfCommands({ redisUrl: await freshRedis(), databaseUrl: await freshLedgerDatabase() }),
  );
  const row = (command: CountedCommand, name: keyof Made): Measured => ({
    ...{
      name: `${command}, ${LABELS[name]}`,
      unit: name === 'promises' ? '' : 'B',
      figure: costs[command][name],
    },
    target: { relation: '<=', bound: MOST[command][name] },
  });
  const rows = (Object.keys(MOST) as CountedCommand[]).flatMap((command) =>
    (Object.keys(LABELS) as (keyof Made)[]).map((name) => row(command, name)),
  );
  return tableOf('costs', `what one command makes in its api process, of ${COUNTED}`, rows);
}

const LABELS = {
  promises: 'promises',
  youngBytes: 'allocated',
  oldBytes: 'into the old space',
} as const satisfies Record<keyof Made, string>;
