/** Frames that a loop over a stream has not read yet: the newest of each market. */

import type { RedbookError } from './errors.ts';

/** Maximum frames that are kept; beyond any number of markets. */
const MAX_UNREAD = 10_000;

export class UnreadFrames<Frame extends object> {
  readonly #frames = new Map<string, Frame>();
  #isOver = false;
  #error: RedbookError | null = null;
  #wake: () => void = () => undefined;

  add(frame: Frame): void {
    const { type, symbol } = frame as { readonly type?: string; readonly symbol?: string };
    const key = `${type} ${symbol}`;
    this.#frames.delete(key);
    this.#frames.set(key, frame);
    if (this.#frames.size > MAX_UNREAD) this.#frames.delete(this.#frames.keys().next().value!);
    this.#wake();
  }

  /** @param error thrown by the next call of `next` */
  end(error: RedbookError | null = null): void {
    this.#isOver = true;
    this.#error = error;
    this.#frames.clear();
    this.#wake();
  }

  /** Returns the oldest of the frames, or undefined at the end. Not called again before it has settled. */
  async next(): Promise<Frame | undefined> {
    while (this.#frames.size === 0 && !this.#isOver)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    if (this.#error !== null) throw this.#error;
    const [entry] = this.#frames;
    if (entry === undefined) return undefined;
    this.#frames.delete(entry[0]);
    return entry[1];
  }
}
