/** Sends a public reply: shared between clients, compressed on request, and as a 304 if the client already has it. */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import type { Reply } from '../replies/reply.ts';
import { addHeader, writeHead } from './head.ts';
import { endReply } from './unread-replies.ts';

/** Caches may add at most one second to the age of a reply. */
const CACHE_CONTROL = 'public, max-age=1, must-revalidate';

const compress = promisify(gzip);

/** Parts of a reply that are built once for all clients. */
class PreparedReply {
  /** Stored as bytes, because a string is copied twice when it is sent. */
  readonly body: Buffer;
  readonly etag: string;
  #gzipped: Promise<Buffer> | undefined;

  constructor(text: string) {
    this.body = Buffer.from(text);
    // Weak, because the tag also covers the compressed bytes.
    this.etag = `W/"${createHash('sha1').update(this.body).digest('base64url')}"`;
  }

  gzipped(): Promise<Buffer> {
    this.#gzipped ??= compress(this.body);
    return this.#gzipped;
  }
}

const prepared = new WeakMap<Reply, PreparedReply>();

function prepare(reply: Reply): PreparedReply {
  let made = prepared.get(reply);
  if (made === undefined) {
    made = new PreparedReply(reply.text);
    prepared.set(reply, made);
  }
  return made;
}

/** @param cacheControl used unless the reply has its own */
export async function sendPublic(
  request: Request,
  response: Response,
  reply: Reply,
  cacheControl = CACHE_CONTROL,
): Promise<void> {
  const made = prepare(reply);
  addHeader(response, 'Cache-Control', reply.cacheControl ?? cacheControl);
  addHeader(response, 'ETag', made.etag);
  addHeader(response, 'Vary', 'Accept-Encoding');
  if (isKnown(request, response, made.etag)) {
    writeHead(response, 304);
    endReply(response);
    return;
  }
  addHeader(response, 'Content-Type', reply.contentType);
  const zip = wantsGzip(request);
  const body = zip ? await made.gzipped() : made.body;
  if (zip) addHeader(response, 'Content-Encoding', 'gzip');
  addHeader(response, 'Content-Length', String(body.length));
  writeHead(response, 200);
  endReply(response, body);
}

/**
 * True if the client already has this reply. Express compares the request with headers that Node stores, so they are
 * set only for a client that sends a tag.
 */
function isKnown(request: Request, response: Response, etag: string): boolean {
  if (request.headers['if-none-match'] === undefined) return false;
  response.setHeader('ETag', etag);
  return request.fresh;
}

const wantsGzip = (request: Request): boolean =>
  request.headers['accept-encoding'] !== undefined && request.acceptsEncodings('gzip', 'identity') === 'gzip';
