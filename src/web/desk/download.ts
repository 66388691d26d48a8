/** Saves reports of the service as files. The key is a header, so no link can fetch them. */

import type { Operation } from '../../operator/operation.ts';
import { type Given, Refused, refusedBy, requestOf } from './operators.ts';

/** Maximum bytes that this page keeps in memory. */
export const MAX_BYTES = 64 * 1024 * 1024;
/** Longest wait for the next part. */
const PATIENCE_MS = 60_000;

/** The report is larger than this page holds. */
export class TooLarge extends Error {}

interface Saved {
  readonly file: string;
  /** Called with the bytes so far. */
  readonly onBytes: (bytes: number) => void;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/**
 * Reads a report, and the pages that follow it, and saves them as one file.
 * @throws Refused, TooLarge
 */
export async function saveReport(
  id: string,
  given: Given<Operation>,
  { file, onBytes, signal }: Saved,
): Promise<void> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  let { url, request } = requestOf(id, given);
  for (let next: string | undefined = url; next !== undefined; ) {
    url = next;
    next = await readParts(url, { ...request, signal }, (part) => {
      bytes += part.length;
      if (bytes > MAX_BYTES) throw new TooLarge();
      parts.push(part);
      onBytes(bytes);
    });
  }
  save(new Blob(parts), file);
}

/** Reads a reply part by part. @returns the address of the page that follows it, relative to this one */
async function readParts(
  url: string,
  request: RequestInit,
  onPart: (part: Uint8Array<ArrayBuffer>) => void,
): Promise<string | undefined> {
  const patience = new AbortController();
  let timer = 0;
  const wait = (): void => {
    clearTimeout(timer);
    timer = window.setTimeout(() => patience.abort(), PATIENCE_MS);
  };
  try {
    wait();
    const signal = AbortSignal.any([request.signal!, patience.signal]);
    const response = await fetch(url, { ...request, signal });
    if (!response.ok) throw await refusedBy(response);
    const reader = response.body!.getReader();
    for (;;) {
      wait();
      const { done, value } = await reader.read();
      if (done) return nextOf(response);
      try {
        onPart(value);
      } catch (error) {
        void reader.cancel();
        throw error;
      }
    }
  } catch (error) {
    if (error instanceof Refused || error instanceof TooLarge) throw error;
    throw new Refused(0, 'The report was cut off, and nothing was saved. Try it again.');
  } finally {
    clearTimeout(timer);
  }
}

const NEXT = /^<\/([^>]*)>; rel="next"$/;

const nextOf = ({ headers }: Response): string | undefined => NEXT.exec(headers.get('link') ?? '')?.[1];

function save(blob: Blob, file: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = file;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), PATIENCE_MS);
}
