/** `POST /v1/account/terms`: accepts the required version of the terms. */

import { checked } from '../../contract/checked.ts';
import { acceptedTermsSchema } from '../../contract/login.ts';
import { termsRequest } from '../../contract/requests.ts';
import { codesOf, walletRoute } from '../route.ts';

export const postTerms = walletRoute({
  method: 'POST',
  path: '/v1/account/terms',
  id: 'acceptTerms',
  tag: 'Trading',
  summary: 'Accepts the required version of the terms',
  reply: acceptedTermsSchema,
  codes: codesOf('accepting terms'),
  request: termsRequest,
  readsBody: true,
  async handle({ services, wallet, body }, write) {
    const { version } = checked(termsRequest, body);
    await services.engine.switches.acceptTerms(wallet, version);
    services.wakeSettlement();
    return write.json({ version, accepted: true });
  },
});
