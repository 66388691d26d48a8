/** `POST /api/auth/verify`: exchanges a signed SIWE message for a session. */

import { checked } from '../../contract/checked.ts';
import { siweSessionSchema } from '../../contract/login.ts';
import { siweVerifyRequest } from '../../contract/requests.ts';
import { codesOf, openRoute } from '../route.ts';

export const postSiweVerify = openRoute({
  method: 'POST',
  path: '/api/auth/verify',
  caller: 'login',
  bucket: 'verify',
  id: 'verifySiwe',
  tag: 'Login',
  summary: 'Exchanges a signed SIWE message for a session',
  description:
    'The message is an EIP-4361 text, signed by `personal_sign`: it names a web host of the service, the address ' +
    'and its current nonce. Checked in the order of the codes below; the nonce is used up last.',
  reply: siweSessionSchema,
  codes: codesOf('SIWE login'),
  request: siweVerifyRequest,
  readsBody: true,
  async handle({ services, body }, write) {
    const { address, message, signature } = checked(siweVerifyRequest, body);
    return write.json(await services.auth.verifySiwe(address, message, signature));
  },
});
