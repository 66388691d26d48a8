/** Clients of both streams. They reconnect when they are disconnected, and record how long they received nothing. */

import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { market } from '../../stream/watcher.ts';
import { MARKETS } from '../campaign/driver.ts';

const TIMEFRAMES = ['1m', '5m', '15m', '1h', '4h', '1D', '1W', '1M'];
const CLIENTS_A_VIEW = 2;
const TRY_AGAIN_MS = 250;
/** Number of recent frames kept for a view. A reconnecting client receives the newest frame again. */
const REMEMBERED = 8;

/** A time without frames between two connections of one client. */
interface Absence {
  /** Unix milliseconds. */
  readonly sinceMs: number;
  readonly awayMs: number;
  /** Close code of the connection; 1006 if it broke. */
  readonly code: number;
  /** Number of reconnects that were refused or broke. */
  readonly refusals: number;
}

/** The stream of one view, combined from all of its clients. */
interface View {
  readonly path: string;
  readonly beats: number;
  /** Longest time between two beats. */
  readonly longestGapMs: number;
}

export interface Screens {
  readonly count: number;
  readonly absences: readonly Absence[];
  /** Longest time between two frames for a client that stayed connected. */
  longestWaitMs(): number;
  views(): View[];
  /** Number of clients that receive nothing at the moment. */
  away(): number;
  /** Waits until each client receives frames. */
  untilAll(): Promise<void>;
  close(): void;
}

interface Sight {
  readonly path: string;
  readonly recent: string[];
  beats: number;
  lastMs: number;
  longestGapMs: number;
}

export function openScreens(port: number): Screens {
  const paths = ['/ws', ...MARKETS.flatMap((symbol) => TIMEFRAMES.map((tf) => market(symbol, tf)))];
  const sights = paths.map((path): Sight => ({ path, recent: [], beats: 0, lastMs: 0, longestGapMs: 0 }));
  const absences: Absence[] = [];
  const sockets = new Map<number, WebSocket>();
  /** Connected clients that have received a frame since they connected. */
  const shown = new Set<number>();
  let longestWaitMs = 0;
  let closed = false;

  /** Counts a frame that no client has received before. A reconnecting client receives the last frame again. */
  const see = (sight: Sight, text: string): void => {
    if (sight.recent.includes(text)) return;
    sight.recent.push(text);
    if (sight.recent.length > REMEMBERED) sight.recent.shift();
    const nowMs = performance.now();
    if (sight.beats > 0) sight.longestGapMs = Math.max(sight.longestGapMs, nowMs - sight.lastMs);
    sight.lastMs = nowMs;
    sight.beats += 1;
  };

  /**
   * Holds one connection until it ends.
   * @returns its close code, or undefined if it never received a frame
   */
  const connect = (
    client: number,
    sight: Sight,
    onShown: () => void,
  ): Promise<{ code: number; isShown: boolean; reason: string }> =>
    new Promise((resolve) => {
      const localAddress = `127.0.9.${1 + client}`;
      const socket = new WebSocket(`ws://127.0.0.1:${port}${sight.path}`, { localAddress });
      sockets.set(client, socket);
      let lastMs: number | undefined;
      socket.on('error', () => undefined);
      socket.on('message', (data) => {
        const text = data.toString();
        if (!isOfTick(text)) return;
        const nowMs = performance.now();
        if (lastMs === undefined) onShown();
        else longestWaitMs = Math.max(longestWaitMs, nowMs - lastMs);
        lastMs = nowMs;
        shown.add(client);
        see(sight, text);
      });
      socket.on('close', (code, reason) =>
        resolve({ code, isShown: lastMs !== undefined, reason: reason.toString() }),
      );
    });

  const stay = async (client: number, sight: Sight): Promise<void> => {
    let left: { sinceMs: number; begunMs: number; code: number } | undefined;
    let refusals = 0;
    while (!closed) {
      const { code, isShown, reason } = await connect(client, sight, () => {
        if (left === undefined) return;
        const { sinceMs, begunMs, code } = left;
        absences.push({ sinceMs, code, refusals, awayMs: performance.now() - begunMs });
        left = undefined;
      });
      if (closed) return;
      shown.delete(client);
      if (isShown) [left, refusals] = [{ sinceMs: Date.now(), begunMs: performance.now(), code }, 0];
      else refusals += 1;
      const asked = /^reconnect in (\d+) ms$/.exec(reason)?.[1];
      await sleep(asked === undefined ? TRY_AGAIN_MS : Number(asked));
    }
  };

  const seats = sights.flatMap((sight) => Array<Sight>(CLIENTS_A_VIEW).fill(sight));
  for (const [client, sight] of seats.entries()) void stay(client, sight);

  return {
    count: seats.length,
    absences,
    longestWaitMs: () => longestWaitMs,
    views: () => sights.map(({ path, beats, longestGapMs }) => ({ path, beats, longestGapMs })),
    away: () => seats.length - shown.size,
    async untilAll() {
      while (shown.size < seats.length) await sleep(50);
    },
    close() {
      closed = true;
      for (const socket of sockets.values()) socket.terminate();
    },
  };
}

/** True for one frame of each beat. The general stream sends one frame per market in each beat. */
const isOfTick = (text: string): boolean =>
  text.startsWith('{"type":"market"') || text.startsWith(`{"type":"ticker","symbol":"${MARKETS[0]}"`);
