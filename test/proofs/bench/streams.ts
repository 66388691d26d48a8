/**
 * Measures 5,000 clients of one stream replica. A fifth of them use the general stream; the others are spread over
 * twenty markets with full books and constant trading. The clients run in this process on the same machine and read
 * frames without parsing them.
 */

import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseDecimal } from '../../../src/domain/units.ts';
import { type Engine, openEngine } from '../../../src/engine/index.ts';
import { openExchange } from './exchange.ts';
import { type Table, tableOf } from './figures.ts';
import { percentile } from './load.ts';
import { marketSpec } from './market-spec.ts';
import { PRESENT } from './older-release.ts';

const CLIENTS = 5_000;
const GENERAL_SHARE = 0.2;
const MARKETS = 20;
const SECONDS = 20;
const CONNECT_AT_ONCE = 50;
/** Frames of one tick arrive within this time; ticks are two seconds apart. */
const SAME_TICK_MS = 500;
const LOOK_MS = 500;
const LEVELS = 250;
/** An engine lets 256 commands of one wallet wait. */
const LEVELS_AT_ONCE = 50;
const DEEP = 10n ** 16n;
const MAKER = `0x${'a'.repeat(40)}`;
const TAKER = `0x${'c'.repeat(40)}`;

const symbolOf = (index: number): string => `S${index}/USDC`;

/** Places a limit order, or a market order if there is no price. */
async function place(
  engine: Engine,
  market: string,
  { wallet, side, size, price }: { wallet: string; side: 'buy' | 'sell'; size: string; price?: string },
): Promise<void> {
  const rules = { timeInForce: 'GTC', postOnly: false, reduceOnly: false, leverage: null } as const;
  const type = price === undefined ? 'market' : 'limit';
  await engine.orders.place({
    wallet,
    request: {
      ...rules,
      market,
      side,
      type,
      clientOrderId: null,
      size: parseDecimal(size),
      ...(price === undefined ? {} : { price: parseDecimal(price) }),
    },
  });
}

/** Fills a market with as many levels as a frame has, on both sides. */
export async function fillMarket(engine: Engine, symbol: string): Promise<void> {
  await engine.markets.create(marketSpec(symbol));
  for (const wallet of [MAKER, TAKER]) {
    for (const asset of symbol.split('/')) {
      const reference = `${wallet} ${symbol} ${asset}`;
      await engine.funds.move({ kind: 'credited', wallet, asset, amountAtoms: DEEP, reference });
    }
  }
  const size = '1234.5678';
  for (let level = 1; level <= LEVELS; level += LEVELS_AT_ONCE) {
    const levels = Array.from({ length: LEVELS_AT_ONCE }, (_none, index) => (level + index) / 100);
    const makers = levels.flatMap((away) => [
      place(engine, symbol, { wallet: MAKER, side: 'buy', size, price: (2000 - away).toFixed(2) }),
      place(engine, symbol, { wallet: MAKER, side: 'sell', size, price: (2000 + away).toFixed(2) }),
    ]);
    await Promise.all(makers);
  }
}

/**
 * Trades in each market ten times a second, or when its last trade is answered: a wallet has only so many waiting orders.
 * @returns a function that stops it and throws if a trade has failed
 */
function trade(engine: Engine): () => void {
  let failure: unknown;
  const waiting = new Set<string>();
  const tradeIn = async (symbol: string): Promise<void> => {
    if (waiting.has(symbol)) return;
    waiting.add(symbol);
    try {
      await place(engine, symbol, { wallet: TAKER, side: 'buy', size: '0.0001' });
    } catch (error) {
      failure ??= error;
    } finally {
      waiting.delete(symbol);
    }
  };
  const timer = setInterval(() => {
    for (let index = 0; index < MARKETS; index += 1) void tradeIn(symbolOf(index));
  }, 100);
  return () => {
    clearInterval(timer);
    if (failure !== undefined) throw failure;
  };
}

/** Opens a stream and calls `onFrame` at the end of each frame with its length. */
async function open(port: number, path: string, onFrame: (bytes: number) => void): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const head = [
    `GET ${path} HTTP/1.1`,
    'Host: bench',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  let isOpen = false;
  let missing = 0; // bytes of the frame that is being read
  let length = 0;
  let begun: Buffer = Buffer.alloc(0); // an incomplete header
  const read = (arrived: Buffer): void => {
    const chunk = begun.length === 0 ? arrived : Buffer.concat([begun, arrived]);
    begun = Buffer.alloc(0);
    let at = 0;
    while (at < chunk.length) {
      if (missing === 0) {
        const short = chunk.length - at < 2 ? 0 : chunk[at + 1]! & 0x7f;
        const headerBytes = short === 126 ? 4 : short === 127 ? 10 : 2;
        if (chunk.length - at < headerBytes) {
          begun = chunk.subarray(at);
          return;
        }
        length = short === 126 ? chunk.readUInt16BE(at + 2) : short;
        if (short === 127) length = Number(chunk.readBigUInt64BE(at + 2));
        at += headerBytes;
        missing = length;
      }
      const taken = Math.min(missing, chunk.length - at);
      missing -= taken;
      at += taken;
      if (missing === 0) onFrame(length);
    }
  };
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.on('data', (chunk: Buffer) => {
      if (isOpen) return read(chunk);
      const end = chunk.indexOf('\r\n\r\n');
      if (!chunk.toString('latin1', 0, 12).endsWith('101')) return reject(new Error(chunk.toString()));
      isOpen = true;
      resolve();
      read(chunk.subarray(end + 4));
    });
  });
  return socket;
}

interface Usage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** Objects and buffers, including garbage. */
  readonly heldBytes: number;
}

async function usage(port: number): Promise<Usage> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const read = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)![1]);
  return {
    cpuSeconds: read('process_cpu_seconds_total'),
    residentBytes: read('process_resident_memory_bytes'),
    heldBytes: read('nodejs_heap_size_used_bytes') + read('nodejs_external_memory_bytes'),
  };
}

const pathOf = (client: number): string =>
  client % (1 / GENERAL_SHARE) === 0
    ? '/ws'
    : `/ws/market?symbol=${encodeURIComponent(symbolOf(client % MARKETS))}&tf=1m`;

interface Watched {
  readonly gapsMs: readonly number[];
  readonly bytes: number;
}

/**
 * Connects the clients and lets them read for some seconds.
 * @param whileSteady runs while they read, for as long as they read
 */
async function watch(port: number, whileSteady: () => Promise<void>): Promise<Watched> {
  const gapsMs: number[] = [];
  let bytes = 0;
  let isMeasuring = false;
  const sockets: Socket[] = [];
  const openOne = async (client: number): Promise<void> => {
    let lastAtMs: number | undefined;
    const socket = await open(port, pathOf(client), (length) => {
      if (!isMeasuring) return;
      const nowMs = performance.now();
      bytes += length;
      if (lastAtMs !== undefined && nowMs - lastAtMs > SAME_TICK_MS) gapsMs.push(nowMs - lastAtMs);
      lastAtMs = nowMs;
    });
    sockets.push(socket);
  };
  for (let client = 0; client < CLIENTS; client += CONNECT_AT_ONCE)
    await Promise.all(Array.from({ length: CONNECT_AT_ONCE }, (_none, index) => openOne(client + index)));
  await sleep(4_000);
  isMeasuring = true;
  await whileSteady();
  isMeasuring = false;
  for (const socket of sockets) socket.destroy();
  return { gapsMs, bytes };
}

/** Measures for about `seconds` seconds. Memory is the minimum observed, which includes the least garbage. */
async function lookFor(port: number, seconds: number): Promise<Usage & { readonly seconds: number }> {
  const begun = await usage(port);
  const begunMs = performance.now();
  const seen = [begun];
  for (let look = 0; look < (seconds * 1_000) / LOOK_MS; look += 1) {
    await sleep(LOOK_MS);
    seen.push(await usage(port));
  }
  return {
    seconds: (performance.now() - begunMs) / 1_000,
    cpuSeconds: seen.at(-1)!.cpuSeconds - begun.cpuSeconds,
    residentBytes: Math.min(...seen.map(({ residentBytes }) => residentBytes)),
    heldBytes: Math.min(...seen.map(({ heldBytes }) => heldBytes)),
  };
}

async function measure(port: number): Promise<Table> {
  const before = await lookFor(port, 5);
  let during: Awaited<ReturnType<typeof lookFor>> | undefined;
  const { gapsMs, bytes } = await watch(port, async () => {
    during = await lookFor(port, SECONDS);
  });
  const { cpuSeconds, seconds, ...ended } = during!;
  const title = `${CLIENTS} clients of one replica, ${MARKETS} markets, over ${SECONDS} s; ${gapsMs.length} gaps`;
  const perClient = (bytesMore: number): number => bytesMore / CLIENTS / 1_000;
  return tableOf('streams', title, [
    {
      name: 'gap between frames, 99 %',
      unit: 'ms',
      figure: percentile(gapsMs, 0.99),
      target: { relation: '<=', bound: 2_200 },
    },
    { name: 'gap between frames, median', unit: 'ms', figure: percentile(gapsMs, 0.5) },
    { name: 'gap between frames, longest', unit: 'ms', figure: percentile(gapsMs, 1) },
    // Resident memory alone is not enough: a process that has just started has much unused memory.
    {
      name: 'objects and buffers, a client',
      unit: 'KB',
      figure: perClient(ended.heldBytes - before.heldBytes),
      target: { relation: '<=', bound: 10 },
    },
    {
      name: 'growth of resident memory, a client',
      unit: 'KB',
      figure: perClient(ended.residentBytes - before.residentBytes),
    },
    { name: 'processor of the replica', unit: '%', figure: (cpuSeconds / seconds) * 100 },
    { name: 'processor, a tick of a client', unit: 'µs', figure: (cpuSeconds * 1e6) / gapsMs.length },
    { name: 'sent', unit: 'MB/s', figure: bytes / seconds / 1_000_000 },
  ]);
}

export async function benchStreams(): Promise<Table> {
  const exchange = await openExchange(PRESENT);
  const engine = openEngine({ redis: exchange.redis, maxMakers: 1_000, maxLiveOrders: 1_000_000 });
  try {
    await engine.lifecycle.open({ epoch: 0, sequence: 0 });
    for (let index = 0; index < MARKETS; index += 1) await fillMarket(engine, symbolOf(index));
    await exchange.start('settlement');
    await exchange.start('snapshot');
    const { url } = await exchange.start('stream', {
      WS_MAX_CLIENTS_PER_ADDRESS: String(CLIENTS),
      HANDSHAKES_PER_MINUTE: '1000000',
    });
    const stopTrading = trade(engine);
    try {
      return await measure(Number(new URL(url).port));
    } finally {
      stopTrading();
    }
  } finally {
    await exchange.close();
  }
}
