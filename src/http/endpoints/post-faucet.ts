/** `POST /v1/demo/faucet`: credits play money to the wallet of the session. */

import { z } from 'zod';
import type { faucetCreditSchema } from '../../contract/faucet.ts';
import { text } from '../../contract/fields.ts';
import { JsonText } from '../../domain/json.ts';
import { checked } from '../checked.ts';
import type { WalletEndpoint } from '../endpoint.ts';
import { json } from '../replies/reply.ts';

const schema = z.object({
  asset: text.meta({ description: 'an asset of the demo markets', examples: ['USDC'] }),
});

export const postFaucet: WalletEndpoint = {
  request: schema,
  readsBody: true,
  async handle({ services, wallet, body }) {
    const { asset } = checked(schema, body);
    const { amount, creditsLeft } = await services.faucet!.credit(wallet, asset);
    services.wakeSettlement();
    return json<typeof faucetCreditSchema>({ asset, amount: new JsonText(amount), creditsLeft });
  },
};
