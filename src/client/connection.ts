/**
 * A connection: the address of the service, and the environment of the client: fetch, WebSocket, clock and random
 * bytes.
 */

import { invalid } from './errors.ts';

/** `AbortSignal`, where the environment declares one. */
export type AbortSignalLike = typeof globalThis extends { AbortSignal: { prototype: infer Signal } }
  ? Signal
  : {
      readonly aborted: boolean;
      readonly reason?: unknown;
      addEventListener(type: 'abort', listener: () => void): void;
      removeEventListener(type: 'abort', listener: () => void): void;
    };

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect?: 'error' | 'follow';
  readonly signal: AbortSignalLike;
}

interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** The part of the `WebSocket` class that the client uses; the class of the package `ws` fits, too. */
export type WebSocketClass = new (url: string) => WebSocketLike;

export interface WebSocketLike {
  addEventListener(
    type: 'open' | 'message' | 'close' | 'error',
    listener: (event: SocketEvent) => void,
  ): void;
  close(code?: number, reason?: string): void;
}

export interface SocketEvent {
  readonly type: string;
  readonly data?: unknown;
  readonly code?: number;
  readonly reason?: string;
}

export interface Clock {
  /** Unix milliseconds. The time may be wrong, and may be set back or ahead. */
  now(): number;
  /** Milliseconds since some moment, by a clock that nobody can set. Without it, `now` and `sleep` stand in for it. */
  running?(): number;
  /** Resolves after that many milliseconds; rejects when the signal is aborted before. */
  sleep(ms: number, signal?: AbortSignalLike): Promise<void>;
  /**
   * Registers a listener that is called when timers may have stood still or the network is back, for example when a
   * browser's tab is shown again. Returns a function that removes the listener.
   */
  onWake?(listener: () => void): () => void;
}

export interface ConnectionOptions {
  /** Address of the service, like `https://redbook.example`. It may have a path. */
  readonly baseUrl: string;
  /** Address of the streams, like `wss://streams.redbook.example`; `baseUrl` with `ws:` or `wss:` unless given. */
  readonly streamUrl?: string;
  /**
   * Name of the service, which wallets show at sign-in. No challenge of another name is signed; without it the challenge
   * says the name.
   */
  readonly serviceName?: string;
  /** `globalThis.fetch` unless given. */
  readonly fetch?: Fetch;
  /** `globalThis.WebSocket` unless given. Node.js 20 has none: pass the class of the package `ws`. */
  readonly WebSocket?: WebSocketClass;
  /** The system's clock unless given. */
  readonly clock?: Clock;
  /** Fills the bytes at random; `crypto.getRandomValues` unless given. */
  readonly random?: (bytes: Uint8Array) => void;
  /** Called after each request, and when the state of a stream changes. Entries have neither tokens nor bodies. */
  readonly log?: (entry: LogEntry) => void;
}

/** A request with its answer, repeats counted one by one. */
export interface RequestLogEntry {
  readonly type: 'request';
  /** Time of sending, in Unix milliseconds by the connection's clock. */
  readonly at: number;
  readonly tookMs: number;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** HTTP status of the answer; 0 when there was none. */
  readonly status: number;
  readonly requestId: string | null;
  /** Code of the failure; null for a success. */
  readonly code: string | null;
}

/** A stream whose state changed. */
export interface StreamLogEntry {
  readonly type: 'stream';
  /** Unix milliseconds by the connection's clock. */
  readonly at: number;
  /** With its query. */
  readonly path: string;
  readonly state: 'connecting' | 'live' | 'stale' | 'offline';
  /** Code of the service's refusal; null for none. */
  readonly code: string | null;
}

export type LogEntry = RequestLogEntry | StreamLogEntry;

/** Made by `openConnection`. It keeps no socket open: streams are watched by calls of their own. */
export interface Connection {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly streamUrl: string;
  readonly serviceName: string | undefined;
  readonly fetch: Fetch;
  readonly WebSocket: WebSocketClass | undefined;
  readonly clock: Clock;
  readonly random: (bytes: Uint8Array) => void;
  readonly log: ((entry: LogEntry) => void) | undefined;
}

/** @throws RedbookError `INVALID_ARGUMENT` when `baseUrl` or `streamUrl` is not an address of HTTP, or of WebSockets */
export function openConnection(options: ConnectionOptions): Connection {
  const baseUrl = addressOf(options.baseUrl, ['http:', 'https:']);
  return {
    baseUrl,
    streamUrl: addressOf(options.streamUrl ?? baseUrl.replace(/^http/, 'ws'), ['ws:', 'wss:']),
    serviceName: options.serviceName,
    // The browser's fetch must be called as a function of the window.
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    WebSocket: options.WebSocket ?? (globalThis as { WebSocket?: WebSocketClass }).WebSocket,
    clock: options.clock ?? systemClock,
    random: options.random ?? fillAtRandom,
    log: options.log,
  };
}

/** Returns an address without a trailing slash. Paths are appended to it, so it has neither a query nor a fragment. */
function addressOf(text: string, protocols: readonly string[]): string {
  const { href, protocol, username, password, search, hash } = urlOf(text);
  if (!protocols.includes(protocol) || username + password + search + hash !== '')
    throw invalid(`${text} must be an address like ${protocols[0]}//host/path`);
  return href.replace(/\/+$/, '');
}

function urlOf(text: string): URL {
  try {
    return new URL(text);
  } catch (cause) {
    throw invalid(`${text} is not an address`, cause);
  }
}

// Not `randomUUID`: browsers withhold it from pages that were loaded over plain HTTP.
const fillAtRandom = (bytes: Uint8Array): void => {
  crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>);
};

const systemClock: Clock = {
  now: () => Date.now(),
  running: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      signal?.addEventListener('abort', onAbort);
    }),
  onWake,
};

interface WakeEvents {
  addEventListener?(type: string, listener: () => void): void;
  removeEventListener?(type: string, listener: () => void): void;
}

/** Node.js has none of these events. */
function onWake(listener: () => void): () => void {
  const page = globalThis as WakeEvents & { document?: WakeEvents };
  const sources: [WakeEvents | undefined, string][] = [
    [page, 'online'],
    [page, 'pageshow'],
    [page.document, 'visibilitychange'],
  ];
  for (const [source, type] of sources) source?.addEventListener?.(type, listener);
  return () => {
    for (const [source, type] of sources) source?.removeEventListener?.(type, listener);
  };
}

/** Returns a random number from 0 up to 1. */
export function fraction({ random }: Connection): number {
  const bytes = new Uint8Array(4);
  random(bytes);
  return new DataView(bytes.buffer).getUint32(0) / 2 ** 32;
}

/** Returns random hex digits: 128 bits. */
export function randomId({ random }: Connection): string {
  const bytes = new Uint8Array(16);
  random(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Logs an entry. An exception in the caller's function must not change the outcome of a call. */
export function logEntry({ log }: Connection, entry: LogEntry): void {
  if (log !== undefined) queueMicrotask(() => log(entry));
}
