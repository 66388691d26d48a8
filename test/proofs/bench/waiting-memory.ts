/** Measures what a request that waits for changes holds in its process, after a collection of garbage. */

import { Agent, type ClientRequest, request } from 'node:http';
import { freePort } from '../../../src/embedded/run/ports.ts';
import { eventually } from '../../support/eventually.ts';
import { type Exchange, type Running, startHello } from './exchange.ts';
import type { Measured } from './figures.ts';
import { inspect, inspectedOn } from './inspected.ts';
import { bearerOf } from './sessions.ts';

const WAITING = 1_000;
const OF_WALLET = 10;
/** Requests that begin together: a replica refuses the reads of too many. */
const AT_ONCE = 50;
const MAX_BYTES = 4_096;
const PATIENCE_MS = 20_000;
/** A process whose requests wait. */
interface Held {
  readonly url: string;
  pathOf(index: number): string;
  bearerOf(index: number): string;
  /** Number of requests that wait now. */
  waiting(): Promise<number>;
}

/** @returns a function that ends the requests */
async function hold(held: Held): Promise<() => Promise<void>> {
  const agent = new Agent({ maxSockets: WAITING });
  const requests: ClientRequest[] = [];
  let answer = '';
  const until = (count: number): Promise<void> =>
    eventually(
      `${count} requests wait`,
      async () => answer !== '' || (await held.waiting()) === count,
      PATIENCE_MS,
    );
  while (requests.length < WAITING) {
    for (const from = requests.length; requests.length < from + AT_ONCE; ) {
      const index = requests.length;
      const headers = { authorization: held.bearerOf(index) };
      const one = request(`${held.url}${held.pathOf(index)}`, { agent, headers }, ({ statusCode }) => {
        answer = `request ${index} was answered with ${statusCode}`;
      });
      requests.push(one.on('error', () => undefined).end());
    }
    await until(requests.length);
  }
  if (answer !== '') throw new Error(answer);
  return async () => {
    for (const one of requests) one.destroy();
    await until(0);
  };
}

/** Bytes of one request. The first turn pays for what a process keeps. */
async function bytesOf(inspectorPort: number, held: Held): Promise<number> {
  const process = await inspect(inspectorPort);
  const heldBytes = async (): Promise<number> => {
    for (let turn = 0; turn < 3; turn += 1) await process.collectGarbage();
    return process.evaluate('(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())');
  };
  try {
    await (await hold(held))();
    const before = await heldBytes();
    const end = await hold(held);
    const during = await heldBytes();
    await end();
    return (during - before) / WAITING;
  } finally {
    process.close();
  }
}

async function bytesOfChanges({ url }: Running, inspectorPort: number): Promise<number> {
  const bearers = Array.from({ length: WAITING / OF_WALLET }, (_none, index) =>
    bearerOf(`0x${index.toString(16).padStart(40, 'd')}`),
  );
  const cursors: string[] = [];
  for (const authorization of bearers) {
    const reply = await fetch(`${url}/v1/orders/changes`, { headers: { authorization } });
    cursors.push(((await reply.json()) as { cursor: string }).cursor);
  }
  const walletOf = (index: number): number => Math.floor(index / OF_WALLET);
  return bytesOf(inspectorPort, {
    url,
    pathOf: (index) => `/v1/orders/changes?after=${cursors[walletOf(index)]}&wait=25`,
    bearerOf: (index) => bearers[walletOf(index)]!,
    async waiting() {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      return Number(/^redbook_waiting_requests (\d+)/m.exec(metrics)?.[1]);
    },
  });
}

/** A request that Express holds, with headers and a path of the same length. */
async function bytesOfExpress(): Promise<number> {
  const port = await freePort();
  const { url, stop } = await startHello(inspectedOn(port));
  const bearer = bearerOf(`0x${'d'.repeat(40)}`);
  try {
    return await bytesOf(port, {
      url,
      pathOf: () => `/wait?after=${'0'.repeat(45)}&wait=25`,
      bearerOf: () => bearer,
      waiting: async () => Number(await (await fetch(`${url}/waiting`)).text()),
    });
  } finally {
    await stop();
  }
}

export async function measureWaiting(exchange: Exchange): Promise<Measured> {
  const port = await freePort();
  const api = await exchange.start('api', inspectedOn(port));
  const ours = await bytesOfChanges(api, port);
  await api.stop();
  const express = await bytesOfExpress();
  return {
    name: `memory of one of ${WAITING} waiting requests, above Express’ own`,
    unit: 'B',
    figure: ours - express,
    target: { relation: '<=', bound: MAX_BYTES },
    note: `${Math.round(ours)} B here, ${Math.round(express)} B in Express`,
  };
}
