/** `POST /v1/auth/challenge`: issues the typed data that a wallet signs to sign in. */

import type { challengeSchema } from '../../contract/login.ts';
import { challengeRequest } from '../../contract/requests.ts';
import { checked } from '../checked.ts';
import type { Endpoint } from '../endpoint.ts';
import { json } from '../replies/reply.ts';

export const postChallenge: Endpoint = {
  request: challengeRequest,
  readsBody: true,
  async handle({ services, body }) {
    const { address } = checked(challengeRequest, body);
    return json<typeof challengeSchema>(await services.auth.challenge(address));
  },
};
