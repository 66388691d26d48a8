/** Reads the files of the trading page and of the desk, which `src/web/bundle.mjs` writes to `dist/web`. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { Reply } from '../replies/reply.ts';

/** Path of the bundle from this file. A compiled service is in `dist` too, beside the page. */
const FROM_HERE = import.meta.url.endsWith('.ts') ? '../../../dist/web/' : '../../../web/';
const FOLDER = new URL(FROM_HERE, import.meta.url);
/** Prefix of the path of each file. */
const PREFIX = 'web/';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
};

export interface BundleFile {
  /** Hash of the content, used as `?v=`. */
  readonly hash: string;
  readonly reply: Reply;
}

/** The desk of operators, another page of the same bundle. */
const DESK_FILES = ['desk.js', 'desk.css'].map((name) => PREFIX + name);

/** True for the files that only the desk needs. */
export const isOfDesk = (path: string): boolean => DESK_FILES.includes(path);

export interface Bundle {
  /** Files by path, without a leading slash. */
  readonly files: ReadonlyMap<string, BundleFile>;
  /** URLs of the files that the document names, each with its content hash, without a leading slash. */
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  readonly webManifest: string;
  readonly desk: { readonly script: string; readonly style: string };
}

let bundle: Bundle | undefined;

/**
 * Reads the bundle once per process. A replica keeps the files it started with, and their hashes match them, even while
 * another process rebuilds the bundle.
 * @returns undefined if the page has not been bundled, or cannot be read
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
    return {
      files,
      script: addressOf('main.js'),
      style: addressOf('style.css'),
      icon: addressOf('icon.svg'),
      webManifest: addressOf('app.webmanifest'),
      desk: { script: addressOf('desk.js'), style: addressOf('desk.css') },
    };
  } catch (error) {
    // The file is missing, or this user may not read it.
    if ((error as NodeJS.ErrnoException).syscall !== undefined) return undefined;
    throw error;
  }
}

function readBundleFile(name: string): BundleFile {
  const text = readFileSync(new URL(name, FOLDER), 'utf8');
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  return { hash, reply: { status: 200, contentType: CONTENT_TYPES[extname(name)]!, text, isPublic: true } };
}
