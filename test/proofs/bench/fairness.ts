/**
 * Measures an honest wallet before, beside and after each attack of the table: its orders on two markets, its cancels,
 * its lists and its frames.
 */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKey } from '../../../src/books/operator-keys.ts';
import { openEngine } from '../../../src/engine/index.ts';
import { openLedger } from '../../../src/ledger/index.ts';
import { mainThreadSeconds } from '../../support/proc.ts';
import { openRedis, startRedisServer } from '../../support/redis-server.ts';
import { Ground, type Stage } from '../attacks/ground.ts';
import { play } from '../attacks/play.ts';
import { ATTACKS, type Attack } from '../attacks/table.ts';
import { temporaryFolder } from '../command.ts';
import { walletOf } from './driver-wallets.ts';
import { type Exchange, openExchange } from './exchange.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { ATTACKED, beHonest, KINDS, type Kind, OTHER, type Seen } from './honest.ts';
import { percentile } from './load.ts';
import { marketSpec } from './market-spec.ts';
import { PRESENT } from './older-release.ts';
import { SECRET } from './sessions.ts';

const SECONDS = 5;
const PER_SECOND = 100;
/** Time in which what an attack held comes back. */
const SETTLING_MS = 1_000;
const HANDSHAKES_PER_MINUTE = 300;

const HONEST = walletOf(2);

/** Publishes the second market, and makes the keys. */
async function prepare({ redisUrl, databaseUrl }: Exchange): Promise<Stage['keys']> {
  const redis = openRedis(redisUrl);
  const engine = openEngine({ redis, maxMakers: 1_000, maxLiveOrders: 10_000 });
  const ledger = openLedger({ databaseUrl });
  await engine.lifecycle.open({ epoch: 0, sequence: 0 });
  await engine.assets.set({ symbol: 'BTC', scale: 8 });
  await engine.markets.create(marketSpec(OTHER));
  const keyOf = (name: string): Promise<string> =>
    createKey(
      { engine, ledger },
      { name, rights: ['read', 'credit'], caps: new Map() },
      { by: 'bench', reason: 'bench' },
    );
  const keys = [await keyOf('attacks'), await keyOf('honest')] as const;
  await ledger.close();
  redis.disconnect();
  return keys;
}

const portOf = (url: string): number => Number(new URL(url).port);

/** A stage, and the process that serves the honest wallet. */
interface Watched {
  readonly stage: Stage;
  readonly apiPid: number;
}

async function openStage(exchange: Exchange, queueUrl: string): Promise<Watched> {
  const env = {
    QUEUE_REDIS_URL: queueUrl,
    TRUST_PROXY_HOPS: '1',
    HANDSHAKES_PER_MINUTE: `${HANDSHAKES_PER_MINUTE}`,
  };
  await exchange.start('settlement', env);
  const operator = await exchange.start('operator-api', env);
  const keys = await prepare(exchange);
  await exchange.start('snapshot', env);
  const api = await exchange.start('api', env);
  const stream = await exchange.start('stream', env);
  const stage = {
    api: portOf(api.url),
    stream: portOf(stream.url),
    operator: portOf(operator.url),
    engineUrl: exchange.redisUrl,
    queueUrl,
    secret: SECRET,
    keys,
    handshakesPerMinute: HANDSHAKES_PER_MINUTE,
    market: ATTACKED,
  };
  return { stage, apiPid: api.pid };
}

interface Round {
  readonly before: Seen;
  readonly beside: Seen;
  readonly after: Seen;
  readonly broken: readonly string[];
  /** Shares of the time beside the attack for which the api process ran, and was ready and had no processor. */
  readonly api: { readonly ran: number; readonly waited: number };
}

/** Returns a function that tells how the process was served since now. */
function sharesSince(pid: number): () => Round['api'] {
  const began = mainThreadSeconds(pid);
  const beganMs = performance.now();
  return () => {
    const ended = mainThreadSeconds(pid);
    const seconds = (performance.now() - beganMs) / 1_000;
    return { ran: (ended.ran - began.ran) / seconds, waited: (ended.waited - began.waited) / seconds };
  };
}

async function takeRound({ stage, apiPid }: Watched, { name }: Attack): Promise<Round> {
  const { api, stream } = stage;
  const asked = { api, stream, wallet: HONEST, seconds: SECONDS, perSecond: PER_SECOND };
  const before = await beHonest(asked);
  const playing = await play({ name, stage, scale: 'full' });
  let beside: Seen;
  let served: Round['api'];
  let broken: readonly string[];
  try {
    await sleep(SETTLING_MS);
    const shares = sharesSince(apiPid);
    beside = await beHonest(asked);
    served = shares();
  } finally {
    broken = await playing.stop();
  }
  await new Ground(name, stage, 'full').untilSettled();
  await sleep(SETTLING_MS);
  return { before, beside, after: await beHonest(asked), broken, api: served };
}

function rowsOf({ name, isOutage }: Attack, rounds: readonly Round[]): Measured[] {
  const p99 = (when: 'before' | 'beside' | 'after', kind: Kind): number | null => {
    const figures = rounds.map((round) => round[when].latenciesMs[kind]).filter(({ length }) => length > 0);
    return figures.length === 0 ? null : median(figures.map((values) => percentile(values, 0.99)));
  };
  const row = (kind: Kind, when: 'beside' | 'after'): Measured => ({
    name: `${name}: ${kind}, ${when}`,
    unit: 'ms',
    figure: p99(when, kind),
    reference: { name: 'before', figure: p99('before', kind) },
    target: { relation: '<=', bound: when === 'beside' ? 4 : 1.5, isReported: true },
  });
  const percent = (share: keyof Round['api']) => median(rounds.map((round) => round.api[share])) * 100;
  // A busy process that waits for a processor looks idle, and its ratios tell of the machine.
  const processor: Measured = {
    name: `${name}: time for which api was ready and had no processor, beside`,
    unit: '%',
    figure: percent('waited'),
    note: `it ran for ${percent('ran').toFixed(0)} %`,
  };
  const kinds = KINDS.filter((kind) => kind !== 'frame' || isOutage === undefined);
  const refused = rounds.flatMap(({ beside, after }) => [...beside.refused, ...after.refused]);
  const broken = rounds.flatMap((round) => round.broken);
  const broke = {
    name: `${name}: refused, and promises broken`,
    unit: '',
    figure: refused.reduce((sum, [, count]) => sum + count, broken.length),
    target: { relation: '<=', bound: 0 },
    note: [...refused.map(([what, count]) => `${what}: ${count}`), ...broken].join('; '),
  } as const;
  return [...kinds.flatMap((kind) => [row(kind, 'beside'), row(kind, 'after')]), processor, broke];
}

/** @param names attacks whose name has one of these texts; all without any */
export async function benchFairness(names: readonly string[] = [], rounds = 1): Promise<Table> {
  const attacks = ATTACKS.filter(
    ({ name }) => names.length === 0 || names.some((text) => name.includes(text)),
  );
  const exchange = await openExchange(PRESENT);
  const queue = await startRedisServer(join(temporaryFolder('fairness'), 'queue'), {
    settings: ['appendonly no', 'maxmemory-policy noeviction'],
  });
  try {
    const watched = await openStage(exchange, queue.url);
    await beHonest({ ...watched.stage, wallet: HONEST, seconds: SECONDS, perSecond: PER_SECOND });
    const rows: Measured[] = [];
    for (const attack of attacks) {
      const taken: Round[] = [];
      for (let round = 0; round < rounds; round += 1) taken.push(await takeRound(watched, attack));
      rows.push(...rowsOf(attack, taken));
    }
    const title = `p99 of an honest wallet beside and after each attack; rounds: ${rounds}`;
    return tableOf('fairness', title, rows);
  } finally {
    await exchange.close();
    await queue.stop();
  }
}
