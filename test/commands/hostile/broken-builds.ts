/** Runs the short form against releases with planted faults, each of which must be reported. */

import type { Planted } from '../../planted/planted.ts';
import { withPlanted } from '../../planted/release.ts';
import { runHostile } from './hostile.ts';
import { startTarget } from './target.ts';

/** A run that is long enough for each fault. */
const SHORT = { requests: 1_200, logins: 90, tokens: 60, rounds: 4, held: 30, operates: false };

interface ProofOptions {
  readonly folder: string;
  readonly seed: number;
  readonly say: (line: string) => void;
}

/**
 * The cluster has no settlement, so other promises break too. The options of a fault name the promise that must be
 * reported as broken, and a text of the report.
 * @returns the reports of the promise that the fault breaks; none if the run missed the fault
 */
export const prove = (fault: Planted, { folder, seed, say }: ProofOptions): Promise<string[]> =>
  withPlanted(fault, async (release) => {
    const target = await startTarget({
      folder,
      replicas: { api: 1, stream: 1, settlement: 0, snapshot: 1 },
      releaseOf: ({ role }) => (role === 'api' || role === 'stream' ? release : undefined),
    });
    try {
      const { findings } = await runHostile({ ...SHORT, target, seed, say });
      const [check, kind] = [fault.options.get('check'), fault.options.get('kind')!];
      return findings
        .filter((found) => found.check === check && found.kind.includes(kind))
        .map((found) => found.kind);
    } finally {
      await target.stop();
    }
  });
