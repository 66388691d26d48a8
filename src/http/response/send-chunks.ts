/** Writes a reply of any length, a part at a time. */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { Refusal } from '../../domain/errors.ts';
import { addHeader, writeHead } from './head.ts';

export interface ChunkedReply {
  readonly contentType: string;
  readonly chunks: AsyncGenerator<string>;
}

/** Each one holds a connection to Postgres for as long as its reader takes. */
const MAX_AT_ONCE = 2;
const MAX_MS = 600_000;

let underWay = 0;

/**
 * Sends a reply, no faster than its reader takes it. One that fails in the middle, or takes longer than ten minutes, is
 * cut off, so that nobody takes a part for the whole.
 * @throws Refusal SERVICE_UNAVAILABLE while others are sent
 */
export async function sendChunks(response: Response, { contentType, chunks }: ChunkedReply): Promise<void> {
  if (underWay === MAX_AT_ONCE)
    throw new Refusal('SERVICE_UNAVAILABLE', `${MAX_AT_ONCE} reports are under way: repeat this one later`);
  underWay += 1;
  try {
    // The first part tells whether there is an answer at all.
    const first = await chunks.next();
    addHeader(response, 'Cache-Control', 'no-store');
    addHeader(response, 'Content-Type', contentType);
    writeHead(response, 200);
    await pipeline(Readable.from(following(first, chunks)), response, {
      signal: AbortSignal.timeout(MAX_MS),
    });
  } catch (error) {
    if (!response.headersSent) throw error;
    response.destroy();
  } finally {
    underWay -= 1;
    await chunks.return(undefined);
  }
}

async function* following(
  first: IteratorResult<string, unknown>,
  chunks: AsyncGenerator<string>,
): AsyncGenerator<string> {
  if (first.done) return;
  yield first.value;
  yield* chunks;
}
