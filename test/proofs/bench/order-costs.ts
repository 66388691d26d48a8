/**
 * Counts what an order and a cancel make in their api process: promises, bytes that are allocated, and bytes that the
 * collector moves to the old space. These figures need no quiet machine: they repeat within 2 %.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { fundMarkets } from '../../support/funded-markets.ts';
import { freePort } from '../../support/ports.ts';
import { freshLedgerDatabase, freshRedis } from '../../support/servers.ts';
import { startService } from '../../support/service.ts';
import { keepBuilds, withServers } from '../command.ts';
import { WALLETS, walletOf } from './driver-wallets.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { type Inspected, inspect, inspectedOn } from './inspected.ts';
import { cancelOf, orderRequests, restingOrder } from './order-requests.ts';
import { bytesOfReading, MAX_OF_READING } from './reading-costs.ts';
import { Rounds } from './rounds.ts';
import { SECRET } from './sessions.ts';

/** Orders before the first count: V8 has compiled then what an order runs. */
const WARMING = 12_800;
/** Each figure is the median of so many counts. */
const COUNTS = 5;
const COUNTED = 1_920;
/** Time for which a process without commands is counted. */
const IDLE_MS = 3_000;
/** Commands that arrive together. */
const MANY = 64;
const FEW = 8;

/** Promises and bytes that one command makes. */
export interface Made {
  readonly promises: number;
  /** Bytes allocated in the new space. */
  readonly youngBytes: number;
  /** Bytes that come into the old space: promoted by scavenges, or allocated there. */
  readonly oldBytes: number;
}

type CountedCommand = 'an order, 64 in flight' | 'an order, 8 in flight' | 'a cancel, 64 in flight';

type Bytes = Omit<Made, 'promises'>;

/** Half a promise above what each launch makes, under every Node; 8 in flight share a call more or less often. */
const PROMISES: Record<CountedCommand, number> = {
  'an order, 64 in flight': 15.8,
  'an order, 8 in flight': 18,
  'a cancel, 64 in flight': 13.8,
};

/**
 * Bounds by Node's major version, because each V8 allocates otherwise: of young bytes about 1 % above the medians of
 * launches, of old ones about a quarter, because scavenges meet commands at any point.
 */
const BYTES: Record<number, Record<CountedCommand, Bytes>> = {
  20: {
    'an order, 64 in flight': { youngBytes: 29_150, oldBytes: 950 },
    'an order, 8 in flight': { youngBytes: 31_400, oldBytes: 1_450 },
    'a cancel, 64 in flight': { youngBytes: 22_950, oldBytes: 1_100 },
  },
  22: {
    'an order, 64 in flight': { youngBytes: 28_300, oldBytes: 820 },
    'an order, 8 in flight': { youngBytes: 30_450, oldBytes: 1_080 },
    'a cancel, 64 in flight': { youngBytes: 22_750, oldBytes: 900 },
  },
  24: {
    'an order, 64 in flight': { youngBytes: 30_900, oldBytes: 680 },
    'an order, 8 in flight': { youngBytes: 32_850, oldBytes: 910 },
    'a cancel, 64 in flight': { youngBytes: 23_200, oldBytes: 750 },
  },
};

/** Maximum that each command may make under this Node; under one that has no bounds, as under the newest that has. */
export const MAX: Record<CountedCommand, Made> = maxUnder(Number(process.versions.node.split('.')[0]));

function maxUnder(major: number): Record<CountedCommand, Made> {
  const bytes = BYTES[major] ?? BYTES[24]!;
  const max = (command: CountedCommand): Made => ({ promises: PROMISES[command], ...bytes[command] });
  return {
    'an order, 64 in flight': max('an order, 64 in flight'),
    'an order, 8 in flight': max('an order, 8 in flight'),
    'a cancel, 64 in flight': max('a cancel, 64 in flight'),
  };
}

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
      let young = 0;
      let old = 0;
      let before = undefined;
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
  allowNatives: `process.getBuiltinModule('node:v8').setFlagsFromString('--allow-natives-syntax'), 0`,
  hasFastStrings: 'Number(%HasFastProperties(String.prototype))',
} as const;

/** Counts of a span of time, and its length. */
interface Span extends Made {
  readonly ms: number;
}

/** Counts what a process makes during some work: figures that lie between two collections of all garbage. */
async function count(process: Inspected, work: () => Promise<unknown>): Promise<Span> {
  const before = await process.evaluate(IN_PROCESS.begin);
  await process.collectGarbage();
  const begunMs = performance.now();
  await work();
  const ms = performance.now() - begunMs;
  const promises = (await process.evaluate(IN_PROCESS.end)) - before;
  await process.collectGarbage();
  const youngBytes = await process.evaluate(IN_PROCESS.young);
  const oldBytes = await process.evaluate(IN_PROCESS.old);
  return { promises, youngBytes, oldBytes, ms };
}

/** Medians of one command over several counts, without what an idle process makes in the same time. */
async function medianOf(process: Inspected, idle: Span, work: () => Promise<unknown>): Promise<Made> {
  const counts: Span[] = [];
  while (counts.length < COUNTS) counts.push(await count(process, work));
  const of = (name: keyof Made): number =>
    median(counts.map((one) => (one[name] - (idle[name] / idle.ms) * one.ms) / COUNTED));
  return { promises: of('promises'), youngBytes: of('youngBytes'), oldBytes: of('oldBytes') };
}

interface Costs {
  readonly commands: Record<CountedCommand, Made>;
  /** False if V8 looks up each method of a string in a dictionary, which makes nothing and takes 7 % of an order. */
  readonly hasFastStrings: boolean;
}

/** @param servers an empty Redis and Postgres */
export async function costsOfCommands(servers: {
  readonly redisUrl: string;
  readonly databaseUrl: string;
}): Promise<Costs> {
  const settings = { REDIS_URL: servers.redisUrl, DATABASE_URL: servers.databaseUrl, JWT_SECRET: SECRET };
  const wallets = Array.from({ length: WALLETS }, (_none, index) => walletOf(index));
  await fundMarkets(settings, ['ETH/USDC'], wallets);
  const port = await freePort();
  const inspectorPort = await freePort();
  const service = await startService('api', {
    ...settings,
    PORT: String(port),
    LOG_LEVEL: 'fatal',
    WEB_HOSTS: 'localhost',
    ...inspectedOn(inspectorPort),
  });
  const process = await inspect(inspectorPort);
  const many = await Rounds.open(service.url, service.child, MANY);
  const nextOrder = orderRequests();
  const nextResting = orderRequests(restingOrder);
  const cancels: string[] = [];
  const cancel = () => many.send(COUNTED, () => cancels.pop()!);
  try {
    await process.evaluate(IN_PROCESS.prepare);
    await many.send(WARMING, nextOrder);
    await many.send((COUNTS + 1) * COUNTED, nextResting, (body, request) => {
      cancels.push(cancelOf(body, request));
    });
    await cancel();
    const idle = await count(process, () => sleep(IDLE_MS));
    const measure = (work: () => Promise<unknown>) => medianOf(process, idle, work);
    const cancelled = await measure(cancel);
    const manyPlaced = await measure(() => many.send(COUNTED, nextOrder));
    // Not earlier: the server closes connections that stay idle.
    const few = await Rounds.open(service.url, service.child, FEW);
    const fewPlaced = await measure(() => few.send(COUNTED, nextOrder));
    few.close();
    await process.evaluate(IN_PROCESS.allowNatives);
    return {
      commands: {
        'an order, 64 in flight': manyPlaced,
        'an order, 8 in flight': fewPlaced,
        'a cancel, 64 in flight': cancelled,
      },
      hasFastStrings: (await process.evaluate(IN_PROCESS.hasFastStrings)) === 1,
    };
  } finally {
    many.close();
    process.close();
    await service.end('SIGTERM');
  }
}

export async function benchCosts(): Promise<Table> {
  keepBuilds('bench');
  const { commands } = await withServers(async () =>
    costsOfCommands({ redisUrl: await freshRedis(), databaseUrl: await freshLedgerDatabase() }),
  );
  const row = (command: CountedCommand, name: keyof Made): Measured => ({
    ...{
      name: `${command}, ${LABELS[name]}`,
      unit: name === 'promises' ? '' : 'B',
      figure: commands[command][name],
    },
    target: { relation: '<=', bound: MAX[command][name] },
  });
  const rows = (Object.keys(MAX) as CountedCommand[]).flatMap((command) =>
    (Object.keys(LABELS) as (keyof Made)[]).map((name) => row(command, name)),
  );
  const reading: Measured = {
    name: 'reading an order, allocated',
    unit: 'B',
    figure: bytesOfReading(),
    target: { relation: '<=', bound: MAX_OF_READING },
  };
  return tableOf('costs', `what one command makes in its api process, of ${COUNTED}`, [...rows, reading]);
}

const LABELS = {
  promises: 'promises',
  youngBytes: 'allocated',
  oldBytes: 'into the old space',
} as const satisfies Record<keyof Made, string>;
