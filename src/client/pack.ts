/**
 * Packs the client as a package of its own: `npm run -s pack:client [-- --out FOLDER]`. Writes FOLDER/client (`dist/client`
 * unless given) and FOLDER/redbook-client-VERSION.tgz, and prints the path of the latter. The package has its code as an
 * ES module and as a CommonJS module, each with declarations of its kind.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { generateDtsBundle } from 'dts-bundle-generator';
import { build } from 'esbuild';
import type { z } from 'zod';
import { errorCodes, replyTypes } from './reply-types.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = join(ROOT, 'src/client');
const { version, license, engines, dependencies } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);

const MANIFEST = {
  ...{
    name: 'redbook-client',
    version,
    description: 'The typed client of Redbook, for browsers and Node.js',
  },
  license,
  type: 'module',
  sideEffects: false,
  engines,
  exports: {
    '.': {
      import: { types: './index.d.ts', default: './index.js' },
      require: { types: './index.d.cts', default: './index.cjs' },
    },
  },
  main: './index.cjs',
  types: './index.d.cts',
  dependencies: {
    'decimal.js': dependencies['decimal.js'],
    'lossless-json': dependencies['lossless-json'],
  },
};

async function writeCode(file: string, format: 'esm' | 'cjs'): Promise<void> {
  await build({
    entryPoints: [join(SOURCES, 'index.ts')],
    outfile: file,
    bundle: true,
    format,
    platform: 'neutral',
    target: 'es2022',
    charset: 'utf8',
    external: Object.keys(MANIFEST.dependencies),
  });
}

/** Writes the compiler's declarations of the sources, one file each. */
function compileDeclarations(folder: string, settings: string): void {
  const project = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      allowJs: false,
      checkJs: false,
      rootDir: join(ROOT, 'src'),
      outDir: folder,
      typeRoots: [join(ROOT, 'node_modules/@types')],
      types: ['node'],
    },
    include: [],
    files: [join(SOURCES, 'index.ts')],
  };
  writeFileSync(settings, JSON.stringify(project));
  const compiler = join(ROOT, 'node_modules/@typescript/native/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', settings], {
    stdio: ['ignore', process.stderr, process.stderr],
  });
}

/** Returns declarations as the house formats its sources. */
function formatted(declarations: string): string {
  const formatter = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
  return execFileSync(process.execPath, [formatter, 'format', '--stdin-file-path=src/client/index.d.ts'], {
    cwd: ROOT,
    input: declarations,
    encoding: 'utf8',
  });
}

/** Returns the declarations of the package, in one file without imports. */
async function bundledDeclarations(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-client-'));
  try {
    const settings = join(folder, 'tsconfig.json');
    compileDeclarations(folder, settings);
    const replies = join(folder, 'client/replies.d.ts');
    writeFileSync(replies, replyTypes(readFileSync(replies, 'utf8'), await contractSchemas()));
    writeFileSync(join(folder, 'domain/errors.d.ts'), errorCodes());
    const entry = {
      filePath: join(folder, 'client/index.d.ts'),
      output: { noBanner: true, exportReferencedTypes: false },
    };
    const [bundled] = generateDtsBundle([entry], { preferredConfigPath: settings });
    const spaced = bundled!.replace(/^(\S.*;|\}.*)\n(?=\S)/gm, '$1\n\n');
    return formatted(`/** The typed client of Redbook. */\n\n${spaced}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns everything that the contract exports, including the schemas; those of orders have a room of their own. */
async function contractSchemas(): Promise<Record<string, z.ZodType>> {
  const folder = join(ROOT, 'src/contract');
  const files = [...readdirSync(folder).map((file) => join(folder, file)), join(ROOT, 'src/order/reply.ts')];
  return Object.assign({}, ...(await Promise.all(files.map((file) => import(file)))));
}

async function pack(out: string): Promise<string> {
  const folder = join(out, 'client');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await Promise.all([
    writeCode(join(folder, 'index.js'), 'esm'),
    writeCode(join(folder, 'index.cjs'), 'cjs'),
  ]);
  const declarations = await bundledDeclarations();
  for (const file of ['index.d.ts', 'index.d.cts']) writeFileSync(join(folder, file), declarations);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(MANIFEST, null, 2)}\n`);
  cpSync(join(SOURCES, 'README.md'), join(folder, 'README.md'));
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  const packing = ['pack', '--silent', '--ignore-scripts', '--pack-destination', out];
  const name = execFileSync('npm', packing, { cwd: folder, encoding: 'utf8' }).trim();
  return join(out, name);
}

const { values } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'dist') } } });
console.log(await pack(resolve(values.out)));
