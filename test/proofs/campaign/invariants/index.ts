/** All that must hold at rest: one function each, which returns what does not. */

import { booksAreOfLiveOrders, prioritiesHold, screensAreTrue } from './books.ts';
import { changesAreToldOnce, deadlinesHold, replacementsAreWhole } from './changes.ts';
import { capsHold, custodyReadsAreTrue, depositsFollowSteps, withdrawalsFollowSteps } from './custody.ts';
import { eventsAreWhole, nothingShownIsGone, type Rest } from './events.ts';
import { dataIsTrue } from './market-data.ts';
import {
  conservationInPostgres,
  conservationInRedis,
  movementsAreThere,
  reconcileHolds,
  reservedIsOfLiveOrders,
} from './money.ts';
import {
  acknowledgedOrdersAreThere,
  endsStay,
  fillsArePairs,
  listsAreTrue,
  replaysAreTheSame,
} from './orders.ts';

export interface Invariant {
  readonly name: string;
  check(rest: Rest): Promise<string[]>;
}

export const INVARIANTS: readonly Invariant[] = [
  { name: 'ledger reconcile', check: reconcileHolds },
  { name: 'conservation in Postgres', check: conservationInPostgres },
  { name: 'conservation in Redis', check: conservationInRedis },
  { name: 'reserved = live orders', check: reservedIsOfLiveOrders },
  { name: 'acknowledged orders and cancels', check: acknowledgedOrdersAreThere },
  { name: 'shown orders and executions', check: nothingShownIsGone },
  { name: 'acknowledged credits and debits', check: movementsAreThere },
  { name: 'withdrawals in two steps', check: withdrawalsFollowSteps },
  { name: 'deposits that are announced', check: depositsFollowSteps },
  { name: 'caps of keys', check: capsHold },
  { name: 'reads of custody', check: custodyReadsAreTrue },
  { name: 'client ids', check: replaysAreTheSame },
  { name: 'replacements', check: replacementsAreWhole },
  { name: 'deadlines', check: deadlinesHold },
  { name: 'changes', check: changesAreToldOnce },
  { name: 'terminal orders stay so', check: endsStay },
  { name: 'fills pair up', check: fillsArePairs },
  { name: 'price-time priority', check: prioritiesHold },
  { name: 'book', check: booksAreOfLiveOrders },
  { name: 'events', check: eventsAreWhole },
  { name: 'candles and 24 h figures', check: dataIsTrue },
  { name: 'lists', check: listsAreTrue },
  { name: 'streams', check: screensAreTrue },
];
