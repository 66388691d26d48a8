/** Counts the replies that wait for slow clients, so that they cannot fill the memory. */

import type { ServerResponse } from 'node:http';
import { tooBusy, tooManyReads } from '../history/wallet-reads.ts';

const MAX_UNSENT_BYTES = { ofWallet: 8 * 1024 * 1024, inAll: 128 * 1024 * 1024 };

/** Smaller replies are not counted: they take little memory, and most are sent at once. */
const COUNTED_FROM_BYTES = 16 * 1024;

interface Unsent {
  readonly wallet: string;
  readonly bytes: number;
  readonly response: ServerResponse;
}

/**
 * Counts the bytes of replies that wait for slow clients. A wallet with too many unread bytes gets no further replies.
 */
export class UnsentReplies {
  readonly #replies = new Set<Unsent>();

  /** Adds a reply when it is written. It counts until it is sent or its client has disconnected. */
  add(wallet: string, bytes: number, response: ServerResponse): void {
    if (bytes < COUNTED_FROM_BYTES || response.destroyed) return;
    const reply = { wallet, bytes, response };
    this.#replies.add(reply);
    response.once('close', () => this.#replies.delete(reply));
  }

  /**
   * @throws Refusal SERVICE_UNAVAILABLE if the wallet, or all wallets together, have too many unread bytes
   */
  check(wallet: string): void {
    let [ofWallet, inAll] = [0, 0];
    for (const reply of this.#replies) {
      inAll += reply.bytes;
      if (reply.wallet === wallet) ofWallet += reply.bytes;
    }
    if (ofWallet > MAX_UNSENT_BYTES.ofWallet) throw tooManyReads();
    if (inAll > MAX_UNSENT_BYTES.inAll) throw tooBusy();
  }
}
