/** `POST /v1/demo/faucet`: credits play money to the wallet of the session. */

import { z } from 'zod';
import { checked } from '../../contract/checked.ts';
import { faucetCreditSchema } from '../../contract/faucet.ts';
import { text } from '../../contract/fields.ts';
import { JsonText } from '../../domain/json.ts';
import { walletRoute } from '../route.ts';

const schema = z.object({
  asset: text.meta({ description: 'an asset of the demo markets', examples: ['USDC'] }),
});

export const postFaucet = walletRoute({
  method: 'POST',
  path: '/v1/demo/faucet',
  id: 'requestFunds',
  tag: 'Trading',
  summary: 'Credits play money to a wallet that tries the service',
  description:
    'Answers only callers on the machine of the service. For all others, for requests that a proxy passed on, and for ' +
    'a `Host` that is no front end of the service, it is an unknown route. Credits a fixed amount of an asset, a few times for each wallet and asset. When the wallet ' +
    'has had its credits, or none is left for any wallet, the answer is `BAD_REQUEST`. After a lost answer, read the ' +
    'balance before you ask again: each request is a credit of its own.',
  reply: faucetCreditSchema,
  codes: ['BAD_REQUEST'],
  request: schema,
  readsBody: true,
  async handle({ services, wallet, body }, write) {
    const { asset } = checked(schema, body);
    const { amount, creditsLeft } = await services.faucet!.credit(wallet, asset);
    services.wakeSettlement();
    return write.json({ asset, amount: new JsonText(amount), creditsLeft });
  },
});
