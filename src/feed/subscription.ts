/** Restores channel subscriptions after broken connections. */

import type { Redis } from 'ioredis';
import { BEATS } from './keys.ts';

/** Interval of probes, which detect a dead connection: without them it looks like a silent one. */
const PROBE_MS = 5_000;

interface ChannelListener {
  message(message: Buffer): void;
  /** Called when the subscription is active, so that no later message is missed. Called again after each reconnect. */
  begun?(): void;
}

export interface Subscription {
  hear(channel: string, listener: ChannelListener): void;
  leave(channel: string): void;
  /** True while messages can arrive. */
  isOpen(): boolean;
  close(): void;
}

/**
 * @param redis a connection used for nothing else, with `autoResubscribe` off because this file resubscribes; the
 *   caller must close it
 */
export function openSubscription(redis: Redis): Subscription {
  const listeners = new Map<string, ChannelListener>();

  /** After a failed subscription the state of the connection is unknown, so it reconnects. */
  const reconnect = (): void => {
    if (redis.status === 'ready') redis.disconnect(true);
  };
  const subscribe = async (channels: readonly string[]): Promise<void> => {
    if (channels.length === 0 || redis.status !== 'ready') return;
    try {
      await redis.subscribe(...channels);
    } catch {
      reconnect();
      return;
    }
    for (const channel of channels) listeners.get(channel)?.begun?.();
  };
  const subscribeAll = (): Promise<void> => subscribe([...listeners.keys()]);
  const receive = (channel: Buffer, message: Buffer): void => {
    listeners.get(channel.toString())?.message(message);
  };

  redis.on('ready', subscribeAll);
  redis.on('messageBuffer', receive);
  const probing = setInterval(() => {
    // In a cluster any node accepts subscriptions, but only the owner of a key reads it. Publishers use that node.
    if (redis.status === 'ready') redis.exists(BEATS).catch(reconnect);
  }, PROBE_MS);

  return {
    hear(channel, listener) {
      listeners.set(channel, listener);
      void subscribe([channel]);
    },
    leave(channel) {
      listeners.delete(channel);
      if (redis.status === 'ready') redis.unsubscribe(channel).catch(reconnect);
    },
    isOpen: () => redis.status === 'ready',
    close() {
      clearInterval(probing);
      redis.off('ready', subscribeAll);
      redis.off('messageBuffer', receive);
    },
  };
}
