/** Checks that nobody may change the engine's Redis beside the users of the release. */

import type { Engine } from '../../engine/index.ts';
import { type CheckResult, Comparison } from './comparison.ts';
import { ENGINE_CHECKS } from './definitions.ts';

export async function checkUsers({ pages }: Pick<Engine, 'pages'>): Promise<CheckResult> {
  const comparison = new Comparison();
  const strange = await pages.strangeUsers();
  for (const { name, grants, isKnown } of strange)
    comparison.equal(
      `user ${name}`,
      isKnown ? 'the rights of the release' : 'no such user',
      isKnown ? `more: ${grants.join(' ')}` : name,
    );
  if (strange.length === 0) comparison.agree();
  return comparison.result(ENGINE_CHECKS.users, null, 'users of Redis');
}
