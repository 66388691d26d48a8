/** Makes the engine anew from Postgres. */

import { rebuildEngine } from '../../books/rebuild.ts';
import type { Act } from '../../domain/act.ts';
import { type ActOptions, actOf } from '../act-options.ts';
import type { OperatorServices } from '../services.ts';
import { shortResult, type WorkingVerb } from '../verb.ts';

/** Notes a rebuild in the engine that it made. Returns false when the engine does not open. */
async function noteRebuild({ engine, reopened }: OperatorServices, act: Act): Promise<boolean> {
  if (!(await reopened?.())) return false;
  await engine.acts.note({ name: 'ledger rebuild' }, act);
  return true;
}

export const rebuildVerb: WorkingVerb = {
  verb: 'rebuild',
  isAct: true,
  describe: (command) =>
    command
      .addHelpText(
        'after',
        `
For a lost engine, in an empty Redis: events that were not settled stay lost, and so do dead-man switches
(cancel-after). Clients must set theirs again.
For an engine of another format, which releases before or after this one wrote: nothing is lost. It is refused until
that release has settled every event. Dead-man switches are kept.
Running processes open the engine when it is complete. An interrupted rebuild begins anew.`,
      )
      .description(
        'rebuild the engine from Postgres; refuses to replace one that has the format of this release',
      ),
  work: (options: ActOptions) => async (services) => {
    const rebuilt = await rebuildEngine(services);
    const isNoted = await noteRebuild(services, actOf(options));
    const { sequence, markets, accounts, liveOrders, keepsSwitches } = rebuilt;
    const parts = [`${markets} markets`, `${accounts} balances`, `${liveOrders} live orders`];
    const state = `the engine is as it was after event ${sequence}: ${parts.join(', ')}`;
    const switches = keepsSwitches
      ? 'dead-man switches are as they were: those that are due fire when a process opens the engine'
      : 'dead-man switches are lost: clients must set theirs again';
    const notes = isNoted ? [] : ['the engine has not opened yet, so acts do not show this rebuild'];
    return shortResult([state, switches, ...notes].join('\n'), rebuilt);
  },
};
