/** Copies of the sources that a campaign changes: another release, or one that is broken on purpose. */

import { appendFileSync, cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/program.ts';

const PARTS = ['src', 'lua', 'migrations', 'k8s/shared/users.acl', 'package.json', 'tsconfig.json'];

/** @param folder a new folder, which the caller removes */
export function copyRelease(folder: string): void {
  for (const part of PARTS) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
}

const CHANGE = '\n-- the next release\n';

/** A release whose scripts have other hashes. */
export function nextRelease(folder: string): void {
  copyRelease(folder);
  for (const file of readdirSync(join(folder, 'lua')))
    if (file.endsWith('.lua')) appendFileSync(join(folder, 'lua', file), CHANGE);
}

/** A change of one file: `from` must stand there exactly once. */
export interface Change {
  /** Relative to the release. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** @throws Error when a text that is to be changed is not there exactly once */
export function changed(source: string, { file, from, to }: Change): string {
  const times = source.split(from).length - 1;
  if (times !== 1) throw new Error(`${file} must hold exactly once, and holds ${times} times: ${from}`);
  return source.replace(from, () => to);
}

export function applyChange(folder: string, change: Change): void {
  const path = join(folder, change.file);
  writeFileSync(path, changed(readFileSync(path, 'utf8'), change));
}
