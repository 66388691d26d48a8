/** Clients of the streams: no frame shows a crossed book, and on one connection no older book follows a newer one. */

import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { market } from '../../stream/watcher.ts';
import { MARKETS } from './driver.ts';
import { MARKER } from './marker.ts';

const TRY_AGAIN_MS = 200;

interface Level {
  readonly price: number;
}

export interface Screens {
  readonly frames: () => number;
  /** The service has honestly lost orders: books may be older than what was shown before. */
  forget(): void;
  close(): void;
}

export function openScreens(
  ports: readonly number[],
  onViolation: (invariant: string, detail: string) => void,
): Screens {
  let isClosed = false;
  let frames = 0;
  const sockets = new Set<WebSocket>();
  /** Best bid of the marker market on each connection. */
  const highest = new Map<WebSocket, number>();

  const look = (socket: WebSocket, symbol: string, text: string): void => {
    const frame = JSON.parse(text) as { type: string; book?: { bids: Level[]; asks: Level[] } };
    if (frame.type !== 'market' || frame.book === undefined) return;
    frames += 1;
    const [bid, ask] = [frame.book.bids[0], frame.book.asks[0]];
    if (bid && ask && bid.price >= ask.price)
      onViolation('book', `a frame of ${symbol} is crossed: ${bid.price} and ${ask.price}`);
    if (symbol !== MARKER) return;
    const before = highest.get(socket) ?? 0;
    const now = bid?.price ?? 0;
    if (now < before)
      onViolation('streams', `an older book of ${symbol} follows a newer one: ${now} after ${before}`);
    highest.set(socket, now);
  };

  const stay = async (port: number, symbol: string): Promise<void> => {
    while (!isClosed) {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${market(symbol)}`);
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('message', (data) => look(socket, symbol, data.toString()));
      await new Promise((resolve) => socket.once('close', resolve));
      sockets.delete(socket);
      highest.delete(socket);
      await sleep(TRY_AGAIN_MS);
    }
  };
  for (const port of ports) for (const symbol of [MARKER, MARKETS[0]]) void stay(port, symbol);
  return {
    frames: () => frames,
    forget: () => highest.clear(),
    close() {
      isClosed = true;
      for (const socket of sockets) socket.terminate();
    },
  };
}
