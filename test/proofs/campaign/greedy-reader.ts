/** A client that asks for market data faster than it may, at all replicas: no minute serves it more than the limit. */

import { Agent } from 'node:http';
import { type Repeated, repeated } from './repeated.ts';
import { addressOf, ask, unlessBroken } from './wallet.ts';

/** Fast enough to pass its limit although it stands still at each rest. */
const EVERY_MS = 60;
const LIMIT = 300;
const WINDOW_MS = 60_000;

export interface GreedyReader extends Repeated {
  /** The counts are lost or were not kept: the window begins anew. */
  forget(): void;
}

/** A request that was served. It was counted at some moment between the two. */
interface Served {
  readonly sentMs: number;
  readonly answeredMs: number;
}

export function openGreedyReader(
  ports: readonly number[],
  onViolation: (invariant: string, detail: string) => void,
): GreedyReader {
  const agent = new Agent({ keepAlive: true, localAddress: addressOf(4, process.pid % 200) });
  let served: Served[] = [];
  let turn = 0;
  const readOnce = async (): Promise<void> => {
    const sentMs = Date.now();
    const port = ports[turn % ports.length]!;
    turn += 1;
    const reply = await unlessBroken(ask(port, { agent, token: '' }, 'GET', '/v1/market-data/pairs'));
    if (reply?.status !== 200) return;
    served.push({ sentMs, answeredMs: Date.now() });
    served = served.filter((one) => one.sentMs > Date.now() - 2 * WINDOW_MS);
    const within = served.filter((one) => one.sentMs > Date.now() - WINDOW_MS).length;
    if (within > LIMIT) {
      onViolation('limits', `${within} requests of one address were served within a minute`);
      served = [];
    }
  };
  return {
    ...repeated(EVERY_MS, readOnce),
    forget() {
      served = [];
    },
  };
}
