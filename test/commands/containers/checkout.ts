/** Copies the repository as `git clone` would under umask 077, and reads the guides. */

import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Inside the repository, so that an engine that can see only this folder sees it, and `node` finds the packages. */
const FOLDER = join(ROOT, 'node_modules/.cache/redbook-containers');

/** Everything that the image is built from, and what else the cluster and the guides need. */
const PARTS = [
  ...readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1)),
  ...['.dockerignore', 'Dockerfile', 'README.md', 'docker-compose.yml', 'docs', 'k8s'],
];

export interface Checkout {
  readonly folder: string;
  readonly composeFile: string;
  write(path: string, text: string): void;
  read(path: string): string;
  remove(): void;
}

export function makeCheckout(): Checkout {
  rmSync(FOLDER, { recursive: true, force: true });
  for (const part of PARTS) cpSync(join(ROOT, part), join(FOLDER, part), { recursive: true });
  close(FOLDER);
  return {
    folder: FOLDER,
    composeFile: join(FOLDER, 'docker-compose.yml'),
    write(path, text) {
      mkdirSync(dirname(join(FOLDER, path)), { recursive: true });
      writeFileSync(join(FOLDER, path), text, { mode: 0o600 });
    },
    read: (path) => readFileSync(join(FOLDER, path), 'utf8'),
    remove: () => rmSync(FOLDER, { recursive: true, force: true }),
  };
}

/** Restricts the files to their owner, as umask 077 does. */
function close(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600);
}

/**
 * Returns the first block of code in `language` that follows `heading` in a guide.
 * @throws Error if the guide has no such block
 */
export function blockOf(text: string, heading: string, language: 'sh' | 'js'): string {
  const from = text.indexOf(heading);
  const [, block] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(text.slice(from)) ?? [];
  if (from < 0 || block === undefined) throw new Error(`no ${language} block after “${heading}”`);
  return block;
}
