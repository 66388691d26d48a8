/**
 * Connects to Redbook's server in a Redis Cluster. All our keys have one hash tag and so are in one slot, on one
 * primary. In a cluster this primary can change. So each connection goes to the current primary, which is looked up
 * again after each break.
 *
 * A client of the whole cluster would not be safe: it follows redirections and resends interrupted commands. It would
 * silently continue on a promoted server that lacks acknowledged writes. Here each change of server breaks the
 * connection, which fails the commands in flight and closes the engine.
 */

import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { AbstractConnector, Command, type RedisOptions } from 'ioredis';
import type { HostPort } from './address.ts';
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
  readonly pauseMs: (attempt: number) => number;
  readonly tls?: ConnectionOptions | undefined;
}

/** Makes a `Connector` for ioredis. */
export function slotOwnerConnector(options: SlotOwnerOptions): NonNullable<RedisOptions['Connector']> {
  const { nodes, slotsOf, pauseMs, tls } = options;
  return class SlotOwnerConnector extends AbstractConnector {
    constructor(redisOptions: unknown) {
      super((redisOptions as { disconnectTimeout: number }).disconnectTimeout);
    }

    /** Rejects replicas. A node with outdated information may name one. */
    override check(info: { role?: string }): boolean {
      return info.role === undefined || info.role === 'master';
    }

    override async connect(tell: (event: string, error: Error) => void) {
      this.connecting = true;
      const { host, port } = await this.#find(tell);
      this.stream = tls ? connectTls({ host, port, ...tls }) : createConnection({ host, port });
      this.stream.once('error', (error) => {
        this.firstError = error;
      });
      return this.stream;
    }

    /** Retries without a limit, because ioredis does not reconnect after a connector has failed. */
    async #find(tell: (event: string, error: Error) => void): Promise<HostPort> {
      for (let attempt = 1; ; attempt += 1) {
        for (const node of nodes) {
          if (!this.connecting) throw new Error('Connection is closed.');
          try {
            return ownerOf(await slotsOf(node), node);
          } catch (error) {
            tell('error', error as Error);
          }
        }
        await sleep(pauseMs(attempt));
      }
    }
  };
}
