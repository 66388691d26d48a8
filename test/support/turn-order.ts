/** The order in which the engine serves commands that come in one turn of the event loop. */

import { Ticket } from '../../src/engine/command-queue.ts';

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

/** Returns commands of one market in the order in which their wallets take turns. */
function inTurnsOf<Command>(commands: readonly Command[], walletOf: (command: Command) => string): Command[] {
  const lanes = groupBy(commands, walletOf);
  const rounds = Math.max(...lanes.map((lane) => lane.length));
  return Array.from({ length: rounds }, (_none, round) =>
    lanes.flatMap((lane) => lane.slice(round, round + 1)),
  ).flat();
}

/** Returns commands, market by market, in the order in which their wallets take turns. */
export const inTurns = <Command>(
  commands: readonly Command[],
  marketOf: (command: Command) => string,
  walletOf: (command: Command) => string,
): Command[] => groupBy(commands, marketOf).flatMap((ofMarket) => inTurnsOf(ofMarket, walletOf));

let arrivals = 0;

/**
 * Returns the ticket of a command that is served first come first, whatever its wallet, as one that is tried again. An
 * oracle that executes commands one by one needs to know their order.
 */
export function firstCome(wallet: string): Ticket {
  const ticket = new Ticket(wallet);
  arrivals += 1;
  ticket.arrival = arrivals;
  return ticket;
}
