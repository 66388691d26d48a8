/** Proves that the demo's command line accepts its own options and rejects all others. */

import { expect } from 'chai';
import { DEMO_HELP, readDemoArguments } from '../../../src/demo/arguments.ts';

describe('the arguments of the demo', () => {
  it('select the story by default', () => {
    expect(readDemoArguments([])).to.deep.include({ help: false, live: false });
    expect(readDemoArguments(['--help'])).to.deep.include({ help: true });
  });

  it('select endless trading, with a seed and a market', () => {
    const asked = readDemoArguments(['--live', '--seed', '7', '--market', 'ETH/USDC']);
    expect(asked).to.deep.equal({ help: false, live: true, seed: 7, market: 'ETH/USDC' });
    expect(readDemoArguments(['--live']))
      .to.deep.include({ live: true })
      .and.not.include.keys('seed');
  });

  for (const [argv, reason] of [
    [['--seed', '7'], /^--seed and --market need --live$/],
    [['--live', '--seed', 'x'], /^--seed must be a whole number/],
    [['--live', '--seed', '2147483648'], /^--seed must be a whole number/],
    [['--live', '--seed', '-1'], /--seed/],
    [['--loud'], /^Unknown option '--loud'/],
    [['story'], /^Unexpected argument 'story'/],
  ] as const)
    it(`reject ${argv.join(' ')}`, () => {
      expect(readDemoArguments(argv)).to.match(reason);
    });

  it('are listed in the help text', () => {
    for (const option of ['--live', '--seed', '--market', '--help']) expect(DEMO_HELP).to.include(option);
    for (const line of DEMO_HELP.split('\n')) expect(line.length).to.be.at.most(100);
  });
});
