/** Writes an answer that no cache may keep. */

import type { Response } from 'express';
import type { Answer } from '../endpoint.ts';
import { addHeader, writeHead } from './head.ts';

export function send(response: Response, { status, contentType, text, bytes, nextPage }: Answer): void {
  addHeader(response, 'Cache-Control', 'no-store');
  addHeader(response, 'Content-Type', contentType);
  addHeader(response, 'Content-Length', String(bytes?.length ?? Buffer.byteLength(text)));
  if (nextPage !== undefined) addHeader(response, 'Link', `<${nextPage}>; rel="next"`);
  writeHead(response, status);
  response.end(bytes ?? text);
}
