import type { Command } from 'commander';
import { type ActOptions, actOf, withAct } from './acts.ts';
import { readTermsVersion } from './arguments.ts';
import { addNoun, type RunCommand, shortResult } from './verb.ts';

export function addTermsCommands(program: Command, perform: RunCommand): void {
  const terms = addNoun(program, 'terms', 'set the terms that wallets must accept before they place orders');
  withAct(terms.command('require'))
    .argument('<version>', 'terms version, as wallets send it when they accept', readTermsVersion)
    .description('require a version; wallets that have not accepted it can still read and cancel')
    .action((version: string, options: ActOptions) =>
      perform(async ({ engine }) => {
        await engine.switches.requireTerms(version, actOf(options));
        return shortResult(`terms version ${JSON.stringify(version)} is required`, {
          requiredVersion: version,
        });
      }),
    );
  withAct(terms.command('off'))
    .description('require no terms')
    .action((options: ActOptions) =>
      perform(async ({ engine }) => {
        await engine.switches.requireTerms(null, actOf(options));
        return shortResult('no terms are required', { requiredVersion: null });
      }),
    );
}
