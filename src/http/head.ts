/**
 * The head of a reply: collected while the reply is made, and written at once, as Node writes a list of names and
 * values. Node's own `setHeader` looks each name up and keeps it twice, a tenth of what a small reply costs.
 */

import type { Response } from 'express';
import { takesLines } from './message-classes.ts';
import { stateOf } from './reply-state.ts';

/**
 * @param name one that the head does not have yet
 * @param value of ours, or checked: nobody looks at it again. A request's own text must not end the line.
 */
export function addHeader(response: Response, name: string, value: string): void {
  stateOf(response).head.push(name, value);
}

/** @param name one that the head has */
export function replaceHeader(response: Response, name: string, value: string): void {
  const { head } = stateOf(response);
  head[head.indexOf(name) + 1] = value;
}

export const hasHeader = (response: Response, name: string): boolean => stateOf(response).head.includes(name);

/** Those that Node must read itself: they say how long the reply is, and what becomes of the connection. */
const READ_BY_NODE: ReadonlySet<string> = new Set(['Content-Length', 'Connection']);

export function writeHead(response: Response, status: number): void {
  const { head } = stateOf(response);
  // Headers that were set by Node's own methods must be merged with these, which Node's `writeHead` does.
  if (!takesLines(response) || response.getHeaderNames().length > 0) {
    response.writeHead(status, head);
    return;
  }
  let lines = '';
  let at = 0;
  for (; at < head.length && !READ_BY_NODE.has(head[at]!); at += 2)
    lines += `${head[at]}: ${head[at + 1]}\r\n`;
  response.headLines = lines;
  // Node writes the rest, so that the order stays: usually nothing but the length.
  response.writeHead(status, head.slice(at));
}
