/** The files of the trading page, as `src/web/bundle.mjs` left them in `dist/web`. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { Answer } from '../endpoint.ts';

/** A compiled service stands in `dist` itself, beside the page. */
const FROM_HERE = import.meta.url.endsWith('.ts') ? '../../../dist/web/' : '../../../web/';
const FOLDER = new URL(FROM_HERE, import.meta.url);
/** Beginning of the path of each file. */
const PREFIX = 'web/';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};

export interface BundleFile {
  /** Hash of the content, which stands behind `?v=`. */
  readonly hash: string;
  readonly answer: Answer;
}

export interface Bundle {
  /** By their paths, without a slash in front. */
  readonly files: ReadonlyMap<string, BundleFile>;
  /** Addresses of the files that the document names, each with the hash of its content, without a slash in front. */
  readonly script: string;
  readonly style: string;
}

let bundle: Bundle | undefined;

/**
 * Reads the bundle once in a process: a replica goes on with the files it started with, and their names follow from
 * what was read, even while another process bundles anew.
 * @returns undefined when the page has not been bundled, or cannot be read
 */
export function readBundle(): Bundle | undefined {
  bundle ??= readFolder();
  return bundle;
}

function readFolder(): Bundle | undefined {
  try {
    const manifest = JSON.parse(readFileSync(new URL('manifest.json', FOLDER), 'utf8'));
    const names = Object.keys(manifest.files);
    const files = new Map(names.map((name) => [`${PREFIX}${name}`, readBundleFile(name)]));
    const addressOf = (name: string): string => `${PREFIX}${name}?v=${files.get(PREFIX + name)!.hash}`;
    return { files, script: addressOf('main.js'), style: addressOf('style.css') };
  } catch (error) {
    // A file that is missing, or closed to this user.
    if ((error as NodeJS.ErrnoException).syscall !== undefined) return undefined;
    throw error;
  }
}

function readBundleFile(name: string): BundleFile {
  const text = readFileSync(new URL(name, FOLDER), 'utf8');
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  return { hash, answer: { status: 200, contentType: CONTENT_TYPES[extname(name)]!, text, isPublic: true } };
}
