import type { Command } from 'commander';
import { addNoun, type Perform, said } from './verb.ts';

export function addTradingCommands(program: Command, perform: Perform): void {
  const trading = addNoun(program, 'trading', 'the kill switch');
  trading
    .command('pause')
    .description('refuse every new order, on all markets at once; cancels and withdrawals go on')
    .action(() =>
      perform(async ({ engine }) => {
        await engine.switches.pause();
        return said('trading is paused', { paused: true });
      }),
    );
  trading
    .command('resume')
    .description('take orders again')
    .action(() =>
      perform(async ({ engine }) => {
        await engine.switches.resume();
        return said('trading goes on', { paused: false });
      }),
    );
}
