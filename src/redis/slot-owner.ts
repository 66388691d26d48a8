/**
 * The way to Redbook's server in a Redis Cluster. All our keys carry one hash tag, so they lie in one slot, and one
 * primary has all of them: what a cluster adds is that this primary can be another one tomorrow. So a connection is one
 * to that primary, found anew whenever it breaks, and not a client of the whole cluster: such a client follows
 * redirections and sends again what broke off, and would go on, unasked, on a server that was promoted with less than
 * its clients were answered. Here each change of server is a break, and breaks end commands and close the engine.
 */

import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { AbstractConnector, Command, type RedisOptions } from 'ioredis';
import type { Endpoint } from './address.ts';
import { TAG } from './tag.ts';

/** Slot of every key of Redbook, because all of them carry this tag. */
const SLOT = new Command('get', [TAG]).getSlot();

/** A range of the reply to CLUSTER SLOTS: first and last slot, and its nodes, the primary first. */
export type SlotRange = readonly [
  number,
  number,
  ...(readonly [host: string | null, port: number, ...unknown[]])[],
];

/**
 * Finds the owner of our slot in CLUSTER SLOTS. A node that does not know its own name goes by the one that was asked.
 */
function ownerOf(ranges: readonly SlotRange[], asked: Endpoint): Endpoint {
  const range = ranges.find(([first, last]) => first <= SLOT && SLOT <= last);
  const primary = range?.[2];
  if (primary === undefined) throw new Error(`no node of the cluster serves slot ${SLOT}`);
  return { host: primary[0] || asked.host, port: primary[1] };
}

interface SlotOwnerOptions {
  readonly nodes: readonly Endpoint[];
  /** Runs CLUSTER SLOTS on a node. */
  readonly slotsOf: (node: Endpoint) => Promise<readonly SlotRange[]>;
  readonly pauseMs: (attempt: number) => number;
  readonly tls?: ConnectionOptions | undefined;
}

/** A `Connector` of ioredis. */
export function slotOwnerConnector(options: SlotOwnerOptions): NonNullable<RedisOptions['Connector']> {
  const { nodes, slotsOf, pauseMs, tls } = options;
  return class SlotOwnerConnector extends AbstractConnector {
    constructor(redisOptions: unknown) {
      super((redisOptions as { disconnectTimeout: number }).disconnectTimeout);
    }

    /** A stale node may send us to a replica. */
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

    /** Asks on and on: whoever gives up here is never asked to connect again. */
    async #find(tell: (event: string, error: Error) => void): Promise<Endpoint> {
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
