/** The packed client in a project of its own, as a user has it after installing the tarball. */

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface PackedClient {
  /** Output of the pack command. */
  readonly printed: string;
  readonly tarball: string;
  /** Folder of a project whose `node_modules` contains the package. */
  readonly folder: string;
  /** Links a package of the repository into the project. */
  link(name: string): void;
  write(file: string, text: string): void;
  /**
   * Runs the compiler on a project file in the folder.
   * @returns its errors
   */
  compile(settings: object): Promise<string>;
  remove(): void;
}

/** Packs the client with the public command, and installs the tarball without a registry. */
export async function packClient(): Promise<PackedClient> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-packed-'));
  const { stdout: printed } = await run('npm', ['run', '-s', 'pack:client', '--', '--out', folder], {
    cwd: ROOT,
  });
  const tarball = printed.trim();
  const installed = join(folder, 'node_modules/redbook-client');
  mkdirSync(dirname(installed));
  await run('tar', ['-xzf', tarball, '-C', folder]);
  renameSync(join(folder, 'package'), installed);
  // A copy instead of a link, because the server for the browser serves only this folder.
  for (const name of ['decimal.js', 'lossless-json'])
    cpSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  let projects = 0;
  return {
    printed,
    tarball,
    folder,
    link(name) {
      const link = join(folder, 'node_modules', name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', name), link);
    },
    write: (file, text) => writeFileSync(join(folder, file), text),
    async compile(settings) {
      projects += 1;
      const project = join(folder, `tsconfig.${projects}.json`);
      writeFileSync(project, JSON.stringify(settings));
      const compiler = join(ROOT, 'node_modules/@typescript/native/bin/tsc');
      return await run(process.execPath, [compiler, '--singleThreaded', '-p', project], { cwd: folder }).then(
        () => '',
        ({ stdout }: { stdout: string }) => stdout,
      );
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
