/** Rebuilds the engine's filter of used client order ids and references. */

import type { Command } from 'commander';
import { rebuildClaimFilter } from '../books/claim-filter.ts';
import type { FilterRebuilt } from '../engine/index.ts';
import { formatCounted } from '../terminal/table.ts';
import { type ActOptions, actOf, withAct } from './acts.ts';
import { readWholeNumber } from './arguments.ts';
import { addNoun, type RunCommand, shortResult } from './verb.ts';

export function addClaimsCommands(program: Command, perform: RunCommand): void {
  const claims = addNoun(
    program,
    'claims',
    'manage the Bloom filters of used client order ids and references',
  );
  withAct(claims.command('rebuild'))
    .option('--patience <seconds>', 'maximum time without progress of settlement', readWholeNumber, 30)
    .addHelpText(
      'after',
      `
The new filter has CLAIM_FILTER_BYTES bytes. The present ones stay in force until the new one is complete, so the
engine's Redis needs memory for all. If the command is interrupted, run it again. Every process must run a release that
knows CLAIM_FILTER_BYTES.`,
    )
    .description(
      'join the filters into one of the configured size, filled from Postgres, while trading continues',
    )
    .action(({ patience, ...options }: ActOptions & { patience: number }) =>
      perform(async (services) => {
        const rebuilt = await rebuildClaimFilter(services, { patienceMs: patience * 1_000 });
        await services.engine.acts.note({ name: 'claims rebuild' }, actOf(options));
        return shortResult(describe(rebuilt), rebuilt);
      }),
    );
}

const describe = ({ bytes, formerBytes, usedIds, falsePositiveRatio }: FilterRebuilt): string =>
  `the claim filter has ${formatCounted(bytes)} bytes (it had ${formatCounted(formerBytes)}) and holds ` +
  `${formatCounted(usedIds)} ids; ${(falsePositiveRatio * 100).toFixed(2)} % of new ids are looked up in Postgres`;
