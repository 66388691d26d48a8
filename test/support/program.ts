/**
 * Bundles Redbook's sources and packages into a few JavaScript files for the processes of the tests. Node loads these
 * in a quarter of the processor time that tsx takes for the sources: 0.8 s instead of 3.2 s for an API. There are no
 * source maps, whose reading takes 0.1 s more at each start: the files are not minified and name the source of each part.
 */

import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { runFolder } from './servers.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Flags of Node with which `npm start` runs the service, as the image does. */
export const NODE_FLAGS: readonly string[] = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
).scripts.start.match(/--\S+/g);

const MAIN = 'src/main.ts';
const COMPILED = 'dist/src/main.js';
/** This source loads the migrations, which must be built too. */
const LOADS_MIGRATIONS = 'src/ledger/migrate.ts';
/** Drivers of other databases that knex names, and optional accelerators of packages. */
const NOT_INSTALLED = [
  'better-sqlite3',
  'mariadb',
  'mysql',
  'mysql2',
  'oracledb',
  'pg-native',
  'pg-query-stream',
  'sqlite3',
  'tedious',
  'bufferutil',
  'utf-8-validate',
];
/** CommonJS packages expect these names. */
const COMMONJS = [
  "import { createRequire as createRequireOfBuild } from 'node:module';",
  'const require = createRequireOfBuild(import.meta.url);',
  'const __filename = import.meta.filename;',
  'const __dirname = import.meta.dirname;',
].join('\n');

/** Names the folder of builds that the mocha runs of one `npm test` share. */
const SHARED_HOME = 'REDBOOK_TEST_BUILDS';

const builds = new Map<string, Promise<string>>();
let ownHome: string | undefined;

/** Lets a command that is no run of mocha build too. It removes the folder when it ends. */
export function keepBuildsIn(folder: string): void {
  ownHome = folder;
}

/**
 * Builds an entry once in a run of the tests, from the files as they are when the run first needs it. The build is
 * removed when the run ends, so no run starts the code of an earlier one. Commands that are no run of mocha,
 * such as `npm run drill`, get the sources unless they say where builds are kept. A folder without sources, such as that
 * of the image, runs what is compiled.
 *
 * @param entry a source, relative to the folder
 * @param folder of a checkout, by default this one
 * @returns arguments for node that run the entry
 */
export async function program({ entry = MAIN, folder = ROOT } = {}): Promise<string[]> {
  if (!existsSync(join(folder, entry))) return ['--enable-source-maps', join(folder, COMPILED)];
  const home = ownHome ?? process.env[SHARED_HOME] ?? runFolder();
  if (home === undefined) return ['--import=tsx', join(folder, entry)];
  const out = join(home, `program${join(folder, entry).replaceAll('/', '-')}`);
  if (!builds.has(out)) builds.set(out, buildOnce(entry, folder, out));
  return [await builds.get(out)!];
}

/** Both processes of a parallel run may build at the same time. The run uses the first complete build. */
async function buildOnce(entry: string, folder: string, out: string): Promise<string> {
  if (!existsSync(out)) {
    const mine = `${out}-${process.pid}`;
    await buildInto(mine, entry, folder, out);
    try {
      renameSync(mine, out);
    } catch (error) {
      if (!existsSync(out)) throw error;
      rmSync(mine, { recursive: true });
    }
  }
  return join(out, basename(entry).replace(/\.ts$/, '.mjs'));
}

async function buildInto(outdir: string, entry: string, folder: string, out: string): Promise<void> {
  const settings: BuildOptions = {
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    keepNames: true,
    outExtension: { '.js': '.mjs' },
    logLevel: 'error',
  };
  await build({
    ...settings,
    entryPoints: [join(folder, entry)],
    outdir,
    splitting: true,
    external: NOT_INSTALLED,
    banner: { js: COMMONJS },
    plugins: [inPlace(out)],
  });
  const migrations = readdirSync(join(folder, 'migrations')).map((file) => join(folder, 'migrations', file));
  await build({ ...settings, entryPoints: migrations, outdir: join(outdir, 'migrations') });
}

/** A built source finds `lua/` and packages next to the source, except migrations, which are in the build. */
const inPlace = (out: string): Plugin => ({
  name: 'in place',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/src\/.*\.m?[jt]s$/ }, async ({ path }) => {
      if (path.includes('/node_modules/')) return undefined;
      const place = path.endsWith(LOADS_MIGRATIONS) ? join(out, LOADS_MIGRATIONS) : path;
      const contents = (await readFile(path, 'utf8')).replaceAll(
        'import.meta.url',
        JSON.stringify(pathToFileURL(place).href),
      );
      return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
    }),
});
