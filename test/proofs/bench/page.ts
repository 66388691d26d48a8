/**
 * Measures the trading page in Chromium on this machine: bytes, requests, time to the first book, and processor time of
 * a frame. The reference is a bare page in the same browser, which opens the same stream and writes the levels of each
 * frame as text.
 */

import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { WebSocket, WebSocketServer } from 'ws';
import { openEngine } from '../../../src/engine/index.ts';
import { closeSharedBrowser, sharedBrowser } from '../../browser/chromium.ts';
import { findChromium } from '../../browser/find-chromium.mjs';
import { openGateway } from '../../browser/gateway.ts';
import { openExchange } from './exchange.ts';
import { type Measured, median, type Table, tableOf } from './figures.ts';
import { PRESENT } from './older-release.ts';
import { fillMarket } from './streams.ts';

const SYMBOL = 'PAGE/USDC';
const LOADS = 7;
const FRAMES = 200;
/** Long enough for the page to draw each frame before the next one arrives. */
const PAUSE_MS = 30;
const LOOK_MS = 20;
const MAX_LOOKS = 1_500;
const BUNDLE = join(PRESENT, 'dist/web');
const STREAM_PATH = `/ws/market?symbol=${encodeURIComponent(SYMBOL)}&tf=1m`;
/** True if the page shows a book. Both pages show a price level as a table row. */
const SHOWS_BOOK = `document.querySelectorAll('table tbody tr').length >= 10`;
/** Records when the page first shows a book, in milliseconds since the navigation began. */
const NOTE_FIRST_BOOK = `new MutationObserver((_changes, observer) => {
  if (!(${SHOWS_BOOK})) return;
  globalThis.firstBookMs = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });`;

/** Opens the stream named in the query and shows ten levels of each frame. */
const BARE_PAGE = `<!doctype html><link rel="icon" href="data:,"><table><tbody></tbody></table><script>
  const body = document.querySelector('tbody');
  new WebSocket(decodeURIComponent(location.search.slice(1))).onmessage = ({ data }) => {
    const { bids } = JSON.parse(data).book;
    while (body.rows.length < 10) body.insertRow().insertCell();
    bids.slice(0, 10).forEach(({ price }, row) => { body.rows[row].cells[0].textContent = price; });
  };
</script>`;

interface Load {
  readonly ms: number;
  readonly requests: number;
}

async function openPage(context: BrowserContext, url: string): Promise<{ page: Page; load: Load }> {
  const page = await context.newPage();
  let requests = 0;
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) requests += 1;
  });
  await page.goto(url);
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const ms = await page.evaluate<number | undefined>('globalThis.firstBookMs');
    if (ms !== undefined) return { page, load: { ms, requests } };
    await sleep(LOOK_MS);
  }
  throw new Error(`${url} shows no book`);
}

async function newContext(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.addInitScript(NOTE_FIRST_BOOK);
  return context;
}

/** Loads a page several times, each time first without a cache and then with the cache of that load. */
async function loadsOf(browser: Browser, url: string): Promise<{ cold: Load[]; warm: Load[] }> {
  const cold: Load[] = [];
  const warm: Load[] = [];
  for (let round = 0; round < LOADS; round += 1) {
    const context = await newContext(browser);
    for (const loads of [cold, warm]) {
      const { page, load } = await openPage(context, url);
      loads.push(load);
      await page.close();
    }
    await context.close();
  }
  return { cold, warm };
}

/** Main-thread milliseconds of the page for each frame that `replay` sends. */
async function frameMs(browser: Browser, url: string, replay: () => Promise<void>): Promise<number> {
  const context = await newContext(browser);
  const { page } = await openPage(context, url);
  const session = await context.newCDPSession(page);
  await session.send('Performance.enable');
  const taskSeconds = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')!.value;
  };
  await replay(); // lets the browser compile the scripts
  const begun = await taskSeconds();
  await replay();
  const spent = (await taskSeconds()) - begun;
  await context.close();
  return (spent * 1_000) / FRAMES;
}

/** Returns one frame of the real stream. */
async function recordFrame(url: string): Promise<string> {
  const socket = new WebSocket(url.replace('http', 'ws') + STREAM_PATH);
  const [data] = await once(socket, 'message');
  socket.close();
  return String(data);
}

interface Frame {
  readonly book: Readonly<
    Record<'bids' | 'asks', readonly { readonly price: number; readonly size: number }[]>
  >;
}

/** Returns the recorded frame with every tenth size changed. `number` selects the changed sizes. */
function changed(recorded: string, number: number): string {
  const frame = JSON.parse(recorded) as Frame;
  const change = (levels: Frame['book']['bids']) =>
    levels.map(({ price, size }, index) => ({
      price,
      size: (index + number) % 10 === 0 ? Number((size + number / 10_000).toFixed(4)) : size,
    }));
  return JSON.stringify({ ...frame, book: { bids: change(frame.book.bids), asks: change(frame.book.asks) } });
}

/** A stream that sends the recorded frame first, and the changed frames when `replay` is called. */
function replayingServer(recorded: string): { server: Server; replay(): Promise<void> } {
  const server = createServer();
  const sockets = new Set<WebSocket>();
  new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket, { url }) => {
    if (!url?.startsWith('/ws/market')) return;
    sockets.add(socket.once('close', () => sockets.delete(socket)));
    socket.send(recorded);
  });
  return {
    server,
    async replay() {
      for (let number = 1; number <= FRAMES; number += 1) {
        for (const socket of sockets) socket.send(changed(recorded, number));
        await sleep(PAUSE_MS);
      }
    },
  };
}

async function listenOn(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const KB = 1_024;
function bundleRows(): Measured[] {
  const sized = readdirSync(BUNDLE)
    .filter((name) => /\.(js|css)$/.test(name))
    .map((name) => ({ name, bytes: readFileSync(join(BUNDLE, name)) }));
  return sized.map(({ name, bytes }) => ({
    name: `${name}, gzipped`,
    unit: 'KB',
    figure: gzipSync(bytes, { level: 9 }).length / KB,
    reference: { name: 'as it is', figure: bytes.length / KB },
  }));
}

const medianMs = (loads: readonly Load[]): number => median(loads.map(({ ms }) => ms));

async function measure(exchangeUrl: string): Promise<Measured[]> {
  const browser = await sharedBrowser();
  const bare = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(BARE_PAGE);
  });
  const barePort = await listenOn(bare);
  const bareUrl = (stream: string): string =>
    `http://127.0.0.1:${barePort}/?${encodeURIComponent(stream.replace('http', 'ws') + STREAM_PATH)}`;
  // The service builds frames only for markets with subscribers.
  const watcher = new WebSocket(exchangeUrl.replace('http', 'ws') + STREAM_PATH);
  const { server, replay } = replayingServer(await recordFrame(exchangeUrl));
  const ports = { api: Number(new URL(exchangeUrl).port), stream: await listenOn(server) };
  const gateway = await openGateway(ports);
  try {
    const path = `/trade/${SYMBOL.replace('/', '_')}`;
    const yardstick = await loadsOf(browser, bareUrl(exchangeUrl));
    const page = await loadsOf(browser, exchangeUrl + path);
    const bareFrameMs = await frameMs(browser, bareUrl(gateway.url), replay);
    const pageFrameMs = await frameMs(browser, gateway.url + path, replay);
    const row = (name: string, unit: string, figure: number, reference: number): Measured => ({
      name,
      unit,
      figure,
      reference: { name: 'bare page', figure: reference },
    });
    return [
      row('requests to the first book', '', page.cold[0]!.requests, yardstick.cold[0]!.requests),
      row('first book, empty cache', 'ms', medianMs(page.cold), medianMs(yardstick.cold)),
      row('first book, filled cache', 'ms', medianMs(page.warm), medianMs(yardstick.warm)),
      row('main thread, a frame of 500 levels', 'ms', pageFrameMs, bareFrameMs),
    ];
  } finally {
    gateway.close();
    watcher.terminate();
    for (const one of [bare, server]) {
      one.close();
      one.closeAllConnections();
    }
    await closeSharedBrowser();
  }
}

export async function benchPage(): Promise<Table> {
  const title = `the trading page at ${SYMBOL}, median of ${LOADS} loads; ${FRAMES} frames`;
  if (findChromium() === undefined) {
    const note = 'no Chromium on PATH, and CHROME_BIN does not name one';
    return tableOf('page', title, [{ name: 'first book', unit: 'ms', figure: null, note }]);
  }
  const exchange = await openExchange(PRESENT);
  const engine = openEngine({ redis: exchange.redis, maxMakers: 1_000, maxLiveOrders: 1_000_000 });
  try {
    await engine.lifecycle.open({ epoch: 0, sequence: 0 });
    await fillMarket(engine, SYMBOL);
    const { url } = await exchange.start('all');
    return tableOf('page', title, [...bundleRows(), ...(await measure(url))]);
  } finally {
    await exchange.close();
  }
}
