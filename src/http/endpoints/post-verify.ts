/** `POST /v1/auth/verify`: exchanges a signed challenge for a session. */

import { checked } from '../../contract/checked.ts';
import { verifiedSchema } from '../../contract/login.ts';
import { verifyRequest } from '../../contract/requests.ts';
import { openRoute } from '../route.ts';

export const postVerify = openRoute({
  method: 'POST',
  path: '/v1/auth/verify',
  caller: 'login',
  bucket: 'verify',
  id: 'verifyChallenge',
  tag: 'Login',
  summary: 'Exchanges a signed challenge for a session',
  description:
    'A wrong signature, and a challenge that was used, replaced or is more than five minutes old, answer ' +
    '`BAD_REQUEST`. The message names the reason where the signature shows one: its form, or an empty ' +
    '`EIP712Domain`. A refused signature leaves the challenge as it is.',
  reply: verifiedSchema,
  codes: ['BAD_REQUEST'],
  request: verifyRequest,
  readsBody: true,
  async handle({ services, body }, write) {
    const { address, signature } = checked(verifyRequest, body);
    return write.json(await services.auth.verify(address, signature));
  },
});
