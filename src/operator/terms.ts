import type { Command } from 'commander';
import { readTermsVersion } from './arguments.ts';
import { addNoun, type RunCommand, shortResult } from './verb.ts';

export function addTermsCommands(program: Command, perform: RunCommand): void {
  const terms = addNoun(program, 'terms', 'set the terms that wallets must accept before they place orders');
  terms
    .command('require')
    .argument('<version>', 'terms version, as wallets send it when they accept', readTermsVersion)
    .description('require a version; wallets that have not accepted it can still read and cancel')
    .action((version: string) =>
      perform(async ({ engine }) => {
        await engine.switches.requireTerms(version);
        return shortResult(`terms version ${JSON.stringify(version)} is required`, {
          requiredVersion: version,
        });
      }),
    );
  terms
    .command('off')
    .description('require no terms')
    .action(() =>
      perform(async ({ engine }) => {
        await engine.switches.requireTerms(null);
        return shortResult('no terms are required', { requiredVersion: null });
      }),
    );
}
