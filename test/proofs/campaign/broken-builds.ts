/** Runs the campaign against releases with planted faults, and writes the tables of what was found. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { PLAIN } from '../../../src/terminal/paint.ts';
import { column, formatCounted, renderTable } from '../../../src/terminal/table.ts';
import type { Planted } from '../../planted/planted.ts';
import { withPlanted } from '../../planted/release.ts';
import { type CampaignOptions, OF_CAMPAIGN, type Result, runCampaign } from './campaign.ts';
import { COPIES } from './faults/copies.ts';
import { FAULTS } from './faults/index.ts';

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
  return renderTable(columns, rows, PLAIN);
}

export function proofsTable(proofs: readonly Proof[]): string {
  const rows = proofs.map(({ build, reportedBy }) => [build, reportedBy.join(', ') || 'NOT REPORTED']);
  return renderTable([column('broken build'), column('reported by')], rows, PLAIN);
}

export const hasViolations = (results: readonly Result[]): boolean =>
  results.some(({ violations }) => violations.length > 0);

/** The same as one JSON document. */
export const documentOf = (seed: number, results: readonly Result[]): string =>
  JSON.stringify({ seed, holds: !hasViolations(results), faults: results }, null, 2);

export interface Proof {
  readonly build: string;
  /** The invariants that reported it. */
  readonly reportedBy: readonly string[];
}

type ProofOptions = Pick<
  CampaignOptions,
  'machine' | 'seed' | 'folder' | 'traders' | 'perSecond' | 'bulk' | 'say' | 'replicas'
>;

/** Returns the name of the campaign's fault under which a planted one shows. */
export const underOf = ({ options }: Planted): string => options.get('under') ?? 'kill settlement';

/** The options of a planted fault name the fault of the campaign under which it shows, and its rounds. */
export const prove = (fault: Planted, options: ProofOptions): Promise<Proof> =>
  withPlanted(fault, async (release) => {
    const { name, options: own } = fault;
    const under = underOf(fault);
    const folder = join(options.folder, name.replaceAll(/\W+/g, '-'));
    const results = await runCampaign({
      ...options,
      folder,
      release,
      rounds: Number(own.get('rounds') ?? 1),
      isHasty: true,
      faults: [...FAULTS, ...COPIES].filter((one) => one.name === under),
    });
    rmSync(folder, { recursive: true, force: true });
    const violations = results.flatMap((result) => result.violations.map(({ invariant }) => invariant));
    return { build: name, reportedBy: [...new Set(violations)].filter((one) => !OF_CAMPAIGN.has(one)) };
  });
