/** Tests the packed client: its manifest, its types in other projects, and a trade from one of them. */

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { build } from 'esbuild';
import { type ClientFixture, openClientFixture } from '../../client/fixture.ts';
import { type PackedClient, packClient } from '../../client/packed.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const README = readFileSync(join(ROOT, 'src/client/README.md'), 'utf8');
const EXAMPLES = [...README.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text]) => text!);

const STRICT = {
  strict: true,
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  target: 'es2022',
  types: [] as string[],
};
const NODE = { ...STRICT, module: 'nodenext', lib: ['es2023'], types: ['node'] };
const BROWSER = {
  ...STRICT,
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2022', 'dom', 'dom.iterable'],
};
/** Compiler settings without the types of Node.js and of browsers. */
const BARE = { ...STRICT, module: 'nodenext', lib: ['es2022'] };

const BARE_USE = `
import { openConnection, place, RedbookError, restoreSession, type Placed } from 'redbook-client';
const connection = openConnection({ baseUrl: 'http://localhost' });
export const placed: Promise<Placed> = place(restoreSession(connection, 'a.b.c'), {
  market: 'ETH/USDC', side: 'buy', type: 'limit', price: '1', size: '1',
});
export const code = (error: RedbookError): string => (error.code === 'PRICE_TICK' ? 'tick' : error.code);
// @ts-expect-error an amount is no number
place(restoreSession(connection, ''), { market: 'ETH/USDC', side: 'buy', type: 'limit', price: 1, size: '1' });
`;

/** A use of the package from a CommonJS module. */
const REQUIRED_USE = `
import client = require('redbook-client');
export const code: client.ClientErrorCode = 'TIMEOUT';
const { openConnection, roundToStep } = client;
console.log(typeof openConnection, roundToStep({ sizeIncrement: '0.01' } as client.Market, '0.129'));
`;

const TRADE = `
import { Wallet } from 'ethers';
import { cancel, getOrderBook, getPortfolio, openConnection, place, signIn } from 'redbook-client';

const connection = openConnection({ baseUrl: process.argv[2] });
const wallet = new Wallet(process.argv[3]);
const session = await signIn(connection, {
  address: wallet.address,
  prompts: false,
  signTypedData: ({ domain, types, message }) => wallet.signTypedData(domain, types, message),
});
const bid = { market: 'ETH/USDC', side: 'buy', type: 'limit', price: '1999.95', size: '0.002' };
const placed = await place(session, bid);
const { bids } = await getOrderBook(connection, { tickerId: 'ETH_USDC' });
const { status } = await cancel(session, placed.order.id);
const { balances } = await getPortfolio(session);
console.log(JSON.stringify({ outcome: placed.outcome, bids, status, balances }));
`;

/** Compares each type that the sources derive from the contract, and each function, with the package's declarations. */
const sameTypes = (names: readonly string[]): string => `
import type * as Packed from 'redbook-client';
import type * as Source from '${ROOT}src/client/index.ts';
type Plain<T> = T extends object ? { readonly [K in keyof T]: Plain<T[K]> } : T;
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
${names.map((name) => `export const ${name}: Same<Plain<Packed.${name}>, Plain<Source.${name}>> = true;`).join('\n')}
export const functions = (source: typeof Source): typeof Packed => source;
export const others = (packed: typeof Packed): typeof Source => packed;
`;

describe('the packed client', () => {
  let packed: PackedClient;
  let fixture: ClientFixture;
  before(async () => {
    [packed, fixture] = await Promise.all([packClient(), openClientFixture()]);
    for (const name of ['@types/node', 'undici-types', 'ethers', 'ws', '@types/ws']) packed.link(name);
  });
  after(async () => {
    packed.remove();
    await fixture.close();
  });
  const installed = (file: string): string =>
    readFileSync(join(packed.folder, 'node_modules/redbook-client', file), 'utf8');

  it('is a tarball, and the command prints only its path', () => {
    expect(packed.printed).to.match(/^\/\S*redbook-client-\d+\.\d+\.\d+\.tgz\n$/);
    expect(existsSync(packed.tarball)).to.equal(true);
    const { dependencies, sideEffects, license, version, engines } = JSON.parse(installed('package.json'));
    expect(Object.keys(dependencies)).to.deep.equal(['decimal.js', 'lossless-json']);
    expect({ sideEffects, license }).to.deep.equal({ sideEffects: false, license: 'Apache-2.0' });
    const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect({ version, engines }).to.deep.equal({ version: own.version, engines: own.engines });
    expect(installed('index.js') + installed('index.d.ts')).to.not.match(/\bzod\b|from '\.|node:/);
  });

  it('adds only the used code to a bundle', async () => {
    packed.write('reads.js', "import { getMarkets } from 'redbook-client'; console.log(getMarkets);");
    const { outputFiles } = await build({
      entryPoints: [join(packed.folder, 'reads.js')],
      bundle: true,
      format: 'esm',
      write: false,
      external: ['decimal.js', 'lossless-json'],
    });
    const text = outputFiles[0]!.text;
    expect(text)
      .to.include('/v1/markets')
      .and.not.match(/clientOrderId|WeakSet|WebSocket\(|eth_sign|EIP712|Bearer of/);
    expect(text.length).to.be.at.most(installed('index.js').length / 2);
  });

  it('has types that strict projects compile with: for Node.js, for browsers, and for neither', async () => {
    const [node, stream, browser] = EXAMPLES;
    packed.write('node.ts', node!);
    packed.write('stream.ts', stream!);
    packed.write('browser.ts', browser!);
    packed.write('bare.ts', BARE_USE);
    const complaints = await Promise.all([
      packed.compile({ compilerOptions: NODE, files: ['node.ts', 'stream.ts', 'bare.ts'] }),
      packed.compile({ compilerOptions: BROWSER, files: ['browser.ts', 'bare.ts'] }),
      packed.compile({ compilerOptions: BARE, files: ['bare.ts'] }),
    ]);
    expect(complaints).to.deep.equal(['', '', '']);
  });

  it('is imported and required, with the types of its kind, whichever way TypeScript looks for them', async () => {
    packed.write('required.cts', REQUIRED_USE);
    packed.write('imported.mts', BARE_USE);
    const settings = (module: string, moduleResolution: string, files: string[]): object => ({
      compilerOptions: { ...STRICT, lib: ['es2022', 'dom'], module, moduleResolution },
      files,
    });
    const complaints = await Promise.all(
      [
        settings('node16', 'node16', ['required.cts', 'imported.mts']),
        settings('nodenext', 'nodenext', ['required.cts', 'imported.mts']),
        settings('esnext', 'bundler', ['imported.mts']),
      ].map((project) => packed.compile(project)),
    );
    expect(complaints).to.deep.equal(['', '', '']);
    packed.write(
      'required.cjs',
      REQUIRED_USE.replace(/^import client = (.*)$/m, 'const client = $1')
        .replace(/^export .*$/m, '')
        .replace(' as client.Market', ''),
    );
    const { stdout } = await run(process.execPath, ['required.cjs'], { cwd: packed.folder });
    expect(stdout).to.equal('function 0.12\n');
  });

  it('has the types of the sources and so of the contract', async () => {
    const names = [...installed('index.d.ts').matchAll(/^export (?:interface|type) (\w+)\b(?!<)/gm)].map(
      ([, name]) => name!,
    );
    packed.write('same.ts', sameTypes(names));
    const settings = { extends: join(ROOT, 'tsconfig.json'), files: ['same.ts'], include: [] };
    const compilerOptions = { types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] };
    expect(await packed.compile({ ...settings, compilerOptions })).to.equal('');
    expect(names).to.include.members(['Order', 'MarketFrame', 'ErrorCode', 'Placed']);
  });

  it('trades from Node.js', async () => {
    const key = `0x${'42'.repeat(32)}`;
    const { Wallet } = await import('ethers');
    await fixture.credit(new Wallet(key).address.toLowerCase(), { USDC: '100.000001' });
    packed.write('trade.mjs', TRADE);
    const { stdout } = await run(process.execPath, ['trade.mjs', fixture.baseUrl, key], {
      cwd: packed.folder,
    });
    expect(JSON.parse(stdout)).to.deep.equal({
      outcome: 'placed',
      bids: [['1999.95', '0.002']],
      status: 'cancelled',
      balances: [
        { asset: 'USDC', total: '100.000001', reserved: '0', available: '100.000001', amount: '100.000001' },
      ],
    });
  });
});
