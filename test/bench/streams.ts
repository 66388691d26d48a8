/**
 * 5,000 clients of one stream replica, a fifth of them on the general stream and the rest on a market with full
 * books that trades all the time. The clients read frames without looking into them, in this process, on the
 * same machine.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { parseDecimal } from '../../src/domain/units.ts';
import { startEmbedded } from '../../src/embedded/index.ts';
import { freePort } from '../../src/embedded/ports.ts';
import { type Engine, openEngine } from '../../src/engine/index.ts';
import { openLedger } from '../../src/ledger/index.ts';
import { type Table, tableOf } from './figures.ts';

const CLIENTS = 5_000;
const GENERAL_SHARE = 0.2;
const SECONDS = 30;
const CONNECT_AT_ONCE = 50;
const LEVELS = 250;
const DEEP = 10n ** 16n;
const MAKER = `0x${'a'.repeat(40)}`;
const TAKER = `0x${'b'.repeat(40)}`;

async function startRole(role: string, env: Record<string, string>): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--import=tsx', 'src/main.ts', role], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  });
  for (let tries = 0; tries < 200; tries += 1) {
    if (child.exitCode !== null) throw new Error(`${role} ended`);
    const isReady = await fetch(`http://127.0.0.1:${env.PORT}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
    if (isReady) return child;
    await sleep(100);
  }
  throw new Error(`${role} is not ready`);
}

/** A limit order, or a market order where there is no price. */
async function place(engine: Engine, wallet: string, side: 'buy' | 'sell', size: string, price?: string) {
  const rules = { timeInForce: 'GTC', postOnly: false, reduceOnly: false, leverage: null } as const;
  const type = price === undefined ? 'market' : 'limit';
  await engine.placeOrder({
    wallet,
    request: {
      ...{ ...rules, market: 'ETH/USDC', side, type, clientOrderId: null, size: parseDecimal(size) },
      ...(price === undefined ? {} : { price: parseDecimal(price) }),
    },
  });
}

async function publishMarket(engine: Engine): Promise<void> {
  await engine.setAsset({ symbol: 'USDC', scale: 6 });
  const rules = { tickSize: '0.01', sizeStep: '0.0001', minOrderSize: null, maxOrderSize: null };
  await engine.createMarket({
    ...{ ...rules, symbol: 'ETH/USDC', status: 'active', sellEnabled: true, visible: true, feeBps: 10 },
    ...{ selfTrade: 'expire_taker', referencePrice: null, networkId: '1' },
  });
}

/** As many levels as a frame has, on both sides. */
export async function fillBooks(engine: Engine): Promise<void> {
  for (const wallet of [MAKER, TAKER]) {
    for (const asset of ['ETH', 'USDC']) {
      const reference = `${wallet} ${asset}`;
      await engine.moveFunds({ kind: 'credited', wallet, asset, amountAtoms: DEEP, reference });
    }
  }
  for (let level = 1; level <= LEVELS; level += 1) {
    await place(engine, MAKER, 'buy', '1234.5678', (2000 - level / 100).toFixed(2));
    await place(engine, MAKER, 'sell', '1234.5678', (2000 + level / 100).toFixed(2));
  }
}

/** Opens a stream and calls `onFrame` at the end of each frame, with its length. */
export async function open(port: number, path: string, onFrame: (bytes: number) => void): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const head = [
    ...[`GET ${path} HTTP/1.1`, 'Host: bench', 'Connection: Upgrade', 'Upgrade: websocket'],
    ...['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='],
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  let isOpen = false;
  let missing = 0; // bytes of the frame that is being read
  let length = 0;
  const read = (chunk: Buffer): void => {
    let at = 0;
    while (at < chunk.length) {
      if (missing === 0) {
        // Frames begin in chunks of their own often enough; one whose header is cut is counted with the next.
        const short = chunk[at + 1]! & 0x7f;
        const headerBytes = short === 126 ? 4 : short === 127 ? 10 : 2;
        if (chunk.length - at < headerBytes) return;
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
  /** Objects and buffers, garbage included. */
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

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;

async function measure(port: number): Promise<Table> {
  await sleep(3_000);
  const before = await usage(port);
  const gaps: number[] = [];
  let bytes = 0;
  let measuring = false;
  const sockets: Socket[] = [];
  const openOne = async (client: number): Promise<void> => {
    const path = client % (1 / GENERAL_SHARE) === 0 ? '/ws' : '/ws/market?symbol=ETH%2FUSDC&tf=1m';
    let lastAtMs: number | undefined;
    const socket = await open(port, path, (length) => {
      if (!measuring) return;
      const nowMs = performance.now();
      bytes += length;
      if (lastAtMs !== undefined) gaps.push(nowMs - lastAtMs);
      lastAtMs = nowMs;
    });
    sockets.push(socket);
  };
  for (let client = 0; client < CLIENTS; client += CONNECT_AT_ONCE) {
    await Promise.all(Array.from({ length: CONNECT_AT_ONCE }, (_none, index) => openOne(client + index)));
  }
  await sleep(4_000);
  const begun = await usage(port);
  measuring = true;
  await sleep(SECONDS * 1_000);
  measuring = false;
  const ended = await usage(port);
  gaps.sort((a, b) => a - b);
  for (const socket of sockets) socket.destroy();
  // Resident memory alone says too little: a process that has just started has much to spare.
  const held = (ended.heldBytes - before.heldBytes) / CLIENTS / 1_000;
  const resident = (ended.residentBytes - before.residentBytes) / CLIENTS / 1_000;
  return tableOf(
    'streams',
    `streams: ${CLIENTS} clients of one replica over ${SECONDS} s, ${gaps.length} gaps`,
    [
      { name: 'gap between frames, median', figure: percentile(gaps, 0.5), unit: 'ms' },
      {
        name: 'gap between frames, 99 %',
        figure: percentile(gaps, 0.99),
        unit: 'ms',
        target: { relation: '<=', bound: 2_300 },
      },
      { name: 'gap between frames, longest', figure: gaps.at(-1)!, unit: 'ms' },
      {
        name: 'objects and buffers, a client',
        figure: held,
        unit: 'KB',
        target: { relation: '<=', bound: 30 },
      },
      {
        name: 'growth of resident memory, a client',
        figure: resident,
        unit: 'KB',
        target: { relation: '<=', bound: 30 },
      },
      {
        name: 'CPU of the replica',
        figure: ((ended.cpuSeconds - begun.cpuSeconds) / SECONDS) * 100,
        unit: '%',
      },
      { name: 'sent', figure: bytes / SECONDS / 1_000_000, unit: 'MB/s' },
    ],
  );
}

export async function benchStreams(): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-bench-'));
  const servers = await startEmbedded({ dataDir: join(folder, 'data') });
  const redis = new Redis(servers.redisUrl);
  const ledger = openLedger({ databaseUrl: servers.databaseUrl });
  const children: ChildProcess[] = [];
  let trading: NodeJS.Timeout | undefined;
  try {
    await ledger.migrate();
    const engine = openEngine({ redis, maxMakers: 1_000, maxLiveOrders: 1_000_000 });
    await engine.open({ epoch: 0, sequence: 0 });
    await publishMarket(engine);
    await fillBooks(engine);
    const env = {
      ...{ REDIS_URL: servers.redisUrl, DATABASE_URL: servers.databaseUrl, LOG_LEVEL: 'fatal' },
      WS_MAX_CLIENTS_PER_ADDRESS: String(CLIENTS),
    };
    const [snapshotPort, streamPort, settlementPort] = [await freePort(), await freePort(), await freePort()];
    children.push(await startRole('snapshot', { ...env, PORT: String(snapshotPort) }));
    children.push(await startRole('settlement', { ...env, PORT: String(settlementPort) }));
    children.push(await startRole('stream', { ...env, PORT: String(streamPort) }));
    trading = setInterval(() => place(engine, TAKER, 'buy', '0.0001').catch(() => undefined), 100);
    return await measure(streamPort);
  } finally {
    clearInterval(trading);
    for (const child of children) {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGINT');
      await gone;
    }
    redis.disconnect();
    await ledger.close();
    await servers.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
