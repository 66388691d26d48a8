/** The head of a reply: collected as a list of names and values while the reply is made, then written at once. */

import type { Response } from 'express';
import { takesLines } from './message-classes.ts';
import { stateOf } from './state.ts';

/**
 * @param name not in the head yet
 * @param value our own, or checked: nothing looks at it again, and a request's text must not end the line
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

/** Headers that Node must read itself: the length of the reply, and the future of the connection. */
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
