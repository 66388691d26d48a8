/** `GET` and `POST /api/auth/nonce`: issues the nonce of a SIWE message, as plain text. */

import { checked } from '../../contract/checked.ts';
import { address } from '../../contract/fields.ts';
import { nonceText } from '../../contract/login.ts';
import { siweNonceRequest } from '../../contract/requests.ts';
import { plainText } from '../replies/reply.ts';
import { openRoute } from '../route.ts';

const SIWE_NONCE = {
  path: '/api/auth/nonce',
  caller: 'login',
  bucket: 'challenge',
  tag: 'Login',
  summary: 'Issues a nonce for a SIWE message',
  description:
    'The nonce is valid for one login within five minutes. It replaces any earlier nonce of the address.',
  reply: nonceText,
  contentType: 'text/plain',
  codes: ['VALIDATION_ERROR'],
  request: siweNonceRequest,
} as const;

export const getSiweNonce = openRoute({
  method: 'GET',
  id: 'getSiweNonce',
  ...SIWE_NONCE,
  async handle({ services, query }) {
    const { address } = checked(siweNonceRequest, query);
    return plainText(await services.auth.nonce(address));
  },
});

/** Takes the address from the query, as GET does. Reads the body only if the query has no address. */
export const postSiweNonce = openRoute({
  method: 'POST',
  id: 'postSiweNonce',
  ...SIWE_NONCE,
  parameters: { address: address.optional() },
  bodyIsOptional: true,
  readsBody: true,
  async handle({ services, query, body }) {
    const { address } = checked(siweNonceRequest, query.address === undefined ? body : query);
    return plainText(await services.auth.nonce(address));
  },
});
