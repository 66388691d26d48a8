/** Runs the examples of docs/examples against a service, as a reader would: with the packed client, through cuts. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { transform } from 'esbuild';
import { Wallet } from 'ethers';
import { getOrderBook, type OrderBook, openConnection } from '../../../src/client/index.ts';
import { type PackedClient, packClient } from '../../client/packed.ts';
import { eventually } from '../../support/eventually.ts';
import type { Fate } from '../../support/fates.ts';
import { type HttpProxy, openHttpProxy } from '../../support/http-proxy.ts';
import { marketRules } from '../../support/market-spec.ts';
import { freePort } from '../../support/ports.ts';
import { ROOT } from '../../support/program.ts';
import { random, runSeed } from '../../support/seed.ts';
import { freshDatabase, freshRedis } from '../../support/servers.ts';
import { operate, type Service, startService } from '../../support/service.ts';

const EXAMPLES = join(ROOT, 'docs/examples');
const NAMES = ['market-maker', 'taker', 'recorder'] as const;
const sourceOf = (name: string): string => readFileSync(join(EXAMPLES, 'typescript', `${name}.ts`), 'utf8');

/** Faults that a client notices at once. */
const CUTS: readonly Fate[] = [
  { kind: 'refuse connection' },
  { kind: 'cut answer' },
  { kind: 'half answer' },
  { kind: 'proxy answer', status: 502, arrives: true },
  { kind: 'proxy answer', status: 503, arrives: false },
];

function succeeds(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

/** Other runtimes of TypeScript, which `npm run proofs -- runtimes` installs, and how they run a program. */
const RUNTIMES = [
  ['deno', 'run', '--allow-all', '--node-modules-dir=manual'],
  ['bun', 'run'],
];

interface Running {
  readonly child: ChildProcess;
  readonly code: Promise<number | null>;
  output(): string;
}

describe('the examples', () => {
  const dice = random(runSeed());
  const running: Running[] = [];
  const settings: Record<string, string> = {
    JWT_SECRET: 'a secret of the tests, 32 bytes or more',
    WEB_HOSTS: 'redbook.example',
    LOG_LEVEL: 'warn',
  };
  let packed: PackedClient;
  let service: Service;
  let proxy: HttpProxy;
  let isCutting = false;

  before(async () => {
    const [port, redisUrl, databaseUrl] = await Promise.all([freePort(), freshRedis(), freshDatabase()]);
    Object.assign(settings, { PORT: String(port), REDIS_URL: redisUrl, DATABASE_URL: databaseUrl });
    [packed, service] = await Promise.all([packClient(), startService('all', settings)]);
    for (const name of ['@types/node', 'undici-types', 'ethers', 'ws', '@types/ws']) packed.link(name);
    for (const name of NAMES) {
      packed.write(`${name}.ts`, sourceOf(name));
      packed.write(`${name}.js`, (await transform(sourceOf(name), { loader: 'ts', format: 'esm' })).code);
    }
    const rules = marketRules();
    const price = ['--fee-bps', '10', '--reference-price', '2000'];
    await operate(settings, 'market', 'create', 'ETH/USDC', ...rules, ...price);
    await Promise.all(
      (
        [
          ['maker', 'USDC', '5000'],
          ['maker', 'ETH', '5'],
          ['taker', 'USDC', '5000'],
        ] as const
      ).map(([name, asset, amount]) =>
        operate(
          settings,
          'account',
          'credit',
          wallets[name].address,
          asset,
          amount,
          '--reference',
          name + asset,
        ),
      ),
    );
    proxy = await openHttpProxy({
      streamPort: port,
      carriageOf: ({ url = '/' }) => {
        const fate: Fate = isCutting && dice.chance(0.2) ? dice.pick(CUTS) : { kind: 'pass', delayMs: 0 };
        return { port, path: url, fate };
      },
    });
  });
  after(async () => {
    for (const { child } of running) child.kill('SIGKILL');
    proxy?.close();
    packed?.remove();
    await service?.end('SIGTERM');
  });

  const wallets = { maker: Wallet.createRandom(), taker: Wallet.createRandom() };

  function start(
    command: readonly string[],
    url: string,
    wallet: keyof typeof wallets = 'maker',
    env: object = {},
  ): Running {
    const [program, ...args] = command;
    const { PATH } = process.env;
    const child = spawn(program!, args, {
      cwd: packed.folder,
      env: { PATH, REDBOOK_URL: url, PRIVATE_KEY: wallets[wallet].privateKey, ...env },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    const code = new Promise<number | null>((resolve) => child.once('close', resolve));
    const one = { child, code, output: () => output };
    running.push(one);
    return one;
  }

  const bookOf = (): Promise<OrderBook> =>
    getOrderBook(openConnection({ baseUrl: service.url }), { tickerId: 'ETH_USDC' });
  const quoted = (bid: string, ask: string): Promise<void> =>
    eventually(
      `the book has ${bid} and ${ask}`,
      async () => {
        // Market data has a limit.
        await sleep(400);
        const { bids, asks } = await bookOf();
        return bids.length === 1 && asks.length === 1 && bids[0]![0] === bid && asks[0]![0] === ask;
      },
      60_000,
    );

  it('compile in a strict project', async () => {
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      target: 'es2022',
      module: 'nodenext',
      lib: ['es2023'],
      types: ['node'],
    };
    expect(await packed.compile({ compilerOptions, files: NAMES.map((name) => `${name}.ts`) })).to.equal('');
  });

  it('show the market maker that the README of the client shows', () => {
    const readme = readFileSync(join(ROOT, 'src/client/README.md'), 'utf8');
    expect(readme).to.include(`\`\`\`ts\n${sourceOf('market-maker')}\`\`\``);
    expect(sourceOf('market-maker').trimEnd().split('\n').length).to.be.at.most(60);
  });

  it('quote, requote and record through cuts, take, and stop cleanly', async () => {
    isCutting = true;
    const maker = start([process.execPath, 'market-maker.js'], proxy.url);
    const recorder = start([process.execPath, 'recorder.js'], proxy.url);
    await quoted('1998', '2002');
    const taker = start([process.execPath, 'taker.js', '0.05', '2010'], service.url, 'taker');
    expect(await taker.code, taker.output()).to.equal(0);
    expect(taker.output()).to.include('costs at most 100.6005 USDC');
    expect(taker.output()).to.include('bought 0.05 for 100.2001 USDC; the order is filled');
    await eventually('the fill is recorded', () => recorder.output().includes('"price":"2002"'));
    proxy.cutStreams();
    await operate(settings, 'market', 'set', 'ETH/USDC', '--reference-price', '2100');
    await quoted('2097.9', '2102.1');
    isCutting = false;
    for (const { child } of [maker, recorder]) child.kill('SIGINT');
    expect([await maker.code, await recorder.code], maker.output() + recorder.output()).to.deep.equal([0, 0]);
    expect(maker.output()).to.match(/stopped\n$/);
    expect(await bookOf()).to.deep.include({ bids: [], asks: [] });
    const lines = recorder
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'));
    expect(lines.map((line) => JSON.parse(line).size)).to.deep.equal(['0.05']);
  });

  it('in Python quote, take, record and stop cleanly', async function () {
    if (!succeeds('python3', '--version')) {
      console.log('      skipped: there is no python3');
      return this.skip();
    }
    const hasPackage = succeeds('python3', '-c', 'import eth_account');
    if (!hasPackage) console.log('      with a stand-in for eth-account, which is not installed');
    const env = hasPackage ? {} : { PYTHONPATH: join(ROOT, 'test/client/stand-in') };
    const python = (name: string, wallet: keyof typeof wallets, ...args: string[]): Running =>
      start(['python3', '-B', join(EXAMPLES, 'python', name), ...args], service.url, wallet, env);
    const maker = python('market_maker.py', 'maker');
    const recorder = python('recorder.py', 'maker');
    await eventually('Python quotes', () => maker.output().includes('sell 2004.01 resting'));
    expect(maker.output()).to.include('buy 1999.99 resting');
    const taker = python('taker.py', 'taker', '0.05', '2010');
    expect(await taker.code, taker.output()).to.equal(0);
    expect(taker.output()).to.include('bought 0.05 for 100.3007005; the order is filled');
    await eventually('the fill is recorded', () => recorder.output().includes('"price": "2004.01"'));
    maker.child.kill('SIGINT');
    expect(await maker.code, maker.output()).to.equal(0);
    expect(maker.output()).to.match(/stopped\n$/);
    expect(await bookOf()).to.deep.include({ bids: [], asks: [] });
  });

  for (const command of RUNTIMES)
    it(`in ${command[0]} quote, take, record and stop cleanly`, async function () {
      if (!succeeds(command[0]!, '--version')) {
        console.log(`      skipped: there is no ${command[0]}`);
        return this.skip();
      }
      const run = (wallet: keyof typeof wallets, name: string, ...args: string[]): Running =>
        start([...command, `${name}.ts`, ...args], service.url, wallet, { HOME: packed.folder });
      const maker = run('maker', 'market-maker');
      await quoted('2097.9', '2102.1');
      const taker = run('taker', 'taker', '0.01', '2110');
      expect(await taker.code, taker.output()).to.equal(0);
      expect(taker.output()).to.include('bought 0.01 for 21.042021 USDC; the order is filled');
      const recorder = run('maker', 'recorder');
      await eventually('the fill is recorded', () => recorder.output().includes('"price":"2102.1"'));
      for (const { child } of [maker, recorder]) child.kill('SIGINT');
      expect([await maker.code, await recorder.code], maker.output() + recorder.output()).to.deep.equal([
        0, 0,
      ]);
      expect(maker.output()).to.match(/stopped\n$/);
      expect(await bookOf()).to.deep.include({ bids: [], asks: [] });
    });
});
