import type { Command } from 'commander';
import { addNoun, type RunCommand, shortResult } from './verb.ts';

export function addTradingCommands(program: Command, perform: RunCommand): void {
  const trading = addNoun(program, 'trading', 'pause and resume trading');
  trading
    .command('pause')
    .description('refuse new orders on all markets; cancels and withdrawals continue')
    .action(() =>
      perform(async ({ engine }) => {
        await engine.switches.pause();
        return shortResult('trading is paused', { paused: true });
      }),
    );
  trading
    .command('resume')
    .description('accept new orders again')
    .action(() =>
      perform(async ({ engine }) => {
        await engine.switches.resume();
        return shortResult('trading goes on', { paused: false });
      }),
    );
}
