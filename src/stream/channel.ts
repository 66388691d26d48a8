/** Sends the frames of one channel to its clients. */

import type { Client } from './client.ts';
import { textFrames } from './text-frames.ts';

/** Totals over all channels of a replica. */
export interface FrameCounts {
  sent: number;
  skipped: number;
}

/** Maximum age of frames for a new client. Frames come every two seconds. */
const FRESH_MS = 4_000;

export class Channel {
  readonly clients = new Set<Client>();
  readonly #greets: boolean;
  readonly #maxLagMs: number;
  readonly #counts: FrameCounts;
  #greeting: Buffer | undefined;
  #shownAtMs = Number.NEGATIVE_INFINITY;

  /** @param greets true if the first frame of each beat is only for new clients */
  constructor(greets: boolean, maxLagMs: number, counts: FrameCounts) {
    this.#greets = greets;
    this.#maxLagMs = maxLagMs;
    this.#counts = counts;
  }

  /** True if the last frame arrived less than four seconds ago. */
  get isFresh(): boolean {
    return performance.now() - this.#shownAtMs < FRESH_MS;
  }

  /** Adds a client. Sends it the newest frames at once if they are fresh; otherwise it waits for the next beat. */
  join(client: Client): void {
    this.clients.add(client);
    if (this.#greeting !== undefined && this.isFresh) this.#greet(client, this.#greeting);
  }

  /** Sends a beat's frames to all clients. */
  show(frames: readonly Buffer[]): void {
    const greeting = textFrames(frames);
    const update = this.#greets ? textFrames(frames.slice(1)) : greeting;
    this.#greeting = greeting;
    this.#shownAtMs = performance.now();
    for (const client of this.clients) {
      if (client.greeted) this.#count(client.show(update, this.#maxLagMs));
      else this.#greet(client, greeting);
    }
  }

  #greet(client: Client, greeting: Buffer): void {
    client.greeted = client.show(greeting, this.#maxLagMs);
    this.#count(client.greeted);
  }

  #count(sent: boolean): void {
    if (sent) this.#counts.sent += 1;
    else this.#counts.skipped += 1;
  }
}
