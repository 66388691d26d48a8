/** `POST /api/auth/verify`: a signed SIWE message for a session. */

import { z } from 'zod';
import { checked, type Endpoint, json } from '../endpoint.ts';
import { address, signature, text } from '../fields.ts';

const schema = z.object({ address, message: text, signature });

export const postSiweVerify: Endpoint = {
  request: schema,
  readsBody: true,
  async handle({ services, body }) {
    const { address, message, signature } = checked(schema, body);
    return json(await services.auth.verifySiwe(address, message, signature));
  },
};
