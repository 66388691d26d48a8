/** `POST /v1/account/terms`: accepts the required version of the terms. */

import type { acceptedTermsSchema } from '../../contract/login.ts';
import { termsRequest } from '../../contract/requests.ts';
import { checked } from '../checked.ts';
import type { WalletEndpoint } from '../endpoint.ts';
import { json } from '../replies/reply.ts';

export const postTerms: WalletEndpoint = {
  request: termsRequest,
  readsBody: true,
  async handle({ services, wallet, body }) {
    const { version } = checked(termsRequest, body);
    await services.engine.switches.acceptTerms(wallet, version);
    services.wakeSettlement();
    return json<typeof acceptedTermsSchema>({ version, accepted: true });
  },
};
