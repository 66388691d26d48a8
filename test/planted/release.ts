/** Copies of the sources: the next release, or one with a planted fault. */

import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/program.ts';
import { changed, isScript, type Planted, scriptText } from './planted.ts';

const PARTS = ['src', 'lua', 'migrations', 'k8s/shared/users.acl', 'package.json', 'tsconfig.json'];

/** @param folder a new folder, which the caller removes */
function copyRelease(folder: string, from = ROOT): void {
  for (const part of PARTS) cpSync(join(from, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
}

/** Adds the tests to the folder of a release, with what their servers need. */
export function addTests(folder: string): void {
  for (const part of ['test', 'k8s', '.mocharc.json'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, '.cache'), join(folder, '.cache'));
}

const CHANGE = '\n-- the next release\n';

/** A release whose scripts have other hashes. */
export function nextRelease(folder: string): void {
  copyRelease(folder);
  for (const file of readdirSync(join(folder, 'lua')))
    if (file.endsWith('.lua')) appendFileSync(join(folder, 'lua', file), CHANGE);
}

/** A release that differs from another one by a fault, whose files the other one has as they are here. */
export function faultyRelease(fault: Planted, folder: string, from?: string): void {
  copyRelease(folder, from);
  for (const [path, text] of plantedFiles(fault)) writeFileSync(join(folder, path), text);
}

/** The files of a fault with their changes made, by path. @throws Error when a text is not there exactly once */
export function plantedFiles({ changes }: Planted): Map<string, string> {
  const files = new Map<string, string>();
  for (const change of changes) {
    const { target } = change;
    const path = isScript(target) ? `lua/${target}.lua` : target;
    const text = (): string =>
      isScript(target) ? scriptText(target) : readFileSync(join(ROOT, target), 'utf8');
    files.set(path, changed(files.get(path) ?? text(), change));
  }
  return files;
}

/** Runs `work` with the folder of a release that has the fault. */
export async function withPlanted<T>(fault: Planted, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-planted-'));
  try {
    faultyRelease(fault, folder);
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
