/** Counts the replies that wait for slow clients, so that they cannot fill the memory. */

import type { ServerResponse } from 'node:http';
import type { Response } from 'express';
import { Bound } from '../../domain/bound.ts';
import { UNREAD_REPLIES } from '../../domain/bounds.ts';
import { tooManyReads } from '../../history/wallet-reads.ts';
import { stateOf } from './state.ts';

/** False for a reply that the system has taken, as most are at once, and for one whose connection has ended. */
export const isUnread = ({ writableFinished, destroyed, socket }: ServerResponse): boolean =>
  !writableFinished && !destroyed && socket?.writableLength !== 0;

/** Counts the bytes of unread replies of each holder: a wallet, a key, or an address for requests without one. */
export class UnreadReplies {
  readonly #bound: Bound;

  constructor(rule = UNREAD_REPLIES) {
    this.#bound = new Bound(rule);
  }

  /** Bytes of all holders. */
  get bytes(): number {
    return this.#bound.held;
  }

  /**
   * Adds an unread reply. It counts until it is sent or its connection ends. When all unread replies are too
   * large, the largest holder loses the connection of its oldest one.
   */
  add(holder: string, bytes: number, response: ServerResponse): void {
    const end = (): void => void response.req.socket.destroy();
    const place = this.#bound.take(holder, bytes, { giveWay: end });
    if (place === undefined) end();
    else response.once('close', () => place.giveBack());
  }

  /**
   * @throws Refusal SERVICE_UNAVAILABLE if the wallet has too many unread bytes
   */
  check(wallet: string): void {
    if (this.#bound.isFull(wallet)) throw tooManyReads();
  }
}

/** Those of all servers of this process. */
export const unreadReplies = new UnreadReplies();

/** Ends a reply of any route, and counts its body while it is unread. Reports alone are sent otherwise. */
export function endReply(response: Response, body?: string | Buffer): void {
  response.end(body);
  if (body === undefined || response.req.method === 'HEAD' || !isUnread(response)) return;
  const { holder, addressOf } = stateOf(response);
  unreadReplies.add(holder ?? addressOf(response.req), body.length, response);
}
