/** `GET` and `POST /api/auth/nonce`: the nonce of a SIWE message, as plain text. */

import { z } from 'zod';
import { checked, type Endpoint, plainText } from '../endpoint.ts';
import { address } from '../fields.ts';

const schema = z.object({ address });

export const getSiweNonce: Endpoint = {
  request: schema,
  async handle({ services, query }) {
    const { address } = checked(schema, query);
    return plainText(await services.auth.nonce(address));
  },
};

/** Takes the address from the query like GET, or from a body; the body is looked at only without it. */
export const postSiweNonce: Endpoint = {
  request: schema,
  readsBody: true,
  async handle({ services, query, body }) {
    const { address } = checked(schema, query.address === undefined ? body : query);
    return plainText(await services.auth.nonce(address));
  },
};
