/** Styles of text on a terminal. */

import { inspect } from 'node:util';

/** Styles text for a terminal; returns plain text for any other output. */
export type Paint = (style: 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', text: string) => string;

export const PLAIN: Paint = (_style, text) => text;
export const COLOURED: Paint = (style, text) => {
  const [on, off] = inspect.colors[style]!;
  return `\u001b[${on}m${text}\u001b[${off}m`;
};
