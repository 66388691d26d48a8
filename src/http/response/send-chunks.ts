/** Writes a reply of any length, a part at a time. */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { Bound } from '../../domain/bound.ts';
import { REPORTS } from '../../domain/bounds.ts';
import { Refusal } from '../../domain/errors.ts';
import { addFile, addHeader, writeHead } from './head.ts';

export interface ChunkedReply {
  readonly contentType: string;
  readonly chunks: AsyncGenerator<string>;
  /** Name under which browsers save the reply. */
  readonly file?: string | undefined;
}

const MAX_MS = 600_000;

const reports = new Bound(REPORTS);

/**
 * Sends a reply, no faster than its reader takes it. One that fails in the middle, or takes longer than ten minutes, is
 * cut off, so that nobody takes a part for the whole.
 * @param holder the key that asked
 * @throws Refusal SERVICE_UNAVAILABLE if too many reports are under way and the key has most of them
 */
export async function sendChunks(
  response: Response,
  holder: string,
  { contentType, chunks, file }: ChunkedReply,
): Promise<void> {
  const cutting = new AbortController();
  const taker = { giveWay: () => cutting.abort() };
  const place = reports.isFull(holder) ? undefined : reports.take(holder, 1, taker);
  if (place === undefined)
    throw new Refusal('SERVICE_UNAVAILABLE', 'other reports are under way: repeat this one later');
  try {
    // The first part tells whether there is an answer at all.
    const first = await chunks.next();
    addHeader(response, 'Cache-Control', 'no-store');
    addHeader(response, 'Content-Type', contentType);
    addFile(response, file);
    writeHead(response, 200);
    await pipeline(Readable.from(following(first, chunks)), response, {
      signal: AbortSignal.any([cutting.signal, AbortSignal.timeout(MAX_MS)]),
    });
  } catch (error) {
    if (!response.headersSent) throw error;
    response.destroy();
  } finally {
    place.giveBack();
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
