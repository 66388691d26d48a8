/**
 * `npm run proofs -- generators`: generates clients from the two API documents with third-party generators, compiles them
 * strictly and runs them against a service. The generators are installed into a temporary folder and are not
 * dependencies of this project.
 */

import { execFile } from 'node:child_process';
import { on } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { WebSocket } from 'ws';
import { PLAIN } from '../../../src/terminal/paint.ts';
import { column, renderTable } from '../../../src/terminal/table.ts';
import { ethersSigner } from '../../auth/signers.ts';
import { freePort } from '../../support/ports.ts';
import { operate, type Service, startService } from '../../support/service.ts';
import { SOURCES } from './sources.ts';

const PACKAGES = {
  '@asyncapi/modelina': '5.10.1',
  '@asyncapi/parser': '3.6.3',
  '@hey-api/openapi-ts': '0.95.0',
  orval: '7.13.2',
  typescript: '5.9.3',
  zod: '4.1.12',
};
const INSTALLED_WITHIN_MS = 300_000;
const STEP_WITHIN_MS = 120_000;
const FRAME_WITHIN_MS = 30_000;

const run = promisify(execFile);
const TSX = import.meta.resolve('tsx');

interface Row {
  readonly generator: string;
  readonly made: string;
  readonly compiled: string;
  readonly used: string;
}

/** Returns the result of a step for the table, and prints its error to the console. */
async function outcomeOf(what: string, step: () => Promise<string>): Promise<string> {
  try {
    return await step();
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    console.error(`\n${what}: ${message}\n${stdout}${stderr}`.trimEnd());
    return 'FAILED';
  }
}

async function install(folder: string): Promise<boolean> {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const packages = Object.entries(PACKAGES).map(([name, version]) => `${name}@${version}`);
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', '--fetch-retries=1'];
  try {
    const options = { cwd: folder, timeout: INSTALLED_WITHIN_MS };
    await run('npm', ['install', ...flags, ...packages], options);
    return true;
  } catch (error) {
    const [reason = ''] = String((error as { stderr?: string }).stderr ?? error).match(/npm error .*/) ?? [];
    console.error(`The generators cannot be installed: npm's registry does not give them. ${reason}`);
    return false;
  }
}

interface Stage {
  readonly service: Service;
  /** Environment of the generated clients' programs. */
  readonly environment: NodeJS.ProcessEnv;
  /** Sells into the clients' bids, and writes a frame of the market with both bids and trades as a typed constant. */
  writeFrame(): Promise<string>;
}

/** Starts a service with the demo markets and its documents, and signs in two funded wallets. */
async function openStage(folder: string): Promise<Stage> {
  const settings = { PORT: String(await freePort()), DATA_DIR: join(folder, 'data') };
  const service = await startService('all', settings);
  const post = async (path: string, body: object, headers = {}) => {
    const reply = await fetch(service.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    // biome-ignore lint/suspicious/noExplicitAny: the generated clients are what checks replies here
    return (await reply.json()) as any;
  };
  const signIn = async (asset: string): Promise<string> => {
    const signer = ethersSigner();
    const { address } = signer;
    const { typedData } = await post('/v1/auth/challenge', { address });
    const { token } = await post('/v1/auth/verify', {
      address,
      signature: await signer.signTyped(typedData),
    });
    await operate(
      settings,
      'account',
      'credit',
      address,
      asset,
      '10000',
      '--reference',
      `deposit-${address}`,
    );
    return token;
  };
  const documentOf = async (name: string): Promise<string> =>
    (await fetch(`${service.url}/v1/${name}.json`)).text();
  for (const name of ['openapi', 'asyncapi'])
    writeFileSync(join(folder, `${name}.json`), await documentOf(name));
  const buyer = await signIn('USDC');
  const seller = await signIn('ETH');
  const { PATH, HOME } = process.env;
  return {
    service,
    environment: { PATH, HOME, BASE: service.url, TOKEN: buyer },
    async writeFrame() {
      const order = { market: 'ETH/USDC', side: 'sell', type: 'limit', price: 1000, size: 0.005 };
      await post('/v1/orders', order, { authorization: `Bearer ${seller}` });
      const frame = await frameAt(JSON.parse(await documentOf('asyncapi')));
      const source = `import type { MarketFrame } from '../../generators/modelina/MarketFrame';\n\nexport const frame: MarketFrame = ${frame};\n`;
      writeFileSync(join(folder, 'frame.ts'), source);
      return 'written';
    },
  };
}

interface AsyncApi {
  readonly servers: { readonly service: { readonly protocol: string; readonly host: string } };
}

/** Returns a frame of a market with bids and trades, from the address in the document. */
async function frameAt(document: AsyncApi): Promise<string> {
  const { protocol, host } = document.servers.service;
  const socket = new WebSocket(`${protocol}://${host}/ws/market?symbol=ETH%2FUSDC`);
  try {
    for await (const [data] of on(socket, 'message', { signal: AbortSignal.timeout(FRAME_WITHIN_MS) })) {
      const { book, trades } = JSON.parse(data);
      if (book.bids.length > 0 && trades.length > 0) return String(data);
    }
    throw new Error('the stream ended');
  } finally {
    socket.terminate();
  }
}

/** Generates, compiles and runs a client. A step whose input is missing counts as failed too. */
async function tryGenerator(
  folder: string,
  environment: NodeJS.ProcessEnv,
  generator: { name: string; folder: string; command: string[] },
): Promise<Row> {
  const inFolder = (command: string, args: string[]) =>
    run(command, args, { cwd: folder, env: environment, timeout: STEP_WITHIN_MS });
  const bin = (name: string): string => join(folder, 'node_modules/.bin', name);
  const [command, ...args] = generator.command as [string, ...string[]];
  const made = await outcomeOf(`${generator.name}, generating`, async () => {
    await inFolder(command === 'node' ? command : bin(command), args);
    return 'yes';
  });
  const compiled = await outcomeOf(`${generator.name}, compiling`, async () => {
    const project = join(folder, `tsconfig.${generator.folder}.json`);
    const include = [`${generator.folder}/**/*.ts`, `use-${generator.folder}.ts`];
    writeFileSync(project, JSON.stringify({ extends: './tsconfig.json', include }));
    await inFolder(bin('tsc'), ['-p', project]);
    return 'strictly';
  });
  const used = await outcomeOf(`${generator.name}, using`, async () => {
    const { stdout } = await inFolder(process.execPath, [`--import=${TSX}`, `use-${generator.folder}.ts`]);
    return stdout.trim();
  });
  return { generator: generator.name, made, compiled, used };
}

const orval = (target: string, client: string): string[] => [
  'orval',
  '--input',
  './openapi.json',
  '--output',
  `./${target}`,
  '--client',
  client,
];

const GENERATORS = [
  { name: 'orval, fetch', folder: 'orval-fetch', command: orval('orval-fetch/client.ts', 'fetch') },
  { name: 'orval, zod', folder: 'orval-zod', command: orval('orval-zod/schemas.ts', 'zod') },
  { name: 'hey-api', folder: 'hey-api', command: ['openapi-ts', '-i', 'openapi.json', '-o', 'hey-api'] },
  { name: 'modelina', folder: 'modelina', command: ['node', 'modelina.mjs'] },
];

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-generators-'));
  let service: Service | undefined;
  try {
    console.log('Installing the generators …');
    if (!(await install(folder))) return 1;
    for (const [name, text] of Object.entries(SOURCES)) writeFileSync(join(folder, name), text);
    console.log('Starting a service …');
    const stage = await openStage(folder);
    service = stage.service;
    const rows: Row[] = [];
    for (const generator of GENERATORS) {
      console.log(`${generator.name} …`);
      if (generator.name === 'modelina') await outcomeOf('a frame of the stream', stage.writeFrame);
      rows.push(await tryGenerator(folder, stage.environment, generator));
    }
    const cells = rows.map(({ generator, made, compiled, used }) => [generator, made, compiled, used]);
    const columns = [column('GENERATOR'), column('GENERATED'), column('COMPILED'), column('USED')];
    console.log(`\n${renderTable(columns, cells, PLAIN)}`);
    return cells.flat().includes('FAILED') ? 1 : 0;
  } finally {
    await service?.end('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exit(await main());
