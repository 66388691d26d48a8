/** Starts each command that README and CONTRIBUTING offer as a proof, in its smallest form. */

import { expect } from 'chai';
import { words } from '../support/words.ts';
import { runCommand } from './run-command.ts';

/** Smallest forms that need nothing but the servers of the tests. `drill.test.ts` starts the drill. */
const SMALLEST = [
  'campaign --rounds 1 --faults kill.snapshot --traders 2 --rate 20 --seed 1',
  'simulation --histories 2 --steps 40 --workers 1 --seed 1',
  'simulation --copies 3 --histories 1 --steps 40 --workers 1 --seed 1',
  'hostile --requests 1200 --logins 6 --tokens 6 --attacks challenges --rounds 1 --seed 1',
  'proofs equivalence --operations 300 --seed 1',
  'proofs order-routes --cases 2 --seed 1',
  'proofs growth --orders 10000 --seed 1',
  'proofs sweeps --orders 2 --fills 20',
  'proofs seed --trades 300 --plans',
  'proofs statements --events 400 --seed 1',
];

/** Commands with options of their own. */
const WITH_OPTIONS = [
  'campaign',
  'simulation',
  'hostile',
  'drill',
  'containers',
  'bench',
  ...['equivalence', 'order-routes', 'growth', 'sweeps', 'seed', 'statements', 'versions', 'screenshots'].map(
    (name) => `proofs ${name}`,
  ),
];

const argumentsOf = (command: string): [string, ...string[]] =>
  words(command).map((word) => word.replace('kill.snapshot', 'kill snapshot')) as [string, ...string[]];

describe('the commands of proofs', function () {
  this.timeout(600_000);

  for (const command of SMALLEST)
    it(`end with 0: npm run ${command}`, async () => {
      const { code, output } = await runCommand(...argumentsOf(command));
      expect(code, output).to.equal(0);
    });

  for (const command of WITH_OPTIONS)
    it(`print their options, and end with 2 after a word that is none: ${command}`, async () => {
      const [help, wrong] = await Promise.all([
        runCommand(...argumentsOf(command), '--help'),
        runCommand(...argumentsOf(command), '--no-such-option'),
      ]);
      expect(help.code, help.output).to.equal(0);
      expect(help.output).to.match(/^Usage: npm run .*\n/);
      expect(wrong.code, wrong.output).to.equal(2);
      expect(wrong.output).to.include("unknown option '--no-such-option'");
    });

  it('print what a proof without options does, and end with 2 after a word', async () => {
    const help = await runCommand('proofs', 'smoke', '--help');
    expect(help).to.have.property('code', 0);
    expect(await runCommand('proofs', 'smoke', 'now')).to.deep.equal({ ...help, code: 2 });
    expect(await runCommand('proofs', 'no-such-proof')).to.have.property('code', 2);
  });
});
