/** `GET` and `POST /api/auth/nonce`: issues the nonce of a SIWE message, as plain text. */

import { siweNonceRequest } from '../../contract/requests.ts';
import { checked } from '../checked.ts';
import type { Endpoint } from '../endpoint.ts';
import { plainText } from '../replies/reply.ts';

export const getSiweNonce: Endpoint = {
  request: siweNonceRequest,
  async handle({ services, query }) {
    const { address } = checked(siweNonceRequest, query);
    return plainText(await services.auth.nonce(address));
  },
};

/** Takes the address from the query, as GET does. Reads the body only if the query has no address. */
export const postSiweNonce: Endpoint = {
  request: siweNonceRequest,
  readsBody: true,
  async handle({ services, query, body }) {
    const { address } = checked(siweNonceRequest, query.address === undefined ? body : query);
    return plainText(await services.auth.nonce(address));
  },
};
