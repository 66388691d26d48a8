/** Runs the campaign against releases with planted faults, each of which it must report. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Planted } from '../../planted/planted.ts';
import { withPlanted } from '../../planted/release.ts';
import { type CampaignOptions, OF_CAMPAIGN, runCampaign } from './campaign.ts';
import { FAULTS } from './faults/index.ts';

export interface Proof {
  readonly build: string;
  /** The invariants that reported it. */
  readonly reportedBy: readonly string[];
}

type ProofOptions = Pick<
  CampaignOptions,
  'machine' | 'seed' | 'folder' | 'traders' | 'perSecond' | 'bulk' | 'say' | 'replicas'
>;

/** The options of a planted fault name the fault of the campaign under which it shows, and its rounds. */
export const prove = (fault: Planted, options: ProofOptions): Promise<Proof> =>
  withPlanted(fault, async (release) => {
    const { name, options: own } = fault;
    const under = own.get('under') ?? 'kill settlement';
    const folder = join(options.folder, name.replaceAll(/\W+/g, '-'));
    const results = await runCampaign({
      ...{ ...options, folder, release, rounds: Number(own.get('rounds') ?? 1), isHasty: true },
      faults: FAULTS.filter((one) => one.name === under),
    });
    rmSync(folder, { recursive: true, force: true });
    const violations = results.flatMap((result) => result.violations.map(({ invariant }) => invariant));
    return { build: name, reportedBy: [...new Set(violations)].filter((one) => !OF_CAMPAIGN.has(one)) };
  });
