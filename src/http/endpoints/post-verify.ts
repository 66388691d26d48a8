/** `POST /v1/auth/verify`: exchanges a signed challenge for a session. */

import type { verifiedSchema } from '../../contract/login.ts';
import { verifyRequest } from '../../contract/requests.ts';
import { checked } from '../checked.ts';
import type { Endpoint } from '../endpoint.ts';
import { json } from '../replies/reply.ts';

export const postVerify: Endpoint = {
  request: verifyRequest,
  readsBody: true,
  async handle({ services, body }) {
    const { address, signature } = checked(verifyRequest, body);
    return json<typeof verifiedSchema>(await services.auth.verify(address, signature));
  },
};
