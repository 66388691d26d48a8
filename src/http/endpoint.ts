/** Types and helpers of endpoints. An endpoint takes a call and returns a reply, and does not depend on Express. */

import type { z } from 'zod';
import type { Written } from '../contract/written.ts';
import { Refusal } from '../domain/errors.ts';
import { writeJson } from '../domain/json.ts';
import type { WalletReads } from '../history/wallet-reads.ts';
import type { ProbeServices, Services } from './services.ts';
import type { UnsentReplies } from './unsent-replies.ts';

/** Values of the query string. The value of a repeated key is a list. */
export type Query = Readonly<Record<string, string | string[] | undefined>>;

/** Reads of a wallet's history. Lists and single orders have separate queues, so lists do not delay single orders. */
export interface HistoryReads {
  readonly lists: WalletReads;
  readonly orders: WalletReads;
  readonly unsent: UnsentReplies;
}

/** A request that passed the checks of its route. */
interface PublicCall {
  readonly services: Services;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** Parsed body, if the endpoint reads one. */
  readonly body: unknown;
  /** True if the caller's country is blocked. */
  readonly restricted: boolean;
}

/** A request with a session. */
export interface WalletCall extends PublicCall {
  readonly reads: HistoryReads;
  /** Lower case. */
  readonly wallet: string;
}

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  /** The text as bytes, if several replies may share them. */
  readonly bytes?: Buffer;
  /** Target of the header `Link` with the next page. */
  readonly nextPage?: string | undefined;
  /** True if caches may keep the reply for a second. The same object is then sent to every caller. */
  readonly isPublic?: true;
  /** Cache-Control of a public reply that may be cached for longer. */
  readonly cacheControl?: string;
}

export interface Endpoint<Request = PublicCall> {
  /** Schema of the body if the endpoint reads one, otherwise of query and path. The API document uses it too. */
  readonly request?: z.ZodType;
  /** True if the endpoint reads a JSON body. */
  readonly readsBody?: true;
  handle(call: Request): Promise<Reply>;
}

export type WalletEndpoint = Endpoint<WalletCall>;

/** Endpoint that every process serves. It needs only the request id. */
export type Probe = (services: ProbeServices, requestId: string) => Promise<Reply>;

const JSON_TYPE = 'application/json; charset=utf-8';

/** Writes a reply. The call must name the schema. */
export const json = <Schema extends z.ZodType = never>(value: Written<Schema>, status = 200): Reply =>
  jsonText(writeJson(value), status);

export const jsonText = (text: string, status = 200): Reply => ({ status, contentType: JSON_TYPE, text });

/** Writes a reply that several requests may share. Its text is encoded to bytes once. */
export function jsonForSeveral(text: string): Reply {
  return { ...jsonText(text), bytes: Buffer.from(text) };
}

/**
 * Writes a page of a list. The call must name the schema.
 * @param name member that holds the list
 * @param items as JSON texts
 */
export const jsonPage = <Schema extends z.ZodType<{ nextCursor: string | null }> = never>(
  name: string & Exclude<keyof z.infer<Schema>, 'nextCursor'>,
  items: readonly string[],
  nextCursor: string | null,
): Reply => jsonForSeveral(`{"${name}":[${items.join(',')}],"nextCursor":${JSON.stringify(nextCursor)}}`);

/** Writes a public reply. The call must name the schema. */
export const publicJson = <Schema extends z.ZodType = never>(value: Written<Schema>): Reply =>
  publicJsonText(writeJson(value));

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

/** Writes validation failures as one line: `price: must be positive; side: …`. */
const describeIssues = (error: z.ZodError): string =>
  error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; ');

/** @throws Refusal VALIDATION_ERROR that names the fields */
export function checked<Output>(schema: z.ZodType<Output>, value: unknown): Output {
  const result = schema.safeParse(value);
  if (!result.success) throw new Refusal('VALIDATION_ERROR', describeIssues(result.error));
  return result.data;
}
