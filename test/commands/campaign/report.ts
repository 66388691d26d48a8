/** The table of a campaign: a line for each fault. */

import { column, formatCounted, renderTable } from '../../../src/terminal/table.ts';
import type { Proof } from './broken-builds.ts';
import type { Result } from './campaign.ts';

const plain = (_style: string, text: string): string => text;

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

export function tableOf(results: readonly Result[]): string {
  const columns = [
    column('fault'),
    column('rounds', 'right'),
    column('requests', 'right'),
    column('unknown', 'right'),
    column('violations', 'right'),
    column('heals within s', 'right'),
    column('s a round', 'right'),
    column('longest answer s', 'right'),
    column('may break, and figures'),
  ];
  const rows = results.map((result) => [
    result.fault,
    result.notRun === undefined ? formatCounted(result.rounds) : 'not run',
    formatCounted(result.requests),
    formatCounted(result.unknowns),
    formatCounted(result.violations.length),
    seconds(Math.max(0, ...result.healedMs)),
    seconds(result.tookMs / Math.max(1, result.rounds)),
    seconds(result.longestMs),
    result.notRun ?? [result.mayBreak, ...result.notes].join('; '),
  ]);
  return renderTable(columns, rows, plain);
}

export function proofsTable(proofs: readonly Proof[]): string {
  const rows = proofs.map(({ build, reportedBy }) => [build, reportedBy.join(', ') || 'NOT REPORTED']);
  return renderTable([column('broken build'), column('reported by')], rows, plain);
}

export const hasViolations = (results: readonly Result[]): boolean =>
  results.some(({ violations }) => violations.length > 0);

/** The same as one JSON document. */
export const documentOf = (seed: number, results: readonly Result[]): string =>
  JSON.stringify({ seed, holds: !hasViolations(results), faults: results }, null, 2);
