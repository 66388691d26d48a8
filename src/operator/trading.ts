import type { Command } from 'commander';
import { addOperation } from './operation.ts';
import { pauseTrading, resumeTrading } from './operations/service.ts';
import { addNoun, type RunCommand } from './verb.ts';

export function addTradingCommands(program: Command, perform: RunCommand): void {
  const trading = addNoun(program, 'trading', 'pause and resume trading');
  for (const one of [pauseTrading, resumeTrading]) addOperation(trading, perform, one);
}
