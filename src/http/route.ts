/**
 * Routes. One object is all of a route: method, path, caller, request, reply, errors, texts and handler. Express, the API
 * document and the types of the handler follow from it. A handler takes a call and returns a reply, and does not depend on
 * Express.
 */

import type { z } from 'zod';
import { ERRORS, type ErrorCode, type OperatorCode } from '../domain/errors.ts';
import type { WalletReads } from '../history/wallet-reads.ts';
import type { Caller } from './change-waits.ts';
import type { Bucket } from './limits/buckets.ts';
import type { CountOrders, OrderCount } from './limits/order-limit.ts';
import type { HeaderName } from './openapi/headers.ts';
import type { Reply, Writers } from './replies/reply.ts';
import type { RequestClock } from './response/index.ts';
import type { ProbeServices, Services } from './services.ts';

/** Values of the query string. The value of a repeated key is a list. */
export type Query = Readonly<Record<string, string | string[] | undefined>>;

/** Reads of a wallet's history. Each kind has its own queue, so that none delays another. */
export interface HistoryReads {
  readonly lists: WalletReads;
  readonly orders: WalletReads;
  /** For requests that wait for changes. */
  readonly changes: WalletReads;
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
  /** Parsed body, if the route reads one. */
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
  /** Counts orders that the wallet asks for; undefined without a limit. */
  readonly countOrders: CountOrders | undefined;
  /** Tells the caller a count of its orders in the headers of the reply. */
  announce(count: OrderCount, isRefused: boolean): void;
  readonly clock: RequestClock;
}

export type Method = 'GET' | 'POST' | 'DELETE';

export const TAGS = {
  Login: 'A wallet signs a challenge and gets a bearer token, which is valid for eight hours.',
  Markets: 'Order rules of each market, and the state of trading.',
  Trading: 'Orders, cancels, trades and balances of the wallet that the session belongs to.',
  'Market data':
    'Public data without a key. Only genuine executions count, and every amount is a decimal string.',
  Operation: 'Probes and metrics of a process, for orchestrators and monitors.',
} as const;

/** Texts and schemas of a route in the API document. */
export interface Described<Reply extends z.ZodType = z.ZodType> {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly reply: Reply;
  /** Content type of the reply; default JSON. */
  readonly contentType?: 'text/plain';
  /** Schemas of the reply in further content types. */
  readonly alsoAs?: Readonly<Record<string, z.ZodType>>;
  /** Further headers of the reply. */
  readonly headers?: readonly HeaderName[];
  /** Statuses besides 200 that have the same reply shape. */
  readonly alsoWith?: readonly number[];
  /** The reply may also have the status 201. */
  readonly mayCreate?: boolean;
  /** Error codes specific to this route. */
  readonly codes?: readonly (ErrorCode | OperatorCode)[];
  /** Parameters that are missing from the schema of the request. */
  readonly parameters?: Readonly<Record<string, z.ZodType>>;
  /** Shapes of the body by their names in the document, if there is more than one. */
  readonly bodies?: Readonly<Record<string, z.ZodType>>;
  readonly bodyIsOptional?: true;
  /** True if it places orders, of which an operator may limit how many a wallet asks for in a minute. */
  readonly countsOrders?: true;
}

/** The part of a request that its handler checks. */
export interface Reads {
  /** Schema of the body if the handler reads one, otherwise of query and path. */
  readonly request?: z.ZodType;
  /** True if the handler reads a JSON body. */
  readonly readsBody?: true;
  /** Limits of the body, if they are not those of `readBody`. */
  readonly bodyLimits?: BodyLimits;
  /**
   * Called before the body is read, so that a refusal costs little.
   * @throws Refusal if no request of the wallet can be carried out at the moment
   */
  admit?(services: Services, wallet: string): void;
}

interface RouteOf<Schema extends z.ZodType, Call> extends Described<Schema>, Reads {
  readonly method: Method;
  readonly path: string;
  readonly tag: keyof typeof TAGS;
  handle(call: Call, write: Writers<Schema>): Promise<Reply>;
}

interface OpenRouteOf<Schema extends z.ZodType> extends RouteOf<Schema, PublicCall> {
  /** `public`: anyone, and caches may keep the reply. `login`: anyone outside the blocked countries. */
  readonly caller: 'anyone' | 'public' | 'login';
  /** Request limit of the route. Routes with the same bucket share its count. Routes without a bucket have no limit. */
  readonly bucket?: Bucket;
}

interface WalletRouteOf<Schema extends z.ZodType> extends RouteOf<Schema, WalletCall> {
  /** The caller must have a session. */
  readonly caller: 'wallet';
  readonly bucket?: undefined;
}

export type OpenRoute = OpenRouteOf<z.ZodType>;
export type WalletRoute = WalletRouteOf<z.ZodType>;
export type Route = OpenRoute | WalletRoute;

export const openRoute = <Schema extends z.ZodType>(route: OpenRouteOf<Schema>): OpenRoute => route;

export const walletRoute = <Schema extends z.ZodType>(
  route: Omit<WalletRouteOf<Schema>, 'caller'>,
): WalletRoute => ({ ...route, caller: 'wallet' });

type MarketDataRoute<Schema extends z.ZodType> = Omit<
  OpenRouteOf<Schema>,
  'method' | 'caller' | 'bucket' | 'tag'
>;

export const marketDataRoute = <Schema extends z.ZodType>(route: MarketDataRoute<Schema>): OpenRoute => ({
  ...route,
  method: 'GET',
  caller: 'public',
  bucket: 'market-data',
  tag: 'Market data',
});

/** A route that every process serves. */
export interface Probe extends Described {
  readonly method: 'GET';
  readonly path: string;
  readonly tag: 'Operation';
  /** @param isDeep true if the request asks for the servers of the process as well, by `?deep` */
  handle(
    services: ProbeServices,
    call: { readonly requestId: string; readonly isDeep: boolean },
    write: Writers<z.ZodType>,
  ): Promise<Reply>;
}

interface ProbeOf<Schema extends z.ZodType> extends Omit<Probe, 'method' | 'tag' | 'reply' | 'handle'> {
  readonly reply: Schema;
  handle(
    services: ProbeServices,
    call: { readonly requestId: string; readonly isDeep: boolean },
    write: Writers<Schema>,
  ): Promise<Reply>;
}

export const probe = <Schema extends z.ZodType>(route: ProbeOf<Schema>): Probe => ({
  ...route,
  method: 'GET',
  tag: 'Operation',
});

/** Returns the codes that the error table lists for a part of the service. */
export const codesOf = (producer: string): ErrorCode[] =>
  (Object.keys(ERRORS) as ErrorCode[]).filter((code) => ERRORS[code].producer.split(', ').includes(producer));

/** A replica makes the history reads of one wallet one after the other. */
export const READS_IN_TURN =
  'A replica makes one such read of a wallet at a time; when 64 wait, more answer `SERVICE_UNAVAILABLE` with `Retry-After`.';
