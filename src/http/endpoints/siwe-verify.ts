/** `POST /api/auth/verify`: a signed SIWE message for a session. */

import { checked, type Endpoint, json } from '../endpoint.ts';
import { address, body, text } from '../fields.ts';

const schema = body({ address, message: text, signature: text });

export const postSiweVerify: Endpoint = {
  readsBody: true,
  async handle({ services, body }) {
    const { address, message, signature } = checked(schema, body);
    return json(await services.auth.verifySiwe(address, message, signature));
  },
};
