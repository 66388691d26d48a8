import type { Command } from 'commander';
import { type ActOptions, actOf, withAct } from './acts.ts';
import { addNoun, type RunCommand, shortResult } from './verb.ts';

export function addTradingCommands(program: Command, perform: RunCommand): void {
  const trading = addNoun(program, 'trading', 'pause and resume trading');
  withAct(trading.command('pause'))
    .description('refuse new orders on all markets; cancels and withdrawals continue')
    .action((options: ActOptions) =>
      perform(async ({ engine }) => {
        await engine.switches.pause(actOf(options));
        return shortResult('trading is paused', { paused: true });
      }),
    );
  withAct(trading.command('resume'))
    .description('accept new orders again')
    .action((options: ActOptions) =>
      perform(async ({ engine }) => {
        await engine.switches.resume(actOf(options));
        return shortResult('trading goes on', { paused: false });
      }),
    );
}
