/** The clients of a campaign, who reach the processes by their balancer. Every request that fails is recorded. */

import { join } from 'node:path';
import { Broken } from '../../support/http-exchange.ts';
import { Driver, EARNED } from '../campaign/driver.ts';
import { JOURNAL, openJournal } from '../campaign/journal.ts';
import { Model } from '../campaign/model.ts';
import type { Violation } from '../campaign/stage.ts';

export interface Failure {
  /** Method and path of the request. */
  readonly kind: string;
  /** Unix milliseconds. */
  readonly sentAtMs: number;
  readonly failedAtMs: number;
  /** `address:port` of the connection. */
  readonly connection: string;
  readonly what: string;
}

export interface Load {
  readonly driver: Driver;
  /** Duration in milliseconds of each request that was answered, by kind. */
  readonly tookMs: ReadonlyMap<string, readonly number[]>;
  readonly failures: readonly Failure[];
  readonly violations: readonly Violation[];
  found(invariant: string, detail: string): void;
  close(): void;
}

interface LoadOptions {
  readonly seed: number;
  readonly wallets: number;
}

const kindOf = (method: string, path: string): string =>
  `${method} ${path.split('?')[0]!.replace(/\/(?:c\d+|(?:0x)?[0-9a-f]{20,}|[A-Z]+_USDC)$/, '/…')}`;

export function openLoad(folder: string, port: number, { seed, wallets }: LoadOptions): Load {
  const tookMs = new Map<string, number[]>();
  const failures: Failure[] = [];
  const violations: Violation[] = [];
  const found = (invariant: string, detail: string): void => void violations.push({ invariant, detail });
  const journal = openJournal(join(folder, JOURNAL));
  const model = new Model();
  const driver = new Driver({
    ...{ seed, traders: wallets, ports: [port], journal, model, onViolation: found },
    onAsked({ method, path, tookMs: took, connection, reply }) {
      const kind = kindOf(method, path);
      const fail = (what: string): void => {
        const failedAtMs = Date.now();
        failures.push({ kind, sentAtMs: failedAtMs - took, failedAtMs, connection, what });
      };
      if (reply instanceof Broken) return fail(reply.message);
      if (!tookMs.has(kind)) tookMs.set(kind, []);
      tookMs.get(kind)!.push(took);
      const code = String(reply.body.code);
      if (reply.status !== 200 && !EARNED.has(code)) fail(`${reply.status} ${code}`);
    },
  });
  return {
    ...{ driver, tookMs, failures, violations, found },
    close() {
      driver.close();
      journal.close();
    },
  };
}
