/** Types of endpoints. An endpoint takes a call and returns a reply, and does not depend on Express. */

import type { z } from 'zod';
import type { WalletReads } from '../history/wallet-reads.ts';
import type { Caller } from './change-waits.ts';
import type { Reply } from './replies/reply.ts';
import type { RequestClock } from './response/index.ts';
import type { ProbeServices, Services } from './services.ts';
import type { UnreadReplies } from './unread-replies.ts';

/** Values of the query string. The value of a repeated key is a list. */
export type Query = Readonly<Record<string, string | string[] | undefined>>;

/** Reads of a wallet's history. Each kind has its own queue, so that none delays another. */
export interface HistoryReads {
  readonly lists: WalletReads;
  readonly orders: WalletReads;
  /** For requests that wait for changes. */
  readonly changes: WalletReads;
  readonly unread: UnreadReplies;
}

export interface BodyLimits {
  readonly bytes: number;
  /** Members of all objects and items of all lists. */
  readonly members: number;
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
  /** Logs the error of a part of the request, as that of a whole request is logged. */
  report(error: unknown): void;
}

/** A request with a session. */
export interface WalletCall extends PublicCall {
  readonly reads: HistoryReads;
  /** Lower case. */
  readonly wallet: string;
  readonly caller: Caller;
  readonly clock: RequestClock;
}

export interface Endpoint<Request = PublicCall> {
  /** Schema of the body if the endpoint reads one, otherwise of query and path. The API document uses it too. */
  readonly request?: z.ZodType;
  /** True if the endpoint reads a JSON body. */
  readonly readsBody?: true;
  /** Limits of the body, if they are not those of `readBody`. */
  readonly bodyLimits?: BodyLimits;
  handle(call: Request): Promise<Reply>;
}

export type WalletEndpoint = Endpoint<WalletCall>;

/**
 * Endpoint that every process serves.
 * @param isDeep true if the request asks for the servers of the process as well, by `?deep`
 */
export type Probe = (services: ProbeServices, requestId: string, isDeep: boolean) => Promise<Reply>;
