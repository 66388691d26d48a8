/** Replies of routes, and how each kind is written. */

import type { z } from 'zod';
import type { Written } from '../../contract/written.ts';
import { type Json, writeJson } from '../../domain/json.ts';

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  /** The text as bytes, if several replies may share them. */
  readonly bytes?: Buffer;
  /** Target of the header `Link` with the next page. */
  readonly nextPage?: string | undefined;
  /** Name under which browsers save the reply. */
  readonly file?: string | undefined;
  /** True if caches may keep the reply for a second. The same object is then sent to every caller. */
  readonly isPublic?: true;
  /** Cache-Control of a public reply that may be cached for longer. */
  readonly cacheControl?: string;
}

export const JSON_TYPE = 'application/json; charset=utf-8';
export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

/** Writes a value whose type the caller has checked. Routes write theirs by `Writers`. */
export const json = (value: Json, status = 200): Reply => jsonText(writeJson(value), status);

export const jsonText = (text: string, status = 200): Reply => ({ status, contentType: JSON_TYPE, text });

/** Writes a reply that several requests may share. Its text is encoded to bytes once. */
export function jsonForSeveral(text: string): Reply {
  return { ...jsonText(text), bytes: Buffer.from(text) };
}

/** Writes the replies of a route. A value that does not fit its schema does not compile. */
export interface Writers<Schema extends z.ZodType> {
  readonly json: (value: Written<Schema>, status?: number) => Reply;
  /** Writes a reply once for all requests that share its source. */
  readonly shared: (source: object, value: () => Written<Schema>) => Reply;
  /** Writes a reply that caches may keep. */
  readonly publicJson: (value: Written<Schema>) => Reply;
  /**
   * Writes a page of a list.
   * @param name member that holds the list
   * @param items as JSON texts
   */
  readonly page: (
    name: string & Exclude<keyof z.infer<Schema>, 'nextCursor'>,
    items: readonly string[],
    nextCursor: string | null,
  ) => Reply;
}

export const WRITERS: Writers<z.ZodType> = {
  json,
  shared: (source, value) => sharedReply(source, 'reply', () => jsonForSeveral(writeJson(value()))),
  publicJson: (value) => publicJsonText(writeJson(value)),
  page: (name, items, nextCursor) =>
    jsonForSeveral(`{"${name}":[${items.join(',')}],"nextCursor":${JSON.stringify(nextCursor)}}`),
};

export const publicJsonText = (text: string): Reply => ({ ...jsonText(text), isPublic: true });

const shared = new WeakMap<object, Map<string, Reply>>();

/**
 * Returns a reply, which is written once for each source object.
 * @param name distinguishes replies of the same source
 */
export function sharedReply(source: object, name: string, write: () => Reply): Reply {
  let replies = shared.get(source);
  if (replies === undefined) {
    replies = new Map();
    shared.set(source, replies);
  }
  let reply = replies.get(name);
  if (reply === undefined) {
    reply = write();
    replies.set(name, reply);
  }
  return reply;
}

export const plainText = (text: string): Reply => ({
  status: 200,
  contentType: 'text/plain; charset=utf-8',
  text,
});
