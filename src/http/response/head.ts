/** Builds the head of a reply: collects a list of names and values, then writes them at once. */

import type { Response } from 'express';
import { takesLines } from './message-classes.ts';
import { stateOf } from './state.ts';

/**
 * @param name not in the head yet
 * @param value own text, or checked text: it is not validated again, and text from a request could inject a line
 */
export function addHeader(response: Response, name: string, value: string): void {
  stateOf(response).head.push(name, value);
}

/** @param file name of own text under which a browser saves the reply; undefined for none */
export function addFile(response: Response, file: string | undefined): void {
  if (file !== undefined) addHeader(response, 'Content-Disposition', `attachment; filename="${file}"`);
}

/** @param name already in the head */
export function replaceHeader(response: Response, name: string, value: string): void {
  const state = stateOf(response);
  const { head, fixed } = state;
  if (fixed !== undefined) head.unshift(...fixed.headers);
  state.fixed = undefined;
  head[head.indexOf(name) + 1] = value;
}

/** @param name none of the first headers */
export const hasHeader = (response: Response, name: string): boolean => stateOf(response).head.includes(name);

/** Returns lines of headers, of which each value is an own or a checked text. */
export function linesOf(headers: readonly string[], end = headers.length): string {
  let lines = '';
  for (let at = 0; at < end; at += 2) lines += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return lines;
}

/** Headers that Node itself must see: the length of the reply, and whether the connection stays open. */
const READ_BY_NODE: ReadonlySet<string> = new Set(['Content-Length', 'Connection']);

export function writeHead(response: Response, status: number): void {
  const { head, fixed } = stateOf(response);
  // Node's `writeHead` merges these headers with those that were set by Node's own methods.
  if (!takesLines(response) || response.getHeaderNames().length > 0) {
    response.writeHead(status, fixed === undefined ? head : [...fixed.headers, ...head]);
    return;
  }
  let at = 0;
  while (at < head.length && !READ_BY_NODE.has(head[at]!)) at += 2;
  response.headLines = (fixed === undefined ? '' : fixed.lines) + linesOf(head, at);
  // Node writes the rest, which keeps the order. Usually the rest is only the length.
  response.writeHead(status, head.slice(at));
}
