/** Writes the parts of a rebuilt engine. Each script writes some hundred fields or members, so that none runs long. */

import { OperatorRefusal } from '../domain/errors.ts';
import type { EngineCore } from './core.ts';
import { FILL_REBUILD } from './scripts.ts';

type Argument = string | Buffer;
type Command = 'hset' | 'zadd' | 'setrange';

const ARGUMENTS_TOGETHER = 1_000;

export const replaced = (): OperatorRefusal =>
  new OperatorRefusal(
    'REBUILD_REPLACED',
    'another rebuild of the engine began meanwhile: this one has ended',
  );

export class BulkWriter {
  readonly #core: EngineCore;
  readonly #token: string;
  /** Arguments that were added but not sent yet, by command and key. */
  readonly #waiting = new Map<string, { command: Command; key: string; args: Argument[] }>();

  /** @param token of the rebuild */
  constructor(core: EngineCore, token: string) {
    this.#core = core;
    this.#token = token;
  }

  /**
   * @param args field and value of a hash, or score and member of a sorted set
   * @throws OperatorRefusal REBUILD_REPLACED
   */
  async add(command: 'hset' | 'zadd', key: string, ...args: readonly [Argument, Argument]): Promise<void> {
    const name = `${command} ${key}`;
    let waiting = this.#waiting.get(name);
    if (waiting === undefined) {
      waiting = { command, key, args: [] };
      this.#waiting.set(name, waiting);
    }
    waiting.args.push(...args);
    if (waiting.args.length >= ARGUMENTS_TOGETHER) await this.#sendWaiting(name);
  }

  /** @throws OperatorRefusal REBUILD_REPLACED */
  async flush(): Promise<void> {
    for (const name of [...this.#waiting.keys()]) await this.#sendWaiting(name);
  }

  async #sendWaiting(name: string): Promise<void> {
    const { command, key, args } = this.#waiting.get(name)!;
    this.#waiting.delete(name);
    await this.send(command, key, ...args);
  }

  /** @throws OperatorRefusal REBUILD_REPLACED */
  async send(command: Command, key: string, ...args: readonly Argument[]): Promise<void> {
    const isOurs = await this.#core.scripts.run(FILL_REBUILD, {
      part: key,
      token: this.#token,
      command: command.toUpperCase(),
      arguments: args,
    });
    if (!isOurs) throw replaced();
  }
}
