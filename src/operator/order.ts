import type { Command } from 'commander';
import { addOperation } from './operation.ts';
import { voidOrder } from './operations/markets.ts';
import { addNoun, type RunCommand } from './verb.ts';

export function addOrderCommands(program: Command, perform: RunCommand): void {
  addOperation(addNoun(program, 'order', 'manage single orders'), perform, voidOrder);
}
