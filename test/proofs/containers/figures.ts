/** The form of a check, and the words in which it reports. */

import { setTimeout as sleep } from 'node:timers/promises';
import { ERRORS } from '../../../src/domain/errors.ts';
import type { LoadResult, Seen } from './client.ts';
import type { Cluster } from './cluster.ts';
import type { Ended } from './engine.ts';

export interface Figure {
  readonly seen: string;
  readonly holds: boolean;
}

export interface Check {
  readonly what: string;
  /** True if other checks need the state that this check creates. */
  readonly isBasic?: boolean;
  readonly done: string;
  run(cluster: Cluster): Promise<Figure>;
}

export const check = (what: string, done: string, run: Check['run']): Check => ({ what, done, run });
export const basic = (...args: Parameters<typeof check>): Check => ({ ...check(...args), isBasic: true });

const lastLines = ({ stderr, stdout }: Ended): string =>
  (stderr.trim() || stdout.trim()).split('\n').slice(-3).join(' / ').slice(-300);

export const byStatus = (result: Ended, seen: string): Figure =>
  result.status === 0
    ? { seen, holds: true }
    : { seen: `exit ${result.status}: ${lastLines(result)}`, holds: false };

/**
 * Returns a figure that holds if every condition does. It names those that failed, and shows the end of the output of
 * each command that failed.
 */
export function judged(
  seen: string,
  conditions: Readonly<Record<string, boolean>>,
  ...commands: readonly (Ended | undefined)[]
): Figure {
  const failed = Object.keys(conditions).filter((condition) => !conditions[condition]);
  const ended = commands.filter((command) => command?.status !== 0);
  const said = [
    ...failed.map((condition) => `NOT: ${condition}`),
    ...ended.map((command) => (command ? `exit ${command.status}: ${lastLines(command)}` : 'not run')),
  ];
  return { seen: [seen, ...said].join('; '), holds: said.length === 0 };
}

export const loaded = ({ sent, failed, failures, longestGapMs }: LoadResult): string =>
  [
    `${failed} of ${sent} requests failed, longest gap ${(longestGapMs / 1_000).toFixed(1)} s`,
    ...Object.entries(failures)
      .slice(0, 1)
      .map(([what, count]) => `${count} × ${what.slice(0, 60)}`),
  ].join('; ');

export const orderGap = ({ longestOrderGapMs }: LoadResult): string =>
  `${(longestOrderGapMs / 1_000).toFixed(1)} s without an answered order`;

export const isRefusal = ({ status, contentType, body }: Seen, code?: string): boolean => {
  if (status < 400 || !contentType.startsWith('application/json')) return false;
  const refusal = JSON.parse(body) as { error?: string; code?: string };
  return (
    typeof refusal.error === 'string' && refusal.code! in ERRORS && (code ?? refusal.code) === refusal.code
  );
};

export const seconds = (sinceMs: number): string => `${Math.round((performance.now() - sinceMs) / 1_000)} s`;

/** Returns the names in `before` whose containers were replaced or restarted. */
export function replaced(before: Map<string, string>, after: Map<string, string>): string[] {
  return [...before].filter(([name, id]) => after.get(name) !== id).map(([name]) => name);
}

/** Sequence of the engine's last event. */
export const eventOf = (status: Record<string, unknown>): number =>
  (status as { engine: { sequence: number } }).engine.sequence;

const TOLD_CHARACTERS = 600;

/** @throws Error with the checks that do not hold, if the reconcile ran */
export async function reconciles({ engine }: Cluster): Promise<true> {
  const command = ['operator', 'ledger', 'reconcile', '--json'];
  const { status, stdout, stderr } = await engine.compose('run', '--rm', '-T', ...command);
  if (status === 0) return true;
  const { checks = [] } = (stdout === '' ? {} : JSON.parse(stdout)) as {
    checks?: { name: string; count: number; differences: unknown[] }[];
  };
  const failed = checks.filter(({ count }) => count > 0);
  const told = failed.map(({ name, differences }) => `${name}: ${JSON.stringify(differences.slice(0, 2))}`);
  throw new Error(
    `ledger reconcile ended with ${status}: ${[...told, stderr].join('; ').slice(0, TOLD_CHARACTERS)}`,
  );
}

const UP_ATTEMPTS = 12;
const UP_PAUSE_MS = 5_000;

/** Runs `up` until it succeeds. It ends with 1 while a container that was unhealthy has not been asked again. */
export async function untilUp(cluster: Cluster, ...options: string[]): Promise<Ended[]> {
  const ups: Ended[] = [];
  while (ups.length < UP_ATTEMPTS && ups.at(-1)?.status !== 0) {
    if (ups.length > 0) await sleep(UP_PAUSE_MS);
    ups.push(await cluster.up(...options));
  }
  return ups;
}
