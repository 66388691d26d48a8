/** Writes the result of a reconcile for people. */

import { shown } from '../../domain/text.ts';
import type { Paint } from '../../terminal/paint.ts';
import { column, formatCounted, renderTable } from '../../terminal/table.ts';
import type { CheckResult, Reconciliation } from './index.ts';

const CHECK_COLUMNS = [column('CHECK'), column('ASSET'), column('COMPARED'), column('RESULT')];

const resultOf = ({ count }: CheckResult): string =>
  count === 0 ? 'holds' : `${formatCounted(count)} ${count === 1 ? 'difference' : 'differences'}`;

export function renderReconciliation({ holds, checks, sequence }: Reconciliation, paint: Paint): string {
  const table = renderTable(
    CHECK_COLUMNS,
    checks.map((check) => [check.name, check.asset ?? '', check.compared, resultOf(check)]),
    paint,
  );
  const details = checks.filter(({ count }) => count > 0).map((check) => renderDifferences(check, paint));
  const verdict = holds
    ? paint('green', `everything holds: ${checks.length} checks, up to event ${sequence}`)
    : paint('red', 'not everything holds');
  return `${[table, ...details].join('\n')}\n${verdict}\n`;
}

function renderDifferences(check: CheckResult, paint: Paint): string {
  const lines = check.differences.map(
    ({ subject, expected, found }) =>
      `  ${shown(subject)}\n    expected ${shown(expected)}\n    found    ${shown(found)}\n`,
  );
  const more = check.count - check.differences.length;
  const rest = more > 0 ? `  … and ${formatCounted(more)} more\n` : '';
  const title = `${check.name}${check.asset === null ? '' : ` of ${check.asset}`}`;
  return `${paint('bold', title)}: ${check.meaning}\n${lines.join('')}${rest}`;
}
