/** Watches the public streams: keeps a connection up, and reports how fresh its data is. */

import { type Connection, fraction, logEntry, type WebSocketLike } from './connection.ts';
import { invalid, RedbookError } from './errors.ts';
import { readExactJson } from './exact-json.ts';
import { pathPart } from './exchange.ts';
import { type Moment, maxPassed, momentOf, shownTime, sleep } from './own-clock.ts';
import type { ErrorFrame, MarketFrame, SnapshotFrame, TickerFrame, Timeframe } from './replies.ts';
import { UnreadFrames } from './unread-frames.ts';

/**
 * - `connecting`: no frame has come yet.
 * - `live`: the last frame came at most five seconds ago.
 * - `stale`: the connection is up, and no frame has come for over five seconds. Frames come every two seconds.
 * - `offline`: there is no connection.
 */
export type FeedState = 'connecting' | 'live' | 'stale' | 'offline';

export interface WatchState {
  readonly state: FeedState;
  /** Arrival of the last frame, in Unix milliseconds by the connection's clock; null before the first. */
  readonly lastFrameAt: number | null;
  /** Time of the next attempt to connect, by the same clock; null while none is planned. */
  readonly retryAt: number | null;
  /** Reason why the service does not offer the stream, for example an unknown market; no further attempt is made. */
  readonly error: RedbookError | null;
}

export interface WatchHandlers<Frame> {
  /** Called with each frame. Each is complete by itself. */
  readonly onFrame?: (frame: Frame) => void;
  /** Called when any part of the state changes, and so after each frame. */
  readonly onState?: (state: WatchState) => void;
}

/**
 * A watch is read by its handlers, or by `for await`, which yields the newest unread frame of each market: frames that a
 * slow reader has missed are replaced. Leaving the loop closes the watch. The loop ends when the watch is closed, and
 * throws the refusal of the service.
 */
export interface Watch<Frame = unknown> extends AsyncIterable<Frame> {
  readonly state: WatchState;
  /** Ends the back-off: connects now if an attempt is planned. Does nothing while there is a connection. */
  retryNow(): void;
  /** Ends the watch: nothing is called any more. */
  close(): void;
}

/** Watches all markets: a snapshot of their records after each connect, then a ticker of each every two seconds. */
export function watchMarkets(
  connection: Connection,
  handlers: WatchHandlers<SnapshotFrame | TickerFrame> = {},
): Watch<SnapshotFrame | TickerFrame> {
  return new StreamWatch(connection, '/ws', handlers);
}

export interface MarketWatchQuery {
  /** Like `ETH/USDC`. */
  readonly symbol: string;
  /** Timeframe of the candle; `1m` unless given. */
  readonly tf?: Timeframe;
}

/** Watches one market: book, latest trades, ticker and current candle, every two seconds. */
export function watchMarket(
  connection: Connection,
  query: MarketWatchQuery,
  handlers: WatchHandlers<MarketFrame> = {},
): Watch<MarketFrame> {
  const { symbol, tf = '1m' } = query;
  const path = `/ws/market?symbol=${pathPart(symbol)}&tf=${tf}`;
  return new StreamWatch(connection, path, handlers);
}

/** Frames come every two seconds. */
const STALE_AFTER_MS = 5_000;
/** A connection that is silent for this long is replaced, because it may be dead without notice. */
const SILENT_FOR_MS = 10_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
/** A watchdog that is later than this did not run in time. */
const LATE_MS = 1_000;
/** Matches the close reason of a service that goes away, which asks clients to come back after a time of its choice. */
const ASKED_RETRY = /^reconnect in (\d{1,5}) ms$/;

class StreamWatch<Frame extends object> implements Watch<Frame> {
  readonly #connection: Connection;
  readonly #path: string;
  readonly #handlers: WatchHandlers<Frame>;
  readonly #end = new AbortController();
  readonly #readers = new Set<UnreadFrames<Frame>>();
  readonly #unfollowWakes: () => void;
  #state: WatchState = { state: 'connecting', lastFrameAt: null, retryAt: null, error: null };
  #socket: WebSocketLike | undefined;
  /** Number of attempts since the last frame. */
  #attempts = 0;
  /** Start of the silence: the last frame, or the beginning of the attempt. */
  #heard: Moment;
  #isOpen = false;
  /** Ends the watchdog's or the back-off's sleep. */
  #nap = new AbortController();

  constructor(connection: Connection, path: string, handlers: WatchHandlers<Frame>) {
    if (connection.WebSocket === undefined)
      throw invalid('there is no WebSocket class here: give one to openConnection');
    this.#connection = connection;
    this.#path = path;
    this.#handlers = handlers;
    this.#heard = momentOf(connection);
    this.#unfollowWakes = connection.clock.onWake?.(() => this.#wake()) ?? (() => undefined);
    this.#connect();
  }

  get state(): WatchState {
    return this.#state;
  }

  close(): void {
    this.#end.abort();
    this.#unfollowWakes();
    this.#nap.abort();
    this.#drop();
    for (const reader of this.#readers) reader.end();
  }

  [Symbol.asyncIterator](): AsyncIterator<Frame, void, undefined> {
    const unread = new UnreadFrames<Frame>();
    if (this.#end.signal.aborted || this.#state.error !== null) unread.end(this.#state.error);
    else this.#readers.add(unread);
    return this.#read(unread);
  }

  async *#read(unread: UnreadFrames<Frame>): AsyncGenerator<Frame, void, undefined> {
    try {
      for (let frame = await unread.next(); frame !== undefined; frame = await unread.next()) yield frame;
    } finally {
      this.#readers.delete(unread);
      this.close();
    }
  }

  retryNow(): void {
    if (this.#state.retryAt !== null) this.#nap.abort();
  }

  get #now(): number {
    return shownTime(this.#connection);
  }

  get #silentMs(): number {
    return maxPassed(this.#connection, this.#heard);
  }

  #tell(change: Partial<WatchState>): void {
    if (this.#end.signal.aborted) return;
    const before = this.#state;
    const now = { ...before, ...change };
    const names = Object.keys(now) as (keyof WatchState)[];
    if (names.every((name) => now[name] === before[name])) return;
    this.#state = now;
    const { state, error } = now;
    if (state !== before.state || error !== before.error) {
      const entry = { type: 'stream', at: this.#now, path: this.#path, state } as const;
      logEntry(this.#connection, { ...entry, code: error?.code ?? null });
    }
    this.#handlers.onState?.(now);
  }

  #connect(): void {
    this.#attempts += 1;
    this.#heard = momentOf(this.#connection);
    this.#tell({ retryAt: null });
    if (this.#end.signal.aborted) return;
    const socket = new this.#connection.WebSocket!(`${this.#connection.streamUrl}${this.#path}`);
    this.#socket = socket;
    this.#isOpen = false;
    const isCurrent = (): boolean => this.#socket === socket;
    socket.addEventListener('open', () => {
      if (isCurrent()) this.#isOpen = true;
    });
    socket.addEventListener('message', ({ data }) => {
      if (isCurrent()) this.#hear(String(data));
    });
    // An error is followed by a close; without a listener Node.js would end the process.
    socket.addEventListener('error', () => undefined);
    socket.addEventListener('close', ({ reason = '' }) => {
      if (isCurrent()) this.#lose(reason);
    });
    void this.#watch(isCurrent);
  }

  /** Watches one connection for silence, by the clock: timers of a hidden tab may be a minute late. */
  async #watch(isCurrent: () => boolean): Promise<void> {
    while (isCurrent()) {
      const silentMs = this.#silentMs;
      if (silentMs > STALE_AFTER_MS) this.#tell({ state: this.#silentState });
      if (silentMs >= SILENT_FOR_MS) {
        this.#reconnect();
        return;
      }
      const untilMs = silentMs > STALE_AFTER_MS ? SILENT_FOR_MS : STALE_AFTER_MS + 1;
      await this.#sleep(untilMs - silentMs);
    }
  }

  get #silentState(): FeedState {
    return this.#isOpen ? 'stale' : 'offline';
  }

  /** True for a live watch whose watchdog is late: the page stood still, and frames may have waited here meanwhile. */
  get #hasStoodStill(): boolean {
    return this.#state.state === 'live' && this.#silentMs > STALE_AFTER_MS + LATE_MS;
  }

  /** Sleeps until the time is over or something wakes the watch. */
  async #sleep(ms: number): Promise<void> {
    this.#nap.abort();
    this.#nap = new AbortController();
    await sleep(this.#connection, ms, this.#nap.signal).catch(() => undefined);
  }

  /** Called when timers may have stood still: checks the clock again, or tries to connect at once. */
  #wake(): void {
    this.#attempts = Math.min(this.#attempts, 1);
    if (this.#hasStoodStill) this.#reconnect();
    else this.#nap.abort();
  }

  #hear(text: string): void {
    if (this.#hasStoodStill) {
      this.#reconnect();
      return;
    }
    const frame = readFrame<Frame>(text);
    if (frame === undefined) this.#reconnect();
    else if (isErrorFrame(frame)) this.#refuse(frame);
    else {
      this.#attempts = 0;
      this.#heard = momentOf(this.#connection);
      for (const reader of this.#readers) reader.add(frame);
      this.#handlers.onFrame?.(frame);
      this.#tell({ state: 'live', lastFrameAt: this.#heard.wallMs, retryAt: null });
    }
  }

  #refuse({ code, error: message }: ErrorFrame): void {
    this.#drop();
    const error = new RedbookError({ code, message, outcome: 'refused' });
    for (const reader of this.#readers) reader.end(error);
    this.#tell({ state: 'offline', retryAt: null, error });
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
  }

  /** Replaces a connection that cannot be trusted. */
  #reconnect(): void {
    const state = this.#silentState;
    this.#drop();
    void this.#retry(state, this.#attempts === 0 ? 0 : this.#backOffMs());
  }

  #lose(reason: string): void {
    this.#socket = undefined;
    const [, askedMs] = ASKED_RETRY.exec(reason) ?? [];
    void this.#retry(
      'offline',
      askedMs === undefined ? this.#backOffMs() : Math.min(Number(askedMs), MAX_RETRY_MS),
    );
  }

  async #retry(state: FeedState, afterMs: number): Promise<void> {
    this.#tell({ state, retryAt: this.#now + afterMs });
    await this.#sleep(afterMs);
    if (!this.#end.signal.aborted) this.#connect();
  }

  /**
   * Returns the back-off, which doubles with each attempt and is random, so that clients do not come back all at once.
   */
  #backOffMs(): number {
    const longest = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#attempts);
    return longest * (0.5 + fraction(this.#connection) / 2);
  }
}

/** Returns undefined for a text that is not a frame. */
function readFrame<Frame>(text: string): Frame | ErrorFrame | undefined {
  try {
    return readExactJson(text) as Frame | ErrorFrame;
  } catch {
    return undefined;
  }
}

const isErrorFrame = (frame: unknown): frame is ErrorFrame =>
  (frame as { type?: unknown } | null)?.type === 'error';
