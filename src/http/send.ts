/** Writes an answer to the socket. */

import type { ServerResponse } from 'node:http';
import type { Answer } from './endpoint.ts';

/** By Node's own means: Express' `send` looks at charsets, entity tags and freshness, which no answer here has. */
export function send(response: ServerResponse, { status, contentType, text }: Answer): void {
  response.statusCode = status;
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}
