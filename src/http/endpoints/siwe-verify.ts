/** `POST /api/auth/verify`: exchanges a signed SIWE message for a session. */

import type { siweSessionSchema } from '../../contract/login.ts';
import { siweVerifyRequest } from '../../contract/requests.ts';
import { checked } from '../checked.ts';
import type { Endpoint } from '../endpoint.ts';
import { json } from '../replies/reply.ts';

export const postSiweVerify: Endpoint = {
  request: siweVerifyRequest,
  readsBody: true,
  async handle({ services, body }) {
    const { address, message, signature } = checked(siweVerifyRequest, body);
    return json<typeof siweSessionSchema>(await services.auth.verifySiwe(address, message, signature));
  },
};
