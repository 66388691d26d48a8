import type { Command } from 'commander';
import { addOperation } from './operation.ts';
import { setAssetOf } from './operations/markets.ts';
import { addNoun, type RunCommand } from './verb.ts';

export function addAssetCommands(program: Command, perform: RunCommand): void {
  addOperation(addNoun(program, 'asset', 'register assets'), perform, setAssetOf);
}
