/** `POST /v1/auth/challenge`: the typed data that a wallet signs to sign in. */

import { checked, type Endpoint, jsonText } from '../endpoint.ts';
import { address, body } from '../fields.ts';

const schema = body({ address });

export const postChallenge: Endpoint = {
  readsBody: true,
  async handle({ services, body }) {
    const { address } = checked(schema, body);
    return jsonText(JSON.stringify(await services.auth.challenge(address)));
  },
};
