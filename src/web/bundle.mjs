/**
 * Bundles the trading page and the desk into `dist/web`: `main.js`, `style.css`, `desk.js`, `desk.css`, a file for each
 * dynamic import, icon and web app manifest, the licences of others and a list of all. Commands that may serve a page call
 * it first; it returns within milliseconds when the sources and packages are those of the last bundle. Plain Node.
 * `node src/web/bundle.mjs` bundles and prints sizes.
 *
 * Every file has a fixed name and is complete by itself. During a rolling change a browser may get files of two
 * releases: those fit together only if no file imports private names of another one. So a module that is imported
 * dynamically must not share a module with the rest of the page.
 */

import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const project = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const dist = join(project, 'dist');
const output = join(dist, 'web');

const MAIN = 'src/web/main.tsx';
const STYLE = 'src/web/style.css';
/** The desk of operators is another page, which no browser loads together with the trading page. */
const DESK = ['src/web/desk/desk.tsx', 'src/web/desk/desk.css'];
/** Texts that must be distributed with the bundle. */
const LICENCES = ['NOTICE', 'LICENSE'];
/** Files that are served as they are: the description of the page for browsers that install it, and its icon. */
const AS_THEY_ARE = ['src/web/app.webmanifest', 'src/web/icon.svg'];
/** Files that determine the bundle, besides its sources. */
const DECISIVE = ['src/web/bundle.mjs', 'package-lock.json', ...AS_THEY_ARE, ...LICENCES];
/** Packages that stand in for larger ones of the same interface: decimal.js adds 13 KB to the page, and its light form 6. */
export const STAND_INS = { 'decimal.js': 'decimal.js-light' };
const MANIFEST = 'manifest.json';
const NOTICE = 'notice.txt';

/** The page cannot be bundled; the message says why. */
export class BundleTrouble extends Error {}

/** This user cannot write the bundle; an existing one stays. */
export class UnwritableTrouble extends BundleTrouble {}

/**
 * The bundle as it stands in `dist/web`.
 * @typedef {object} Manifest
 * @property {string} inputs hash of all that the bundle was made of
 * @property {string[]} sources files of the project in the bundle, relative to the project
 * @property {string[]} packages names of the packages in the bundle
 * @property {Record<string, string>} files name of each file of the bundle and the hash of its content
 *
 * @typedef {object} Output a file of the bundle
 * @property {string} name
 * @property {Uint8Array} contents
 * @property {string[]} read files that were read for it, relative to the project
 * @property {string[]} parts those of them that are in it
 */

/**
 * @param {string | Uint8Array} contents
 * @returns {string} a name for the contents: 16 letters, digits, hyphens and underscores
 */
const hashOf = (contents) => createHash('sha256').update(contents).digest('base64url').slice(0, 16);

/**
 * Bundles the page unless the bundle in `dist/web` matches the present sources and packages. Commands may do so at the
 * same time: they write the same files, and each file is replaced atomically.
 * @returns {Promise<boolean>} true if there was anything to do
 * @throws {BundleTrouble} when the sources are wrong, or the folder cannot be written
 */
export async function bundlePage() {
  const present = readManifest();
  if (present && present.inputs === inputsOf(present.sources) && isWhole(present)) return false;
  inFolder(() => mkdirSync(output, { recursive: true }));
  inFolder(() => accessSync(output, constants.W_OK));
  const built = await build();
  inFolder(() => write(built));
  return true;
}

/** @returns {Manifest | undefined} */
function readManifest() {
  try {
    return JSON.parse(readFileSync(join(output, MANIFEST), 'utf8'));
  } catch {
    return undefined;
  }
}

/** @param {Manifest} manifest */
const isWhole = ({ files }) => Object.keys(files).every((name) => existsSync(join(output, name)));

/**
 * @param {readonly string[]} sources
 * @returns {string} hash of the sources and of what else determines the bundle; for a missing source, a hash that was
 *   never given before
 */
function inputsOf(sources) {
  const hash = createHash('sha256');
  for (const path of [...DECISIVE, ...sources]) {
    const file = join(project, path);
    hash.update(`${path}\0${existsSync(file) ? hashOf(readFileSync(file)) : 'missing'}\0`);
  }
  return hash.digest('base64url');
}

/** @returns {Promise<{ manifest: Manifest, outputs: Output[] }>} */
async function build() {
  const esbuild = await import('esbuild');
  /** @type {Map<string, Output>} */
  const chunks = new Map();
  const bundled = await files(esbuild, [MAIN, STYLE], chunks).catch((error) => {
    throw new BundleTrouble(`The trading page cannot be bundled: ${error.message}`);
  });
  const outputs = [...bundled, ...chunks.values()];
  assertApart(outputs);
  const desk = await files(esbuild, DESK, new Map()).catch((error) => {
    throw new BundleTrouble(`The desk cannot be bundled: ${error.message}`);
  });
  outputs.push(...desk);
  outputs.push({ name: NOTICE, contents: noticeText(), read: [], parts: [] });
  for (const path of AS_THEY_ARE)
    outputs.push({ name: basename(path), contents: readFileSync(join(project, path)), read: [], parts: [] });
  const sources = distinct(
    outputs.flatMap(({ read }) => read.filter((path) => packageOf(path) === undefined)),
  );
  const packages = distinct(outputs.flatMap(({ parts }) => parts.flatMap((path) => packageOf(path) ?? [])));
  const hashes = outputs.map(({ name, contents }) => [name, hashOf(contents)]);
  const manifest = { inputs: inputsOf(sources), sources, packages, files: Object.fromEntries(hashes) };
  return { manifest, outputs };
}

/**
 * @param {typeof import('esbuild')} esbuild
 * @param {readonly string[]} entryPoints relative to the project
 * @param {Map<string, Output>} chunks by source; those that are imported dynamically are added
 * @returns {Promise<Output[]>}
 */
async function files(esbuild, entryPoints, chunks) {
  const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: project,
    entryPoints: [...entryPoints],
    outdir: output,
    entryNames: '[name]',
    bundle: true,
    alias: STAND_INS,
    minify: true,
    write: false,
    metafile: true,
    logLevel: 'silent',
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    charset: 'utf8',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.svg': 'dataurl' },
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    legalComments: 'none',
    banner: { js: `/*! Licences: ${NOTICE} */`, css: `/*! Licences: ${NOTICE} */` },
    plugins: [dynamicImports(esbuild, chunks)],
  });
  return outputFiles.map(({ path, contents }) => ({
    name: basename(path),
    contents,
    read: Object.keys(metafile.inputs),
    parts: Object.entries(metafile.outputs[relative(project, path)]?.inputs ?? {})
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .map(([input]) => input),
  }));
}

/** @param {readonly string[]} texts */
const distinct = (texts) => [...new Set(texts)].sort();

const noticeText = () =>
  Buffer.from(
    LICENCES.map((name) => join(project, name))
      .filter((file) => existsSync(file))
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n'),
  );

/**
 * Makes a file of its own of each dynamic import. The importing file names it with the hash of its content, so that
 * browsers may keep it for good.
 * @param {typeof import('esbuild')} esbuild
 * @param {Map<string, Output>} chunks
 * @returns {import('esbuild').Plugin}
 */
const dynamicImports = (esbuild, chunks) => ({
  name: 'dynamic imports',
  setup(setUp) {
    setUp.onResolve({ filter: /.*/ }, async ({ path, kind, resolveDir, importer }) => {
      if (kind !== 'dynamic-import') return undefined;
      const found = await setUp.resolve(path, { kind: 'import-statement', resolveDir, importer });
      if (found.errors.length > 0) return { errors: found.errors };
      let chunk = chunks.get(found.path);
      if (chunk === undefined) {
        [chunk] = await files(esbuild, [found.path], chunks);
        if (chunk === undefined) throw new Error(`${found.path} gives no file`);
        chunks.set(found.path, chunk);
      }
      return { path: `./${chunk.name}?v=${hashOf(chunk.contents)}`, external: true };
    });
  },
});

/**
 * Checks that no module is in two files, where it would be two modules with a state each.
 * @param {readonly Output[]} outputs
 */
function assertApart(outputs) {
  const seen = new Map();
  for (const { name, parts } of outputs)
    for (const part of parts) {
      if (seen.has(part))
        throw new BundleTrouble(
          `${part} is part of ${seen.get(part)} and of ${name}: a module that is imported dynamically must not ` +
            'share modules with the rest of the page.',
        );
      seen.set(part, name);
    }
  const names = new Set(outputs.map(({ name }) => name));
  if (names.size < outputs.length) throw new BundleTrouble('two files of the page have the same name');
}

/** @param {string} path `node_modules/@preact/signals/dist/…` @returns {string | undefined} `@preact/signals` */
const packageOf = (path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];

/**
 * @param {() => void} work in the folder of the bundle
 * @throws {UnwritableTrouble}
 */
function inFolder(work) {
  try {
    work();
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new UnwritableTrouble(
      `${output} cannot be written (${code ?? message}). Its owner can run \`node src/web/bundle.mjs\`.`,
    );
  }
}

/** @param {{ manifest: Manifest, outputs: Output[] }} built */
function write({ manifest, outputs }) {
  const texts = [...outputs, { name: MANIFEST, contents: `${JSON.stringify(manifest, null, 2)}\n` }];
  const draft = mkdtempSync(join(dist, 'web-'));
  try {
    // The manifest is written last, so that the files it names are there.
    for (const { name, contents } of texts) {
      const file = join(draft, name);
      writeFileSync(file, contents);
      // Another user may run the service, so the umask of this one must not matter.
      chmodSync(file, 0o644);
      renameSync(file, join(output, name));
    }
    const names = new Set(texts.map(({ name }) => name));
    for (const name of readdirSync(output)) if (!names.has(name)) rmSync(join(output, name), { force: true });
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function printSizes() {
  for (const name of Object.keys(readManifest()?.files ?? {})) {
    const contents = readFileSync(join(output, name));
    const compressed = gzipSync(contents, { level: 9 }).length;
    process.stdout.write(`${name}: ${contents.length} bytes, ${compressed} compressed\n`);
  }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    await bundlePage();
    printSizes();
  } catch (error) {
    if (!(error instanceof BundleTrouble)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
