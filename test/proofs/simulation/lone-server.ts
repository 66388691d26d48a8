/** The one server of an engine without copies. Commands run on the real Redis; what a restart would change is told here. */

import type { Command, Redis } from 'ioredis';
import type { Outcome } from './link.ts';
import { labelOf, mayAppend, runReal, type SimulatedServer } from './simulated-redis.ts';

/** The world as its one server has it. */
interface Host {
  readonly redis: Redis;
  /** Identity of the server in the reply to INFO. */
  readonly runId: string;
  /** Unix milliseconds of the server's clock. */
  readonly nowMs: number;
  /** Called before a command runs, in the same packet. */
  beforeCommand(): void;
  /**
   * Called right after a command was sent to the real server, in the same packet.
   * @param mayAppend false for a command that appends no event
   */
  afterCommand(label: string, mayAppend: boolean): Promise<unknown>;
}

export class LoneServer implements SimulatedServer {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  mayRun = (): boolean => true;

  async run(command: Command): Promise<Outcome> {
    const { runId, nowMs, redis } = this.#host;
    // A simulated restart leaves the file of the real server as it is.
    if (command.name === 'bgrewriteaof') return { value: 'Background append only file rewriting started' };
    if (command.name === 'time') return { value: timeReply(nowMs) };
    redis.stream.cork();
    this.#host.beforeCommand();
    const ran = runReal(redis, command, () => this.#host.afterCommand(labelOf(command), mayAppend(command)));
    redis.stream.uncork();
    const outcome = await ran;
    if (command.name !== 'info' || 'error' in outcome) return outcome;
    return { value: String(outcome.value).replace(/^run_id:\w+/m, `run_id:${runId}`) };
  }
}

/** The reply to TIME. */
export const timeReply = (nowMs: number): number[] => [Math.floor(nowMs / 1_000), (nowMs % 1_000) * 1_000];
