/**
 * Records an engine and its ledger as earlier releases left them:
 *
 *     DATABASE_URL=… node --import=tsx test/recorded/record.ts FOLDER LATER_FOLDER
 *
 * FOLDER holds a checkout of the release that trades and settles, LATER_FOLDER one of the last release with the same
 * format of the engine, which sets the dead-man switches. DATABASE_URL names an empty database on a server that the
 * installed `pg_dump` knows. README.md beside this file says which releases the records are of.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { openRedis, type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { RECORDS, type ScriptCall, type Word, writeRedis, writeWord } from './records.ts';

const LIMITS = { maxMakers: 1_000, maxLiveOrders: 10_000 };
const [ALICE, BOB, CAROL, DAVE] = ['a1', 'b0', 'ca', 'da'].map((byte) => `0x${byte.repeat(20)}`);
const RULES = ['--tick-size', '0.01', '--size-step', '0.001', '--min-order-size', '0.01'];
const MARKETS = {
  'ETH/USDC': [...RULES, '--max-order-size', '1000', '--fee-bps', '10'],
  'BTC/USDC': [...RULES, '--max-order-size', 'null', '--fee-bps', '0', '--self-trade', 'expire_maker'],
  'BTC/ETH': [...RULES, '--max-order-size', 'null', '--fee-bps', '25', '--reference-price', '15.5'],
  'SOL/USDC': [...RULES, '--max-order-size', 'null', '--fee-bps', '10'],
};
/** The release lets settled events go ten seconds after it first saw them settled. */
const EVENTS_STAY_MS = 10_500;

// biome-ignore lint/suspicious/noExplicitAny: modules of another release, whose types are not these
type Release = Record<'engine' | 'ledger' | 'operator' | 'scripts' | 'units', any> & {
  readonly folder: string;
};

async function openRelease(folder: string): Promise<Release> {
  const load = (path: string): Promise<unknown> => import(join(resolve(folder), 'src', path));
  return {
    folder,
    scripts: await load('scripts/index.ts'),
    engine: await load('engine/index.ts'),
    ledger: await load('ledger/index.ts'),
    operator: await load('operator/command-line.ts'),
    units: await load('domain/units.ts'),
  };
}

interface Stage {
  readonly release: Release;
  // biome-ignore lint/suspicious/noExplicitAny: an engine and a ledger of another release
  readonly ledger: any;
  // biome-ignore lint/suspicious/noExplicitAny: an engine and a ledger of another release
  engine: any;
}

/** Runs an operator's command, which must succeed. */
async function operate({ release, engine, ledger }: Stage, ...argv: string[]): Promise<void> {
  const services = { engine, ledger, networkId: '31337', close: async () => {} };
  const status = await release.operator.runOperator(argv, async () => services);
  if (status !== 0) throw new Error(`${argv.join(' ')} ended with ${status}`);
}

interface Words {
  readonly price?: string;
  readonly size?: string;
  readonly quoteAmount?: string;
  readonly clientOrderId?: string;
  readonly timeInForce?: string;
  readonly postOnly?: boolean;
}

async function place(
  stage: Stage,
  wallet: string,
  market: string,
  side: string,
  words: Words,
): Promise<{ id: string }> {
  const decimal = (text?: string): unknown =>
    text === undefined ? undefined : stage.release.units.parseDecimal(text);
  const { price, size, quoteAmount, clientOrderId = null, timeInForce = 'GTC', postOnly = false } = words;
  const placement = await stage.engine.placeOrder({
    wallet,
    request: {
      market,
      side,
      type: price === undefined ? 'market' : 'limit',
      clientOrderId,
      timeInForce,
      postOnly,
      price: decimal(price),
      size: decimal(size),
      quoteAmount: decimal(quoteAmount),
      reduceOnly: false,
      leverage: null,
    },
  });
  if (placement.outcome !== 'placed') throw new Error(`not placed but ${placement.outcome}`);
  return placement.order;
}

async function settle({ engine, ledger }: Stage): Promise<void> {
  for (;;) {
    const before = await ledger.cursor();
    const after = await ledger.settle(await engine.readEvents(before, 500));
    if (after.sequence === before.sequence) return;
  }
}

async function publish(stage: Stage): Promise<void> {
  for (const [asset, scale] of Object.entries({ USDC: 6, ETH: 8, BTC: 8, SOL: 9, SPARE: 3 }))
    await operate(stage, 'asset', 'set', asset, '--scale', `${scale}`);
  for (const [market, rules] of Object.entries(MARKETS))
    await operate(stage, 'market', 'create', market, ...rules);
  for (const wallet of [ALICE, BOB, CAROL])
    for (const [asset, amount] of Object.entries({
      USDC: '100000.5',
      ETH: '500',
      BTC: '20.00000001',
      SOL: '300',
    }))
      await operate(stage, 'account', 'credit', wallet!, asset, amount, '--reference', `${wallet} ${asset}`);
  // Beyond what a double holds.
  await operate(stage, 'account', 'credit', ALICE!, 'SOL', '1500000000.000000001', '--reference', 'much');
  // Nothing is left of it, and the portfolio shows it all the same.
  await operate(stage, 'account', 'credit', DAVE!, 'ETH', '1', '--reference', 'in');
  await operate(stage, 'account', 'debit', DAVE!, 'ETH', '1', '--reference', 'out');
  await operate(stage, 'account', 'debit', BOB!, 'USDC', '99.25', '--reference', 'withdrawn');
}

/** Orders of each kind and each end. */
async function trade(stage: Stage, turn: number): Promise<void> {
  const id = (name: string): { clientOrderId: string } => ({ clientOrderId: `№ ${turn} ${name}` });
  for (const [price, size] of [
    ['2000.5', '1.5'],
    ['2001', '0.75'],
    ['2001', '2'],
  ] as const)
    await place(stage, ALICE!, 'ETH/USDC', 'sell', { price, size, ...id(`ask ${price} ${size}`) });
  await place(stage, BOB!, 'ETH/USDC', 'buy', { price: '2001', size: '2.125', ...id('crosses') });
  await place(stage, BOB!, 'ETH/USDC', 'buy', { price: '1990.01', size: '3', ...id('bid') });
  await place(stage, CAROL!, 'ETH/USDC', 'buy', { price: '1990.01', size: '0.5' });
  await place(stage, CAROL!, 'ETH/USDC', 'sell', { size: '0.25' });
  await place(stage, CAROL!, 'ETH/USDC', 'buy', { quoteAmount: '333.33' });
  await place(stage, CAROL!, 'ETH/USDC', 'buy', {
    price: '2100',
    size: '900',
    timeInForce: 'FOK',
    ...id('fok'),
  }).catch(() => undefined);
  await place(stage, BOB!, 'ETH/USDC', 'buy', {
    price: '2005',
    size: '0.1',
    postOnly: true,
    ...id('post-only'),
  });
  await place(stage, BOB!, 'ETH/USDC', 'buy', {
    price: '1995',
    size: '0.1',
    timeInForce: 'IOC',
    ...id('ioc'),
  });
  await place(stage, BOB!, 'BTC/USDC', 'sell', { price: '30000', size: '0.5', ...id('own') });
  await place(stage, BOB!, 'BTC/USDC', 'buy', { price: '30000', size: '0.25', ...id('expires own') });
  await place(stage, ALICE!, 'BTC/USDC', 'sell', { price: '30000.01', size: '0.125' });
  await place(stage, ALICE!, 'BTC/ETH', 'buy', { price: '15', size: '1.5', ...id('halted bid') });
  await place(stage, CAROL!, 'BTC/ETH', 'sell', { price: '15', size: '0.5' });
  await place(stage, CAROL!, 'BTC/ETH', 'sell', { price: '16', size: '0.5' });
  const cancelled = await place(stage, ALICE!, 'SOL/USDC', 'sell', {
    price: '20',
    size: '5',
    ...id('cancelled'),
  });
  await stage.engine.cancelOrder(ALICE!, cancelled.id);
  const voided = await place(stage, ALICE!, 'SOL/USDC', 'sell', { price: '21', size: '5', ...id('void') });
  await operate(stage, 'order', 'void', voided.id);
  await place(stage, DAVE!, 'SOL/USDC', 'buy', { price: '1', size: '1' }).catch(() => undefined);
}

async function decree(stage: Stage): Promise<void> {
  await operate(stage, 'terms', 'require', '2026-01');
  for (const wallet of [ALICE, BOB]) await stage.engine.acceptTerms(wallet, '2026-01');
  await operate(stage, 'account', 'hold', CAROL!);
  await operate(stage, 'account', 'release', CAROL!);
  await operate(stage, 'account', 'hold', DAVE!);
  await operate(stage, 'market', 'set', 'BTC/ETH', '--status', 'halted');
  await operate(stage, 'market', 'set', 'SOL/USDC', '--status', 'pre_open', '--fee-bps', '7');
  await place(stage, BOB!, 'SOL/USDC', 'buy', { price: '19.99', size: '4', clientOrderId: 'pre-open' });
}

/** One switch that is set, and one that was due and is taken by a process that has not ended it. */
async function setSwitches(later: Release, redis: Redis, ledger: Stage['ledger']): Promise<void> {
  const engine = later.engine.openEngine({ redis, ...LIMITS });
  await engine.open(await ledger.cursor());
  await engine.setCancelAfter(BOB!, 1);
  await sleep(50);
  await engine.takeDueCancels(10, 1_000);
  await engine.setCancelAfter(ALICE!, 5_000);
}

/** Every script of the later release that writes, once. */
async function runAll(stage: Stage, redis: Redis): Promise<void> {
  stage.engine = stage.release.engine.openEngine({ redis, ...LIMITS });
  await stage.engine.open(await stage.ledger.cursor());
  await operate(stage, 'asset', 'set', 'LATER', '--scale', '2');
  await operate(stage, 'account', 'credit', BOB!, 'USDC', '1', '--reference', 'later');
  await operate(stage, 'market', 'set', 'ETH/USDC', '--fee-bps', '11');
  const { id } = await place(stage, BOB!, 'ETH/USDC', 'buy', {
    price: '1',
    size: '1',
    clientOrderId: 'later',
  });
  await stage.engine.cancelOrder(BOB!, id);
  await stage.engine.setCancelAfter(BOB!, 1);
  await sleep(1_100);
  const { taken } = await stage.engine.takeDueCancels(10, 1_000);
  await stage.engine.leaseDueCancel(taken[0], 1_000);
  await settle(stage);
  await stage.engine.trim(await stage.ledger.cursor());
  await operate(stage, 'claims', 'rebuild');
  await stage.engine.acceptTerms(BOB!, '2026-01');
  await operate(stage, 'account', 'hold', BOB!);
}

/** What settlement has not seen. */
async function goOn(stage: Stage): Promise<void> {
  await operate(stage, 'trading', 'resume');
  await place(stage, BOB!, 'ETH/USDC', 'buy', { price: '2001', size: '0.5', clientOrderId: 'not settled' });
  await stage.engine.cancelAll(ALICE!, 'BTC/USDC');
  await operate(stage, 'account', 'credit', CAROL!, 'USDC', '12', '--reference', 'not settled');
}

/** A piece of a claim filter is longer, and as good when it is short. */
const LONGEST_WORD = 1_024;
const writeShortened = (word: Buffer): Word => writeWord(word.subarray(0, LONGEST_WORD));

/** Remembers the last call of each script that a connection sends from now on. */
function watchScripts(redis: Redis, { scripts, folder }: Release): Map<string, ScriptCall> {
  const names = readdirSync(join(folder, 'lua')).flatMap((file) => /^(\w+)\.lua$/.exec(file)?.[1] ?? []);
  const byHash = new Map(names.map((name) => [scripts.loadScript(name).sha, name]));
  const calls = new Map<string, ScriptCall>();
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, stream) => {
    const name = byHash.get(String(command.args[0]));
    if (name !== undefined) {
      const [, count, ...words] = command.args.map((part) =>
        part instanceof Buffer ? part : Buffer.from(String(part)),
      );
      const keys = words.slice(0, Number(count)).map(String);
      calls.set(name, { name, keys, args: words.slice(Number(count)).map(writeShortened) });
    }
    return send(command, stream);
  };
  return calls;
}

/** Writes the scripts that were called and write, and their calls. */
function writeScripts(release: Release, calls: ReadonlyMap<string, ScriptCall>): void {
  const { scripts } = release;
  const folder = new URL(`${basename(release.folder)}/`, RECORDS.scripts);
  mkdirSync(folder, { recursive: true });
  const written = [...calls.values()].filter((call) => {
    const { source } = scripts.loadScript(call.name);
    if (source.startsWith('#!lua flags=no-writes')) return false;
    writeFileSync(new URL(`${call.name}.lua`, folder), source);
    return true;
  });
  const lines = written
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map((call) => JSON.stringify(call));
  writeFileSync(new URL('calls.jsonl', folder), `${lines.join('\n')}\n`);
}

/** Everything in a database as SQL, without the lines that are for `psql` or for people. */
function dumpPostgres(databaseUrl: string): string {
  const dump = execFileSync('pg_dump', [
    '--no-owner',
    '--no-privileges',
    '--rows-per-insert=100',
    databaseUrl,
  ]);
  return dump.toString().replace(/^(--.*|\\(?:un)?restrict.*|)\n/gm, '');
}

async function record(server: RedisServer, databaseUrl: string, folders: readonly string[]): Promise<void> {
  const [release, later] = await Promise.all(folders.map(openRelease));
  const ledger = release!.ledger.openLedger({ databaseUrl });
  await ledger.migrate();
  let redis = openRedis(server.url);
  const calls = watchScripts(redis, release!);
  const stage: Stage = { release: release!, ledger, engine: undefined };
  const open = async (): Promise<void> => {
    stage.engine = release!.engine.openEngine({ redis, ...LIMITS });
    await stage.engine.open(await ledger.cursor());
  };
  await open();
  await publish(stage);
  await trade(stage, 1);
  await settle(stage);
  // Another epoch, and a stream and an index that were trimmed.
  redis.disconnect();
  await server.kill();
  await server.start();
  redis = openRedis(server.url);
  const laterCalls = watchScripts(redis, later!);
  const callsAgain = watchScripts(redis, release!);
  await open();
  for (let times = 0; times < 3; times += 1) {
    await stage.engine.trim(await ledger.cursor());
    await sleep(EVENTS_STAY_MS);
  }
  await trade(stage, 2);
  await decree(stage);
  await operate(stage, 'trading', 'pause');
  await settle(stage);
  await stage.engine.trim(await ledger.cursor());
  await operate(stage, 'ledger', 'reconcile');
  await setSwitches(later!, redis, ledger);
  writeFileSync(RECORDS.settled, await writeRedis(redis));
  writeFileSync(RECORDS.postgres, dumpPostgres(databaseUrl));
  await goOn(stage);
  writeFileSync(RECORDS.unsettled, await writeRedis(redis));
  writeScripts(release!, new Map([...calls, ...callsAgain]));
  const laterLedger = later!.ledger.openLedger({ databaseUrl });
  await laterLedger.migrate();
  await runAll({ release: later!, ledger: laterLedger, engine: undefined }, redis);
  writeScripts(later!, laterCalls);
  await laterLedger.close();
  redis.disconnect();
  await ledger.close();
}

const folder = mkdtempSync(join(tmpdir(), 'redbook-record-'));
const server = await startRedisServer(folder);
try {
  await record(server, process.env.DATABASE_URL!, process.argv.slice(2));
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}
