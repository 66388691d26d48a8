/** A stream client that records its messages and their times. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientOptions, WebSocket } from 'ws';
import { checkFrame } from '../support/contract.ts';

export interface Seen {
  readonly text: string;
  /** By performance.now(). */
  readonly atMs: number;
}

export interface Watcher {
  readonly ws: WebSocket;
  readonly seen: readonly Seen[];
  /** Settles when the connection ends; a refused upgrade has the HTTP status and the reply in place of a code. */
  readonly ended: Promise<{ code: number; reason: string }>;
  /** Waits until `enough` holds of what was seen. */
  until(enough: (seen: readonly Seen[]) => boolean, withinMs?: number): Promise<readonly Seen[]>;
  close(): void;
}

export const market = (symbol: string, tf = '1m'): string =>
  `/ws/market?symbol=${encodeURIComponent(symbol)}&tf=${tf}`;

export function watch(port: number, path: string, options: ClientOptions = {}): Watcher {
  const ws = new WebSocket(`ws://127.0.0.1:${port}${path}`, options);
  const seen: Seen[] = [];
  ws.on('message', (data) => seen.push({ text: data.toString(), atMs: performance.now() }));
  ws.on('error', () => undefined);
  const ended = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    ws.once('unexpected-response', (_request, response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => resolve({ code: response.statusCode!, reason: body }));
    });
  });
  return {
    ws,
    seen,
    ended,
    async until(enough, withinMs = 60_000) {
      for (const endMs = Date.now() + withinMs; !enough(seen); await sleep(5)) {
        if (Date.now() > endMs) throw new Error(`${path}: in vain after ${seen.length} frames`);
      }
      return seen;
    },
    close: () => ws.terminate(),
  };
}

const checked = new WeakSet<Seen>();

/** A frame, which must be as it is documented. */
// biome-ignore lint/suspicious/noExplicitAny: frames of any type, which the tests look into
export function parsed(frame: Seen): any {
  if (!checked.has(frame)) checkFrame(frame.text);
  checked.add(frame);
  return JSON.parse(frame.text);
}
