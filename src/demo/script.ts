/** Prints the demo: numbered scenes, sentences, tables. */

import type { Paint } from '../terminal/paint.ts';
import { type Column, column, renderTable } from '../terminal/table.ts';

export interface StoryTeller {
  scene(title: string): void;
  say(text: string): void;
  table(columns: readonly Column[], rows: readonly (readonly string[])[]): void;
  block(text: string): void;
  gap(): void;
}

const WIDTH = 78;

export function openScript(print: (line: string) => void, paint: Paint): StoryTeller {
  let scenes = 0;
  const block = (text: string): void => {
    for (const line of text.trimEnd().split('\n')) print(line === '' ? '' : `    ${line}`);
  };
  return {
    scene(title) {
      scenes += 1;
      const head = `── ${scenes}  ${title} `;
      print('');
      print(paint('bold', head + '─'.repeat(Math.max(0, WIDTH - head.length))));
    },
    say: (text) => print(`  ${text}`),
    table(columns, rows) {
      print('');
      block(renderTable(columns, rows, paint));
    },
    block,
    gap: () => print(''),
  };
}

export const COLUMNS = {
  ladder: [column('SIDE'), column('PRICE', 'point'), column('SIZE', 'point'), column('STATUS')],
  orders: [
    column('WALLET'),
    column('SIDE'),
    column('TYPE'),
    column('PRICE', 'point'),
    column('SIZE', 'point'),
    column('FILLED', 'point'),
    column('STATUS'),
  ],
  fills: [
    column('TRADE', 'right'),
    column('WALLET'),
    column('ROLE'),
    column('SIDE'),
    column('PRICE', 'point'),
    column('SIZE', 'point'),
    column('NOTIONAL', 'point'),
    column('FEE', 'point'),
    column('WITH'),
  ],
  balances: [
    column('WALLET'),
    column('ASSET'),
    column('DEPOSITED', 'point'),
    column('TOTAL', 'point'),
    column('RESERVED', 'point'),
    column('AVAILABLE', 'point'),
  ],
} as const;
