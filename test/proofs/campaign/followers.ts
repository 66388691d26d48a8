/**
 * Clients that follow the changes of the traders' orders, each with one request that waits. At a rest, each change of
 * the ledger was told to its wallet once.
 */

import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../support/eventually.ts';
import type { Reply } from '../../support/http-exchange.ts';
import type { Driver } from './driver.ts';
import { type Repeated, repeated } from './repeated.ts';
import type { ShownIds } from './shown.ts';
import { addressOf, ask, unlessBroken, type Wallet } from './wallet.ts';

const ROUTE = '/v1/orders/changes';
/** Longer than most faults, and shorter than the patience of a request. */
const WAIT_SECONDS = 10;
const PAGES = [1, 3, 100];
const PAUSE_MS = 10;
const SHY_MS = 100;
const PATIENCE_MS = 60_000;

export interface ToldChange {
  /** ISO 8601. */
  readonly at: string;
  readonly order: { readonly id: string };
  readonly fills: readonly { readonly id: number | string }[];
}

interface Follower {
  readonly wallet: Wallet;
  /** Empty: the present one is wanted. */
  cursor: string;
  /** Since the last rest. */
  told: ToldChange[];
}

export interface Followers extends Repeated {
  readonly all: readonly Follower[];
  /** The last event of the last rest. */
  readonly since: number;
  /** Gets the present cursors, while nobody trades. */
  open(sequence: number): Promise<void>;
  /** The service has honestly lost changes that it told: the present rest proves nothing. */
  forget(): void;
  /** Reads whatever is left to tell. @returns false if nothing is known of the time since the last rest */
  drain(): Promise<boolean>;
  /** Begins anew after an event, because all was checked. */
  clear(sequence: number): void;
}

export function openFollowers(
  driver: Driver,
  traders: number,
  shownIds: ShownIds,
  onViolation: (invariant: string, detail: string) => void,
): Followers {
  const all = driver.wallets.slice(0, traders).map((wallet): Follower => ({ wallet, cursor: '', told: [] }));
  let isLossy = false;
  let isStopping = false;
  let agents: Agent[] = [];
  let refusals: string[] = [];
  let since = 0;

  /** @returns true if there is nothing more to tell */
  const take = (follower: Follower, { status, body }: Reply): boolean => {
    if (status === 503) return false;
    const { changes, cursor, more } = body as { changes?: ToldChange[]; cursor: string; more: boolean };
    if (status !== 200 || changes === undefined) {
      refusals.push(`${ROUTE} answered ${status} ${body.code}: ${body.error}`);
      follower.cursor = '';
      return false;
    }
    shownIds.look({
      orders: changes.map(({ order }) => order),
      trades: changes.flatMap(({ fills }) => fills),
    });
    follower.told.push(...changes);
    follower.cursor = cursor;
    return changes.length === 0 && !more;
  };
  const pathOf = ({ cursor, wallet: { dice } }: Follower, wait: number): string =>
    cursor === '' ? ROUTE : `${ROUTE}?after=${cursor}&wait=${wait}&limit=${dice.pick(PAGES)}`;
  const follow = async (follower: Follower, agent: Agent): Promise<void> => {
    const { wallet } = follower;
    const port = wallet.dice.pick(driver.ports);
    // The driver signs in again where a fault ends sessions; sign-in has a limit.
    const caller = { agent, token: wallet.token };
    const reply = await unlessBroken(ask(port, caller, 'GET', pathOf(follower, WAIT_SECONDS)));
    if (reply !== undefined && !(reply.status === 401 && driver.signsInAgain)) take(follower, reply);
    if (reply?.status !== 200 && !isStopping) await sleep(SHY_MS);
  };
  const turns = all.map((follower, index) => repeated(PAUSE_MS, () => follow(follower, agents[index]!)));
  const drainOne = (follower: Follower): Promise<void> =>
    eventually(
      `the changes of wallet ${follower.wallet.index} are told`,
      async () => {
        const port = driver.ports[follower.wallet.index % driver.ports.length]!;
        const reply = await driver.read(follower.wallet, pathOf(follower, 0), port);
        return reply !== undefined && take(follower, reply) && follower.cursor !== '';
      },
      PATIENCE_MS,
    );
  const drain = async (): Promise<boolean> => {
    // An answer that came after the loss may have brought a cursor from before it, which the service refuses.
    if (isLossy) for (const follower of all) follower.cursor = '';
    await Promise.all(all.map(drainOne));
    // Only a loss may leave a cursor of events that are gone.
    if (!isLossy) for (const refusal of new Set(refusals)) onViolation('changes', refusal);
    return !isLossy;
  };
  const clear = (sequence: number): void => {
    [since, isLossy, refusals] = [sequence, false, []];
    for (const follower of all) follower.told = [];
  };
  return {
    all,
    get since() {
      return since;
    },
    async open(sequence) {
      await drain();
      clear(sequence);
    },
    drain,
    clear,
    begin() {
      isStopping = false;
      agents = all.map(
        ({ wallet }) => new Agent({ keepAlive: true, localAddress: addressOf(1, wallet.index) }),
      );
      for (const turn of turns) turn.begin();
    },
    async stop() {
      isStopping = true;
      for (const agent of agents.splice(0)) agent.destroy();
      await Promise.all(turns.map((turn) => turn.stop()));
    },
    forget() {
      isLossy = true;
      for (const follower of all) [follower.cursor, follower.told] = ['', []];
    },
  };
}
