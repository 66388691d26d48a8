/** `POST /v1/auth/challenge`: issues the typed data that a wallet signs to sign in. */

import { challengeRequest } from '../../contract/requests.ts';
import { checked, type Endpoint, jsonText } from '../endpoint.ts';

export const postChallenge: Endpoint = {
  request: challengeRequest,
  readsBody: true,
  async handle({ services, body }) {
    const { address } = checked(challengeRequest, body);
    return jsonText(JSON.stringify(await services.auth.challenge(address)));
  },
};
