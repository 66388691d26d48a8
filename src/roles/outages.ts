/** Reports unavailable servers: at once, with the setting that names the server, and then every ten seconds. */

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { ConnectionListener } from '../redis/connections.ts';
import type { ServerNames } from './server-names.ts';
import { reasonOf } from './server-trouble.ts';

const TOLD_EVERY_MS = 10_000;
const LOOK_EVERY_MS = 500;
/**
 * A server that accepts connections but never answers causes no error for seconds, so its silence is timed. The time is
 * counted in steps: a process that is busy loading its code must not blame a server whose answer it has not read yet.
 */
const SILENT_STEP_MS = 100;
const SILENT_STEPS = 10;

export interface Outages {
  /**
   * Reports that a server cannot be used. Logs a sentence at the start of an outage and then at most every ten seconds.
   * @param server name of the server, with the setting that names it
   * @param user of the server: the outage ends when all its users have cleared it
   */
  report(server: string, user: string, error: unknown): void;
  clear(server: string, user: string): void;
  /**
   * Reports the server as silent, unless it is reported or cleared within a second.
   * @returns a function to call once the server has answered
   */
  expect(server: string, user: string): () => void;
  /** Returns the listener for one connection to a server that should be available. */
  listener(server: string, user: string): ConnectionListener;
  /** Returns one sentence for each unavailable server. */
  sentences(): string[];
  close(): void;
}

/** User names that the scout shares with the roles, which take over from it. */
export const OF_ENGINE = 'engine';
export const OF_MIGRATIONS = 'migrations';

interface Outage {
  readonly reasons: Map<string, string>;
  toldMs: number;
}

/** @param secrets texts that no sentence may contain */
export function openOutages(
  log: Pick<Logger, 'error' | 'warn' | 'debug'>,
  secrets: readonly string[],
  now: () => number = Date.now,
): Outages {
  const outages = new Map<string, Outage>();
  const expected = new Map<string, NodeJS.Timeout>();

  const sentenceOf = (server: string, { reasons }: Outage): string =>
    `waiting for ${server}: ${[...reasons.values()].at(-1)}`;
  const tell = (server: string, outage: Outage): void => {
    if (now() - outage.toldMs < TOLD_EVERY_MS) return;
    outage.toldMs = now();
    log.error(sentenceOf(server, outage));
  };
  const looking = setInterval(() => {
    for (const [server, outage] of outages) tell(server, outage);
  }, LOOK_EVERY_MS).unref();
  const forget = (key: string): void => {
    clearTimeout(expected.get(key));
    expected.delete(key);
  };

  const self: Outages = {
    report(server, user, error) {
      forget(`${server} ${user}`);
      log.debug({ err: error }, `waiting for ${server}`);
      const outage = outages.get(server) ?? { reasons: new Map(), toldMs: Number.NEGATIVE_INFINITY };
      outages.set(server, outage);
      outage.reasons.delete(user); // the latest reason is last
      outage.reasons.set(user, reasonOf(error, secrets));
      tell(server, outage);
    },
    clear(server, user) {
      forget(`${server} ${user}`);
      const outage = outages.get(server);
      if (outage === undefined || !outage.reasons.delete(user) || outage.reasons.size > 0) return;
      outages.delete(server);
      log.warn(`${server} is back`);
    },
    expect(server, user) {
      const key = `${server} ${user}`;
      const step = (left: number): void => {
        const next = (): void =>
          left > 1 ? step(left - 1) : self.report(server, user, new Error('it does not answer'));
        expected.set(key, setTimeout(next, SILENT_STEP_MS).unref());
      };
      forget(key);
      step(SILENT_STEPS);
      return () => forget(key);
    },
    listener(server, user) {
      self.expect(server, user);
      return (trouble) => {
        if (trouble === null) self.clear(server, user);
        else self.report(server, user, trouble);
      };
    },
    sentences: () => [...outages].map(([server, outage]) => sentenceOf(server, outage)),
    close() {
      clearInterval(looking);
      for (const timer of expected.values()) clearTimeout(timer);
    },
  };
  return self;
}

/**
 * Returns the listener for calls of a user of the queue's server. Errors are reported only while our own connection to
 * the server works: otherwise that one has reported them already.
 */
export function queueTrouble(
  {
    outages,
    names,
    queueRedis,
  }: { readonly outages: Outages; readonly names: ServerNames; readonly queueRedis: Redis },
  user: string,
): ConnectionListener {
  return (trouble) => {
    if (trouble === null) outages.clear(names.queue, user);
    else if (queueRedis.status === 'ready') outages.report(names.queue, user, trouble);
  };
}
