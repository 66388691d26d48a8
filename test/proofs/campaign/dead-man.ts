/** A wallet with a dead-man switch: its orders end when the switch is due, and orders that it places later stay. */

import { setTimeout as sleep } from 'node:timers/promises';
import { KEYS } from '../../../src/engine/keys.ts';
import { eventually } from '../../support/eventually.ts';
import type { Cluster } from './cluster.ts';
import type { Driver } from './driver.ts';
import { MARKER } from './marker.ts';
import { isLive } from './model.ts';
import { ask, unlessBroken } from './wallet.ts';

const TIMEOUT_MS = 5_000;
const PATIENCE_MS = 60_000;

type State =
  | { readonly is: 'idle' }
  | { readonly is: 'armed'; readonly dueMs: number; readonly ids: readonly string[] }
  | { readonly is: 'fired'; readonly id: string };

export interface DeadMan {
  /** Places two orders and sets the switch, unless the last one was not looked at yet. */
  arm(): Promise<void>;
  /**
   * At rest: waits until the switch has fired, or finds that it did not fire again. Afterwards no switch is set, not even
   * one whose setting had an unknown outcome, so nothing is cancelled while the invariants are checked.
   */
  look(): Promise<void>;
  /** Switches are lost. */
  forget(): void;
}

export function openDeadMan(
  { sql, redis }: Pick<Cluster, 'sql' | 'redis'>,
  driver: Driver,
  onViolation: (invariant: string, detail: string) => void,
): DeadMan {
  const wallet = driver.deadMan;
  let state: State = { is: 'idle' };
  let turn = driver.model.lastIntent;

  const place = async (): Promise<string | undefined> => {
    turn += 1;
    const order = { market: MARKER, side: 'buy', type: 'limit', price: 0.5, size: 0.001 } as const;
    const outcome = await driver.place(wallet, { ...order, clientOrderId: `d${turn}` });
    return outcome.is === 'ok' ? outcome.shown[0]!.id : undefined;
  };
  const statuses = async (ids: readonly string[]): Promise<string[]> =>
    (await sql<{ status: string }>('select status from orders where id = any($1)', [ids])).map(
      ({ status }) => status,
    );

  const arm = async (): Promise<State> => {
    const ids = [await place(), await place()].filter((id) => id !== undefined);
    const reply = await unlessBroken(
      ask(driver.ports[0]!, wallet, 'POST', '/v1/orders/cancel-after', { timeoutMs: TIMEOUT_MS }),
    );
    const dueMs = Date.parse(String(reply?.body.cancelAt));
    return reply?.status === 200 && ids.length === 2 ? { is: 'armed', dueMs, ids } : { is: 'idle' };
  };
  const fired = async (ids: readonly string[]): Promise<State> => {
    const hasFired = async (): Promise<boolean> =>
      (await statuses(ids)).filter((status) => status === 'cancelled').length === ids.length;
    try {
      await eventually('the dead-man switch fires', hasFired, PATIENCE_MS);
    } catch {
      onViolation('dead-man switch', `a due switch left orders: ${await statuses(ids)}`);
      return { is: 'idle' };
    }
    const id = await place();
    return id === undefined ? { is: 'idle' } : { is: 'fired', id };
  };
  const again = async (id: string): Promise<State> => {
    const [status] = await statuses([id]);
    if (status === undefined || !isLive(status))
      onViolation('dead-man switch', `a switch fired twice: the later order is ${status}`);
    await driver.cancel(wallet, id);
    return { is: 'idle' };
  };
  const isUnset = async (): Promise<boolean> => {
    const { cancelAfter, cancelAfterLeases, cancelAfterCutOffs } = KEYS;
    const left = [
      await redis.zcard(cancelAfter),
      await redis.zcard(cancelAfterLeases),
      await redis.hlen(cancelAfterCutOffs),
    ];
    return left.every((count) => count === 0);
  };
  const untilUnset = async (): Promise<void> => {
    try {
      await eventually('no dead-man switch is set', isUnset, PATIENCE_MS);
    } catch {
      onViolation('dead-man switch', 'a due switch stays set');
    }
  };
  return {
    async arm() {
      if (state.is === 'idle') state = await arm();
    },
    async look() {
      await untilUnset();
      if (state.is === 'armed') {
        await sleep(Math.max(0, state.dueMs - Date.now()));
        state = await fired(state.ids);
      } else if (state.is === 'fired') state = await again(state.id);
    },
    forget() {
      state = { is: 'idle' };
    },
  };
}
