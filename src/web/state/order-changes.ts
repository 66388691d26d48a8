/**
 * Follows the changes of the wallet's orders. One tab of the browser waits for them and hands them to the others,
 * because a wallet has few waiting requests and a browser few connections to a host.
 */

import { effect } from '@preact/signals';
import { type OrderChange, RedbookError, type Session, watchOrders } from '../../client/index.ts';
import { endAfter, session } from './session.ts';

/** Takes changes in the order of the engine. @param isWaiting true in the one tab that waits for the others too */
type Take = (changes: readonly OrderChange[], isWaiting: boolean) => void;

/** Message between tabs: changes and the cursor after them, or a new tab's question for the cursor. */
type Message = { readonly changes: readonly OrderChange[]; readonly cursor: string } | 'cursor?';

/** Pages that are not served over TLS have no locks, so each tab waits by itself, for a shorter time. */
const ALONE_WAIT_SECONDS = 5;
const RETRY_MS = 5_000;

/** Names the lock of the tab that waits, and the channel to the other tabs of the wallet. */
export const lockOf = (wallet: string): string => `redbook:changes:${wallet}`;

class Follower {
  readonly #asked: Session;
  readonly #take: Take;
  readonly #end = new AbortController();
  readonly #channel: BroadcastChannel | null;
  #cursor: string | undefined;
  #isWaiting = false;

  constructor(asked: Session, take: Take) {
    this.#asked = asked;
    this.#take = take;
    const name = lockOf(asked.wallet);
    const { locks } = navigator as { readonly locks?: LockManager };
    this.#channel = locks === undefined ? null : new BroadcastChannel(name);
    if (this.#channel !== null) this.#listen(this.#channel);
    const { signal } = this.#end;
    const waiting = locks === undefined ? this.#wait() : locks.request(name, { signal }, () => this.#wait());
    // Only the end of this follower rejects the request for the lock.
    waiting.catch(() => undefined);
  }

  end(): void {
    this.#end.abort();
    this.#channel?.close();
  }

  #listen(channel: BroadcastChannel): void {
    channel.onmessage = ({ data }: MessageEvent<Message>) => {
      if (data === 'cursor?') {
        if (this.#isWaiting && this.#cursor !== undefined) this.#tellTabs([], this.#cursor);
        return;
      }
      this.#cursor = data.cursor;
      if (data.changes.length > 0) this.#take(data.changes, false);
    };
    // Should this tab have to wait next, it goes on from the cursor of the tab that waits now.
    channel.postMessage('cursor?' satisfies Message);
  }

  #tellTabs(changes: readonly OrderChange[], cursor: string): void {
    this.#channel?.postMessage({ changes, cursor } satisfies Message);
  }

  async #wait(): Promise<void> {
    this.#isWaiting = true;
    while (!this.#end.signal.aborted) {
      try {
        await this.#watch();
      } catch (thrown) {
        if (endAfter(thrown, this.#asked)) return;
        // A cursor is refused after the engine was made anew from an older history.
        if (thrown instanceof RedbookError && thrown.code === 'VALIDATION_ERROR') this.#cursor = undefined;
      }
      if (!this.#end.signal.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  async #watch(): Promise<void> {
    const { signal } = this.#end;
    let changes: OrderChange[] = [];
    const watch = await watchOrders(
      this.#asked,
      {
        onChange: (change) => void changes.push(change),
        onCursor: (cursor) => {
          this.#cursor = cursor;
          this.#tellTabs(changes, cursor);
          if (changes.length > 0) this.#take(changes, true);
          changes = [];
        },
      },
      {
        ...(this.#cursor !== undefined && { after: this.#cursor }),
        ...(this.#channel === null && { waitSeconds: ALONE_WAIT_SECONDS }),
      },
    );
    this.#cursor = watch.cursor;
    const close = (): void => void watch.close();
    signal.addEventListener('abort', close);
    try {
      if (signal.aborted) close();
      await watch.ended;
    } finally {
      signal.removeEventListener('abort', close);
    }
  }
}

/** Follows the orders of whoever is signed in, for as long as the page is open. */
export function followOrders(take: Take): void {
  effect(() => {
    const { value: asked } = session;
    if (asked === null) return;
    const follower = new Follower(asked, take);
    return () => follower.end();
  });
}
