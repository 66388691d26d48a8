/**
 * Measures an honest wallet before, beside and after each attack of the table: its orders on two markets, its cancels,
 * its lists and its frames.
 *
 * The reference is the p99 of all times before an attack together. Such a time alone has too few figures for a p99: five
 * seconds have 50 lists and five frames, and one stall of the machine among them made a ratio five times as large or small.
 *
 * In earnest the attacker and Postgres have machines of their own. Here all share the processors, and a process that always
 * has work takes a share of them from the service. Attackers therefore have the lowest priority, and Postgres has one
 * between theirs and that of the service. Lists get no better by that, because they wait for Postgres.
 */

import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKey } from '../../../src/books/operator-keys.ts';
import { openEngine } from '../../../src/engine/index.ts';
import { openLedger } from '../../../src/ledger/index.ts';
import { childrenOf, familySeconds, mainThreadSeconds, ownSeconds } from '../../support/proc.ts';
import { openRedis, startRedisServer } from '../../support/redis-server.ts';
import { Ground, type Stage } from '../attacks/ground.ts';
import { play } from '../attacks/play.ts';
import { ATTACKS, type Attack } from '../attacks/table.ts';
import { temporaryFolder } from '../command.ts';
import { walletOf } from './driver-wallets.ts';
import { type Exchange, openExchange } from './exchange.ts';
import { type Measured, type Table, tableOf } from './figures.ts';
import { ATTACKED, beHonest, KINDS, type Kind, OTHER, type Seen } from './honest.ts';
import { percentile } from './load.ts';
import { marketSpec } from './market-spec.ts';
import { PRESENT } from './older-release.ts';
import { SECRET } from './sessions.ts';

/** An attack may come in waves, of which the slowest takes a dozen seconds. */
const SECONDS = { before: 10, beside: 20, after: 10 };
const PER_SECOND = 100;
/** Cold code made the first reference three times the later ones. */
const WARM_UP = { seconds: 15, perSecond: 500 };
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

/** A stage, and the processes that serve the honest wallet. */
interface Watched {
  readonly stage: Stage;
  readonly apiPid: number;
  readonly enginePid: number;
  readonly postgresPid: number;
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
  return { stage, apiPid: api.pid, enginePid: exchange.engine.pid, postgresPid: exchange.postgres.pid };
}

/** Backends that begin later get the priority of their parent. */
function lowerPostgres({ postgres: { pid: parent } }: Exchange): void {
  for (const pid of [parent, ...childrenOf(parent)])
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
}

type When = keyof typeof SECONDS;

/** Shares of the time beside an attack. */
interface Processors {
  /** Time for which the api process ran, and for which it was ready and had no processor. */
  readonly ran: number;
  readonly waited: number;
  readonly engine: number;
  /** All its processes together. */
  readonly postgres: number;
}

interface Round {
  readonly attack: Attack;
  readonly before: Seen;
  readonly beside: Seen;
  readonly after: Seen;
  readonly broken: readonly string[];
  readonly processors: Processors;
}

/** Returns a function that returns the shares of the time since now. */
function sharesSince({ apiPid, enginePid, postgresPid }: Watched): () => Processors {
  const look = (): Processors => ({
    ...mainThreadSeconds(apiPid),
    engine: ownSeconds(enginePid),
    postgres: familySeconds(postgresPid),
  });
  const began = look();
  const beganMs = performance.now();
  return () => {
    const ended = look();
    const seconds = (performance.now() - beganMs) / 1_000;
    const share = (of: keyof Processors): number => (ended[of] - began[of]) / seconds;
    return {
      ran: share('ran'),
      waited: share('waited'),
      engine: share('engine'),
      postgres: share('postgres'),
    };
  };
}

async function takeRound(watched: Watched, attack: Attack): Promise<Round> {
  const { stage } = watched;
  const { api, stream } = stage;
  const { name } = attack;
  const be = (when: When): Promise<Seen> =>
    beHonest({ api, stream, wallet: HONEST, seconds: SECONDS[when], perSecond: PER_SECOND });
  const before = await be('before');
  const playing = await play({ name, stage, scale: 'full' });
  let beside: Seen;
  let processors: Processors;
  let broken: readonly string[];
  try {
    await sleep(SETTLING_MS);
    const shares = sharesSince(watched);
    beside = await be('beside');
    processors = shares();
  } finally {
    broken = await playing.stop();
  }
  await new Ground(name, stage, 'full').untilSettled();
  await sleep(SETTLING_MS);
  return { attack, before, beside, after: await be('after'), broken, processors };
}

const p99 = (latenciesMs: readonly number[]): number | null =>
  latenciesMs.length === 0 ? null : percentile(latenciesMs, 0.99);

/** Returns the p99 of each kind before all attacks. */
function calmOf(rounds: readonly Round[]): Record<Kind, number | null> {
  const of = (kind: Kind): number | null => p99(rounds.flatMap(({ before }) => before.latenciesMs[kind]));
  return Object.fromEntries(KINDS.map((kind) => [kind, of(kind)])) as Record<Kind, number | null>;
}

/** Tells how far the times before an attack lie apart, because a ratio below that is one of the machine. */
const calmRows = (rounds: readonly Round[], calm: Record<Kind, number | null>): Measured[] =>
  KINDS.map((kind) => {
    const each = rounds.flatMap(({ before }) => p99(before.latenciesMs[kind]) ?? []);
    return {
      name: `without an attack: ${kind}`,
      unit: 'ms',
      figure: calm[kind],
      note: `before one attack: ${Math.min(...each).toFixed(1)} to ${Math.max(...each).toFixed(1)} ms`,
    };
  });

function rowsOf(round: Round, calm: Record<Kind, number | null>): Measured[] {
  const { name, isOutage } = round.attack;
  const row = (kind: Kind, when: Exclude<When, 'before'>): Measured => ({
    name: `${name}: ${kind}, ${when}`,
    unit: 'ms',
    figure: p99(round[when].latenciesMs[kind]),
    reference: { name: 'without', figure: calm[kind] },
    target: { relation: '<=', bound: when === 'beside' ? 4 : 1.5, isReported: true },
  });
  const percent = (share: keyof Processors): string => `${(round.processors[share] * 100).toFixed(0)} %`;
  // A busy process that waits for a processor looks idle, and its ratios tell of the machine.
  const processor: Measured = {
    name: `${name}: time for which api was ready and had no processor, beside`,
    unit: '%',
    figure: round.processors.waited * 100,
    note: `ran: api ${percent('ran')}, the engine ${percent('engine')}, Postgres ${percent('postgres')}`,
  };
  const kinds = KINDS.filter((kind) => kind !== 'frame' || isOutage === undefined);
  const refused = [...round.beside.refused, ...round.after.refused];
  const broke = {
    name: `${name}: refused, and promises broken`,
    unit: '',
    figure: refused.reduce((sum, [, count]) => sum + count, round.broken.length),
    target: { relation: '<=', bound: 0 },
    note: [...refused.map(([what, count]) => `${what}: ${count}`), ...round.broken].join('; '),
  } as const;
  return [...kinds.flatMap((kind) => [row(kind, 'beside'), row(kind, 'after')]), processor, broke];
}

/** @param names attacks whose name has one of these texts; all without any */
export async function benchFairness(names: readonly string[] = []): Promise<Table> {
  const attacks = ATTACKS.filter(
    ({ name }) => names.length === 0 || names.some((text) => name.includes(text)),
  );
  const exchange = await openExchange(PRESENT);
  const queue = await startRedisServer(join(temporaryFolder('fairness'), 'queue'), {
    settings: ['appendonly no', 'maxmemory-policy noeviction'],
  });
  try {
    lowerPostgres(exchange);
    const watched = await openStage(exchange, queue.url);
    await beHonest({ ...watched.stage, wallet: HONEST, ...WARM_UP });
    const rounds: Round[] = [];
    for (const attack of attacks) rounds.push(await takeRound(watched, attack));
    const calm = calmOf(rounds);
    const rows = [...calmRows(rounds, calm), ...rounds.flatMap((round) => rowsOf(round, calm))];
    return tableOf('fairness', 'p99 of an honest wallet beside and after each attack', rows);
  } finally {
    await exchange.close();
    await queue.stop();
  }
}
