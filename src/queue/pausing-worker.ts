/** A worker of BullMQ that pauses after each error reply. BullMQ itself asks again at once, thousands of times a second. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, type Processor, Worker } from 'bullmq';
import { at, GrowingPause, type QueueOptions, SILENT } from './connection.ts';

export class PausingWorker extends Worker {
  readonly #tell: NonNullable<QueueOptions['tell']>;
  readonly #pause = new GrowingPause();
  readonly #closing = new AbortController();

  constructor(name: string, process: Processor, { connection, tell = SILENT }: QueueOptions) {
    super(name, process, { ...at(connection), concurrency: 1 });
    this.#tell = tell;
    this.on('error', tell);
    this.once('closing', () => this.#closing.abort());
  }

  /** Takes the next job. BullMQ emits the error of a failed attempt, and calls again. */
  protected override async moveToActive(token: string, name?: string): Promise<Job> {
    try {
      const job = await super.moveToActive(token, name);
      this.#pause.end();
      this.#tell(null);
      return job;
    } catch (error) {
      await sleep(this.#pause.next(), undefined, { signal: this.#closing.signal }).catch(() => undefined);
      throw error;
    }
  }
}
