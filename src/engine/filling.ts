/** Writes many fields and members, some hundred by a command: each is answered before it would be given up. */

import type { EngineCore } from './core.ts';

type Argument = string | Buffer;

const ARGUMENTS_TOGETHER = 1_000;

export class Filling {
  readonly #core: EngineCore;
  /** By command and key: what was added and not sent yet. */
  readonly #waiting = new Map<string, { command: 'hset' | 'zadd'; key: string; args: Argument[] }>();

  constructor(core: EngineCore) {
    this.#core = core;
  }

  /** @param args field and value of a hash, or score and member of a sorted set */
  async add(command: 'hset' | 'zadd', key: string, ...args: readonly [Argument, Argument]): Promise<void> {
    const name = `${command} ${key}`;
    let waiting = this.#waiting.get(name);
    if (waiting === undefined) {
      waiting = { command, key, args: [] };
      this.#waiting.set(name, waiting);
    }
    waiting.args.push(...args);
    if (waiting.args.length >= ARGUMENTS_TOGETHER) await this.#send(name);
  }

  async flush(): Promise<void> {
    for (const name of [...this.#waiting.keys()]) await this.#send(name);
  }

  async #send(name: string): Promise<void> {
    const { command, key, args } = this.#waiting.get(name)!;
    this.#waiting.delete(name);
    await this.#core.call(() => this.#core.redis.call(command, key, ...args));
  }
}
