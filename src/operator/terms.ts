import type { Command } from 'commander';
import { addOperation } from './operation.ts';
import { requireTerms } from './operations/service.ts';
import { addNoun, type RunCommand } from './verb.ts';

export function addTermsCommands(program: Command, perform: RunCommand): void {
  const terms = addNoun(program, 'terms', 'set the terms that wallets must accept before they place orders');
  addOperation(terms, perform, requireTerms);
}
