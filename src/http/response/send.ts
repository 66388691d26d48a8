/** Writes a reply that no cache may keep. */

import type { Response } from 'express';
import type { Reply } from '../replies/reply.ts';
import { addFile, addHeader, writeHead } from './head.ts';
import { endReply } from './unread-replies.ts';

export function send(response: Response, { status, contentType, text, bytes, nextPage, file }: Reply): void {
  addHeader(response, 'Cache-Control', 'no-store');
  addHeader(response, 'Content-Type', contentType);
  addHeader(response, 'Content-Length', String(bytes?.length ?? Buffer.byteLength(text)));
  if (nextPage !== undefined) addHeader(response, 'Link', `<${nextPage}>; rel="next"`);
  addFile(response, file);
  writeHead(response, status);
  endReply(response, bytes ?? text);
}
