/** `POST /v1/auth/verify`: a signed challenge for a session. */

import { z } from 'zod';
import { checked, type Endpoint, json } from '../endpoint.ts';
import { address, signature } from '../fields.ts';

const schema = z.object({ address, signature });

export const postVerify: Endpoint = {
  request: schema,
  readsBody: true,
  async handle({ services, body }) {
    const { address, signature } = checked(schema, body);
    return json(await services.auth.verify(address, signature));
  },
};
