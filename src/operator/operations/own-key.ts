/** Tells a key about itself. */

import { z } from 'zod';
import { OPERATOR_RIGHTS } from '../../domain/operator-rights.ts';
import { operation, replyNames } from '../operation.ts';

const limits = z.record(z.string(), z.string());

export const getOwnKey = operation({
  id: 'getOwnKey',
  tag: 'Service',
  summary: 'Returns the name, the rights and the limits of the key that asks',
  method: 'GET',
  path: '/key',
  rights: OPERATOR_RIGHTS,
  reply: z
    .strictObject({
      name: z.string(),
      rights: z.array(z.enum(OPERATOR_RIGHTS)),
      caps: limits.describe('maximum that it may move in a day (UTC), by asset; `*`: every other asset'),
      twoPersons: limits.describe(
        'maximum that it may move without an approval, by asset; `*`: every other asset',
      ),
    })
    .register(replyNames, { id: 'OwnKey' }),
  async run(_services, _asked, { key }) {
    const { name, rights, caps, twoPersons } = key!;
    return { reply: { name, rights: [...rights], caps, twoPersons } };
  },
});
