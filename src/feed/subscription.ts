/** Keeps subscriptions to channels across broken connections. */

import type { Redis } from 'ioredis';
import { TICKS } from './keys.ts';

/** Interval of probes: a silent connection looks like a dead one. */
const PROBE_MS = 5_000;

interface Listener {
  message(message: Buffer): void;
  /** From now on nothing is missed; again after each break. */
  begun?(): void;
}

export interface Subscription {
  hear(channel: string, listener: Listener): void;
  leave(channel: string): void;
  /** True while messages can come. */
  isOpen(): boolean;
  close(): void;
}

/**
 * @param redis a connection for this alone, with `autoResubscribe` off: which channels are heard is decided here.
 *   It stays the caller's to close.
 */
export function openSubscription(redis: Redis): Subscription {
  const listeners = new Map<string, Listener>();

  /** A subscription that fails leaves a connection whose state nobody knows: the next one begins anew. */
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
    // In a cluster any node takes subscriptions; a key is read at its own node alone, which is where publishers look.
    if (redis.status === 'ready') redis.exists(TICKS).catch(reconnect);
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
