/** `POST /v1/auth/challenge`: the typed data that a wallet signs to sign in. */

import { z } from 'zod';
import { checked, type Endpoint, jsonText } from '../endpoint.ts';
import { address } from '../fields.ts';

const schema = z.object({ address });

export const postChallenge: Endpoint = {
  request: schema,
  readsBody: true,
  async handle({ services, body }) {
    const { address } = checked(schema, body);
    return jsonText(JSON.stringify(await services.auth.challenge(address)));
  },
};
