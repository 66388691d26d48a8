/** Writes the table of all checks of `ledger reconcile` for auditors, from their definitions. */

import { ENGINE_CHECKS } from '../../src/books/reconcile/definitions.ts';
import { LEDGER_CHECKS } from '../../src/ledger/checks/run.ts';

export const AUDIT_PAGE = new URL('../../docs/audit.md', import.meta.url);

const BEGIN = '<!-- checks: npm run -s proofs -- schema -->\n';
const END = '<!-- end of checks -->\n';

/** @returns the page with the table as the definitions are now */
export function withChecks(page: string): string {
  const rows = [...Object.values(ENGINE_CHECKS), ...LEDGER_CHECKS].map(
    ({ name, meaning, proof }) => `| ${name} | ${meaning} | ${proof} |\n`,
  );
  const table = `| check | holds when | takes as proof |\n| --- | --- | --- |\n${rows.join('')}`;
  const [head, rest] = page.split(BEGIN);
  const [, tail] = rest!.split(END);
  return `${head}${BEGIN}${table}${END}${tail}`;
}
