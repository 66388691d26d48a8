/** The campaign in short: several faults on one cluster, and a broken build that must be reported. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { plantedFor } from '../../planted/planted.ts';
import { runSeed } from '../../support/seed.ts';
import { prove, tableOf } from './broken-builds.ts';
import { runCampaign } from './campaign.ts';
import { type Fault, inTurn, type Machine } from './faults/fault.ts';
import { FAULTS } from './faults/index.ts';

const KILLED = [
  'kill api',
  'custody: kill an operator-api and settlement',
  'kill the engine Redis',
  'kill Postgres',
];
const BROKEN = 'loses the fee';

const named = (name: string): Fault => FAULTS.find((fault) => fault.name === name)!;

describe('a campaign of faults', function () {
  // Each test takes half a minute on two free cores.
  this.timeout(600_000);
  const folder = mkdtempSync(join(tmpdir(), 'redbook-campaign-'));
  const machine: Machine = { isRoot: false, hasNftables: false, hasTmpfs: false, hasFakedClock: false };
  const said: string[] = [];
  const load = {
    traders: 4,
    perSecond: 30,
    bulk: 1_000,
    machine,
    rounds: 1,
    say: (line: string) => said.push(line),
  };

  after(() => rmSync(folder, { recursive: true, force: true }));

  it('loses nothing that was acknowledged, whatever is killed', async () => {
    const faults = [inTurn('kills', KILLED.map(named))];
    const replicas = { stream: 1, 'operator-api': 2 };
    const results = await runCampaign({ ...load, faults, seed: runSeed(), folder, replicas });
    const violations = results.flatMap((result) => result.violations);
    expect(violations, `${tableOf(results)}\n${said.join('\n')}`).to.deep.equal([]);
    expect(results.every(({ requests }) => requests > 0)).to.equal(true);
  });

  it('undoes the plan of a cluster that does not start', async () => {
    let isUndone = false;
    const unstartable: Fault = {
      name: 'no folder',
      rounds: 1,
      plan: async (base) => ({
        plan: { ...base, folder: '/dev/null/nowhere' },
        close: async () => {
          isUndone = true;
        },
      }),
      inject: (): Promise<never> => Promise.reject(new Error('it was started')),
    };
    const [result] = await runCampaign({ ...load, faults: [unstartable], seed: runSeed(), folder });
    expect(result?.violations.map(({ invariant }) => invariant)).to.deep.equal(['start']);
    expect(isUndone).to.equal(true);
  });

  it('reports a build whose fees go nowhere', async () => {
    const broken = plantedFor('campaign').find(({ name }) => name === BROKEN)!;
    const replicas = { api: 1, stream: 0, snapshot: 0 };
    const { reportedBy } = await prove(broken, { ...load, seed: runSeed(), folder, replicas });
    expect(reportedBy).to.include('ledger reconcile').and.to.include('conservation in Redis');
  });
});
