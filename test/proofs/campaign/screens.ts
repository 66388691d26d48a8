/** Clients of the streams: no frame shows a crossed book, and on one connection no older book follows a newer one. */

import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { market } from '../../stream/watcher.ts';
import { MARKETS } from './driver.ts';
import { MARKER } from './marker.ts';
import type { ShownIds } from './shown.ts';

const TRY_AGAIN_MS = 200;

interface Level {
  readonly price: number;
}

/** Best prices of the last book that one connection showed; undefined: the side is empty. */
export interface Shown {
  readonly bid: number | undefined;
  readonly ask: number | undefined;
}

/** One client: a market at one replica. */
interface Screen {
  readonly port: number;
  readonly symbol: string;
  /** Undefined until its present connection had a frame. */
  shown(): Shown | undefined;
}

export interface Screens {
  readonly all: readonly Screen[];
  /** The service has honestly lost orders: books may be older than what was shown before, until `begin`. */
  forget(): void;
  begin(): void;
  close(): void;
}

interface Frame {
  readonly type: string;
  readonly trades?: unknown;
  readonly book?: { readonly bids: readonly Level[]; readonly asks: readonly Level[] };
}

function frameOf(text: string): Frame | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function openScreens(
  ports: readonly number[],
  shownIds: Pick<ShownIds, 'look'>,
  onViolation: (invariant: string, detail: string) => void,
): Screens {
  let isClosed = false;
  let isLossy = false;
  const sockets = new Map<string, WebSocket>();
  const latest = new Map<WebSocket, Shown>();
  /** Best bid of the marker market on each connection. */
  const highest = new Map<WebSocket, number>();

  const look = (socket: WebSocket, symbol: string, text: string): void => {
    const frame = frameOf(text);
    if (frame === undefined) onViolation('streams', `no frame, but ${text.slice(0, 80)}, for ${symbol}`);
    if (frame?.type !== 'market' || frame.book === undefined) return;
    shownIds.look({ trades: frame.trades });
    const bid = frame.book.bids[0]?.price;
    const ask = frame.book.asks[0]?.price;
    latest.set(socket, { bid, ask });
    if (bid !== undefined && ask !== undefined && bid >= ask)
      onViolation('book', `a frame of ${symbol} is crossed: ${bid} and ${ask}`);
    if (symbol !== MARKER || isLossy) return;
    const before = highest.get(socket) ?? 0;
    const now = bid ?? 0;
    if (now < before)
      onViolation('streams', `an older book of ${symbol} follows a newer one: ${now} after ${before}`);
    highest.set(socket, now);
  };

  const stay = async (name: string, port: number, symbol: string): Promise<void> => {
    while (!isClosed) {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${market(symbol)}`);
      sockets.set(name, socket);
      socket.on('error', () => undefined);
      socket.on('message', (data) => look(socket, symbol, data.toString()));
      await new Promise((resolve) => socket.once('close', resolve));
      for (const known of [latest, highest]) known.delete(socket);
      await sleep(TRY_AGAIN_MS);
    }
  };
  const all = ports.flatMap((port) =>
    [MARKER, MARKETS[0]].map((symbol): Screen => {
      const name = `${port} ${symbol}`;
      void stay(name, port, symbol);
      return { port, symbol, shown: () => latest.get(sockets.get(name)!) };
    }),
  );
  return {
    all,
    forget() {
      isLossy = true;
      highest.clear();
    },
    begin() {
      isLossy = false;
    },
    close() {
      isClosed = true;
      for (const socket of sockets.values()) socket.terminate();
    },
  };
}
