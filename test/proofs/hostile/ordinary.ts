/** Ordinary clients beside the hostile ones: a trader and two screens. They must be answered all the while. */

import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { checkFrame } from '../../support/contract.ts';
import { ask, bodyOf, type Plain } from './client.ts';
import type { Findings } from './report.ts';
import { Line } from './wire.ts';
import type { SignedIn } from './world.ts';

const EVERY_MS = 50;
/** Below the limit of market data for a session. */
const READ_EVERY = 20;

export interface Ordinary {
  readonly requests: number;
  readonly frames: number;
  /** Codes with which placing may be refused now. */
  mayRefuse: readonly string[];
  stop(): Promise<void>;
}

export function openOrdinary(
  { api, streams }: { readonly api: readonly number[]; readonly streams: readonly number[] },
  trader: SignedIn,
  findings: Findings,
): Ordinary {
  const lines = api.map((port) => new Line(port));
  let isStopped = false;
  const state = { requests: 0, frames: 0, mayRefuse: [] as readonly string[] };
  const screens = streams.flatMap((port) =>
    ['/ws', '/ws/market?symbol=ETH%2FUSDC&tf=1m'].map((path) => watch(`ws://127.0.0.1:${port}${path}`)),
  );

  function watch(url: string): WebSocket {
    const screen = new WebSocket(url);
    screen.on('message', (data) => {
      state.frames += 1;
      checkFrame(String(data));
    });
    screen.on('error', () => undefined);
    screen.on('close', (code) => {
      if (!isStopped) findings.add('ordinary screens stay', `closed with ${code}`, url);
    });
    return screen;
  }

  const call = async (number: number, plain: Plain): Promise<Record<string, unknown>> => {
    const line = lines[number % lines.length]!;
    const asked = { ...plain, token: trader.token };
    try {
      const reply = await ask(line, asked);
      state.requests += 1;
      const body = bodyOf(reply);
      if (reply.status !== 200 && !state.mayRefuse.includes(String(body.code)))
        findings.add('ordinary requests are answered', `${plain.method} ${plain.path}`, reply.text);
      return body;
    } catch (error) {
      findings.add('ordinary requests are answered', 'no reply', String(error));
      return {};
    }
  };

  const trade = async (): Promise<void> => {
    for (let number = 0; !isStopped; number += 1) {
      const order = { market: 'BTC/USDC', side: 'buy', type: 'limit', price: 10 + (number % 5), size: 1 };
      const { id } = await call(number, { method: 'POST', path: '/v1/orders', body: order });
      if (id !== undefined) await call(number + 1, { method: 'DELETE', path: `/v1/orders/${id}` });
      await call(number, { method: 'GET', path: `/v1/portfolio/${trader.address}` });
      if (number % READ_EVERY === 0) {
        await call(number, { method: 'GET', path: '/v1/orders?limit=5' });
        await call(number, { method: 'GET', path: '/v1/market-data/orderbook/BTC_USDC' });
      }
      await sleep(EVERY_MS);
    }
  };
  const trading = trade();
  return Object.assign(state, {
    async stop() {
      isStopped = true;
      await trading;
      if (state.requests === 0) findings.add('ordinary requests are answered', 'none was sent', '');
      if (state.frames === 0) findings.add('ordinary screens stay', 'no frame came', '');
      for (const screen of screens) screen.terminate();
      for (const line of lines) line.close();
    },
  });
}
