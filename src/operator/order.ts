import type { Command } from 'commander';
import { type ActOptions, actOf, withAct } from './acts.ts';
import { addNoun, type RunCommand, shortResult } from './verb.ts';

export function addOrderCommands(program: Command, perform: RunCommand): void {
  withAct(addNoun(program, 'order', 'manage single orders').command('void'))
    .argument('<id>', 'id of a live order, 34 hex digits')
    .description('void a live order: it ends as failed, and its reservation is released')
    .action((id: string, options: ActOptions) =>
      perform(async ({ engine }) => {
        const order = await engine.orders.void(id, actOf(options));
        return shortResult(
          `order ${order.id} of ${order.wallet} on ${order.market} is ${order.status}`,
          order,
        );
      }),
    );
}
