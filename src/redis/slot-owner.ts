/**
 * Connects to Redbook's server in a Redis Cluster. All our keys have one hash tag and so are in one slot, on one
 * primary. In a cluster this primary can change. So each connection goes to the current primary, which is looked up
 * again after each break.
 *
 * A client of the whole cluster would not be safe: it follows redirections and resends interrupted commands. It would
 * silently continue on a promoted server that lacks acknowledged writes. Here each change of server breaks the
 * connection, which fails the commands in flight and closes the engine.
 */

import { Command } from 'ioredis';
import type { HostPort } from './address.ts';
import type { Find } from './found-server.ts';
import { TAG } from './tag.ts';

/** Slot of every Redbook key, because all keys have this tag. */
const SLOT = new Command('get', [TAG]).getSlot();

/** A range in the reply to CLUSTER SLOTS: first slot, last slot and the nodes, primary first. */
export type SlotRange = readonly [
  number,
  number,
  ...(readonly [host: string | null, port: number, ...unknown[]])[],
];

/**
 * Finds the owner of our slot in a CLUSTER SLOTS reply. If a node does not know its own name, uses the name by which it
 * was asked.
 */
function ownerOf(ranges: readonly SlotRange[], asked: HostPort): HostPort {
  const range = ranges.find(([first, last]) => first <= SLOT && SLOT <= last);
  const primary = range?.[2];
  if (primary === undefined) throw new Error(`no node of the cluster serves slot ${SLOT}`);
  return { host: primary[0] || asked.host, port: primary[1] };
}

interface SlotOwnerOptions {
  readonly nodes: readonly HostPort[];
  /** Runs CLUSTER SLOTS on a node. */
  readonly slotsOf: (node: HostPort) => Promise<readonly SlotRange[]>;
}

/** Errors of CLUSTER SLOTS at a server that is no node of a cluster, or that shows none. */
const HAS_NO_SLOTS = /cluster support disabled|unknown command|unknown subcommand/i;

/** Returns a search for the owner of our slot. A server without slots owns every key. */
export const findSlotOwner =
  ({ nodes, slotsOf }: SlotOwnerOptions): Find =>
  async (isWanted, tell) => {
    for (const node of nodes) {
      if (!isWanted()) return undefined;
      try {
        return ownerOf(await slotsOf(node), node);
      } catch (error) {
        if (HAS_NO_SLOTS.test((error as Error).message)) return node;
        tell(error as Error);
      }
    }
    return undefined;
  };
