/** Refuses a Postgres that may lose what it has committed: the engine forgets events that Postgres has. */

import { DatabaseRefused } from './database-refused.ts';
import type { Ask } from './queries.ts';

const UNSAFE = `
  select name || ' is ' || setting as text from pg_settings
  where name in ('fsync', 'full_page_writes') and setting <> 'on' order by name`;

/** @throws DatabaseRefused naming each setting to change */
export async function checkDurability(ask: Ask): Promise<void> {
  const found = await ask<{ text: string }>(UNSAFE);
  if (found.length === 0) return;
  const settings = found.map(({ text }) => `${text}, must be on`).join('; ');
  throw new DatabaseRefused(`it may lose commits: ${settings}; or vouch for it by ENGINE_DURABILITY=trusted`);
}
