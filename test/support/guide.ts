/** Reads the commands of the guides, so that tests run what an operator types. */

import { readFileSync } from 'node:fs';
import type { Cursor } from '../../src/domain/event.ts';

/**
 * Returns the first block of code in `language` that follows `heading` in a guide.
 * @throws Error if the guide has no such block
 */
export function blockOf(text: string, heading: string, language: 'sh' | 'js' | 'ini'): string {
  const from = text.indexOf(heading);
  const [, block] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(text.slice(from)) ?? [];
  if (from < 0 || block === undefined) throw new Error(`no ${language} block after “${heading}”`);
  return block;
}

/**
 * Returns the runbook's commands to Redis that remove an entry from the engine's stream: the first one empties the
 * stream, the second one sets its last id back.
 * @param last the engine's last event
 */
export function entryRemoval({ epoch, sequence }: Cursor): (readonly [name: string, ...args: string[]])[] {
  const runbook = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');
  const block = blockOf(runbook, '## When somebody added an entry', 'sh');
  return [...block.matchAll(/^admin (\S+) (.*)$/gm)].map(([, name = '', rest = '']) => [
    name,
    ...rest.replaceAll("'", '').replace('E-S', `${epoch}-${sequence}`).split(' '),
  ]);
}
