/** Starts, rolls, adds, removes and kills the processes of the cluster, as an orchestrator would. */

import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../support/ports.ts';
import { isReady, type Service, startService } from '../../support/service.ts';

export const ROLES = ['api', 'stream', 'settlement', 'snapshot', 'operator-api'] as const;
export type Role = (typeof ROLES)[number];
/** Number of replicas by role; a role without one has none. */
export type Replicas = Readonly<Partial<Record<Role, number>>>;

/** A place for one replica. Its successors keep the port, because the balancer knows it. */
export interface Slot {
  readonly role: Role;
  readonly name: string;
  readonly port: number;
}

/** Exit of a process. */
export interface Exit {
  readonly name: string;
  readonly signal: NodeJS.Signals;
  /** Time of the signal in Unix milliseconds. */
  readonly atMs: number;
  /** Null after SIGKILL. */
  readonly code: number | null;
  /** Milliseconds from the signal until it reported that it is not ready, or no longer answered. */
  readonly unreadyMs: number;
  /** Milliseconds from the signal to the exit. */
  readonly graceMs: number;
}

export interface Processes {
  start(slot: Slot): Promise<void>;
  end(slot: Slot, signal: NodeJS.Signals): Promise<Exit>;
  /** Stops the process gracefully, starts its successor and waits for it. */
  roll(slot: Slot): Promise<void>;
  /** Process number of the process in a slot. */
  pidOf(slot: Slot): number;
  readonly exits: readonly Exit[];
  /** The processes' log lines, for debugging. */
  output(): string;
  /** Everything that the processes of a slot have written. */
  log(slot: Slot): string;
  stop(): Promise<void>;
}

/** @param counts number of replicas by role, including those added later */
export async function slotsFor(counts: Replicas): Promise<Slot[]> {
  const slots: Slot[] = [];
  for (const role of ROLES) {
    while (slots.filter((slot) => slot.role === role).length < (counts[role] ?? 0)) {
      const port = await freePort();
      const number = slots.filter((slot) => slot.role === role).length + 1;
      if (!slots.some((slot) => slot.port === port)) slots.push({ role, name: `${role}${number}`, port });
    }
  }
  return slots;
}

const LAST_LINES = 10;

/** Excludes the access log: a refused request has another line with the reason. */
const isTrouble = (line: string): boolean => line !== '' && !line.includes('"msg":"request"');

/**
 * @param settingsOf environment of the process in a slot; the port is that of the slot
 * @param folderOf folder of the release that the next process in a slot is of, this one unless given
 */
export function openProcesses(
  settingsOf: (slot: Slot) => Readonly<Record<string, string>>,
  folderOf: (slot: Slot) => string | undefined = () => undefined,
): Processes {
  const running = new Map<Slot, Service>();
  const everyone: [Slot, Service][] = [];
  const exits: Exit[] = [];

  const processes: Processes = {
    exits,
    async start(slot) {
      const service = await startService(
        slot.role,
        { ...settingsOf(slot), PORT: String(slot.port), OPERATOR_PORT: String(slot.port) },
        folderOf(slot),
      );
      running.set(slot, service);
      everyone.push([slot, service]);
    },
    async end(slot, signal) {
      const service = running.get(slot)!;
      running.delete(slot);
      const atMs = Date.now();
      const begunMs = performance.now();
      const ended = service.end(signal);
      let unreadyMs = 0;
      let over = false;
      const watching = (async () => {
        while (!over && (await isReady(service.url))) await sleep(10);
        unreadyMs = performance.now() - begunMs;
      })();
      const code = await ended;
      const graceMs = performance.now() - begunMs;
      over = true;
      await watching;
      const exit = { name: slot.name, signal, atMs, code, unreadyMs: Math.min(unreadyMs, graceMs), graceMs };
      exits.push(exit);
      return exit;
    },
    async roll(slot) {
      await processes.end(slot, 'SIGTERM');
      await processes.start(slot);
    },
    pidOf: (slot) => running.get(slot)!.child.pid!,
    output: () =>
      everyone
        .map(([{ name }, service]) => ({ name, lines: service.output().split('\n').filter(isTrouble) }))
        .flatMap(({ name, lines }) => lines.slice(-LAST_LINES).map((line) => `${name}: ${line}`))
        .join('\n'),
    log: (slot) =>
      everyone
        .filter(([one]) => one === slot)
        .map(([, service]) => service.output())
        .join(''),
    stop: async () => {
      await Promise.all([...running.values()].map((service) => service.end('SIGKILL')));
    },
  };
  return processes;
}
