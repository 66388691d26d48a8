/** Writes answers to the terminal as fast as its reader takes them. */

import type { Writable } from 'node:stream';
import { COLOURED, type Paint, PLAIN } from '../terminal/paint.ts';

/** A stream of a process, or one that a test reads. */
type Output = Writable & { readonly isTTY?: boolean; hasColors?(): boolean };

export interface Terminal {
  readonly out: Output;
  readonly err: Output;
}

/** Writes and waits until the text is taken, so that an answer of any length needs no memory. */
export const write = (stream: Output, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });

/** True when the reader closed the stream, as `head` does when it has seen enough. That is no error. */
export const isClosedByReader = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED');

/** `hasColors` also heeds NO_COLOR and TERM. */
export const paintFor = (stream: Output): Paint =>
  stream.isTTY === true && stream.hasColors?.() === true ? COLOURED : PLAIN;
