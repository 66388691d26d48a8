import type { Command } from 'commander';
import { addNoun, type Perform, said } from './verb.ts';

export function addOrderCommands(program: Command, perform: Perform): void {
  addNoun(program, 'order', 'single orders')
    .command('void')
    .argument('<id>', 'of a live order, 34 hex digits')
    .description('void one live order: it ends as failed, and what it reserved is available again')
    .action((id: string) =>
      perform(async ({ engine }) => {
        const order = await engine.orders.void(id);
        return said(`order ${order.id} of ${order.wallet} on ${order.market} is ${order.status}`, order);
      }),
    );
}
