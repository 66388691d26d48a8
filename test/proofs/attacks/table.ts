/** All attacks of one or few callers on what others need: `npm run hostile` plays each small, `bench -- fairness` in full. */

import {
  leavingConnections,
  madeUpPlaces,
  streamHandshakes,
  unansweredChallenges,
  unreadCancels,
  unreadLists,
  unreadRefusals,
  unreadReports,
} from './connections.ts';
import type { Ground } from './ground.ts';
import { busyStatement, fullEngine, fullQueue, idleSwitches, vainWalks, wokenWaits } from './orders.ts';

export interface Attack {
  readonly name: string;
  /** True if the attack is an outage of a server, of which processes tell in their logs and which stops frames. */
  readonly isOutage?: true;
  /** Prepares the attack, and begins it. */
  begin(ground: Ground): Promise<void>;
  /** Gives servers their settings back, and judges what must have come back. */
  end?(ground: Ground): Promise<void>;
}

export const ATTACKS: readonly Attack[] = [
  vainWalks('market orders without funds, 128 connections', {
    kind: 'market',
    connections: 128,
    pipelined: 1,
  }),
  vainWalks('market orders without funds, pipelined', { kind: 'market', connections: 1, pipelined: 600 }),
  vainWalks('FOK orders in vain', { kind: 'FOK', connections: 128, pipelined: 1 }),
  vainWalks('a mix of orders in vain', { kind: 'mix', connections: 250, pipelined: 1 }),
  unreadLists,
  unreadCancels,
  unreadRefusals,
  unreadReports,
  wokenWaits,
  madeUpPlaces,
  busyStatement,
  idleSwitches,
  unansweredChallenges,
  leavingConnections,
  streamHandshakes,
  fullEngine,
  fullQueue,
];

export const attackOf = (name: string): Attack => ATTACKS.find((attack) => attack.name === name)!;
