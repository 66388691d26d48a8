/** `POST /v1/auth/challenge`: issues the typed data that a wallet signs to sign in. */

import { checked } from '../../contract/checked.ts';
import { challengeSchema } from '../../contract/login.ts';
import { challengeRequest } from '../../contract/requests.ts';
import { openRoute } from '../route.ts';

/** Ends with an empty line, because the limit of the route is appended. */
const DIRECT_CALL = `\`\`\`js
const EIP712Domain = [{ name: 'name', type: 'string' }, { name: 'version', type: 'string' }];
const types = { EIP712Domain, Login: typedData.types.Login }; // the domain and the login, nothing else
const payload = { ...typedData, types, primaryType: 'Login' };
const params = [address, JSON.stringify(payload)];
const signature = await ethereum.request({ method: 'eth_signTypedData_v4', params });
\`\`\`

`;

export const postChallenge = openRoute({
  method: 'POST',
  path: '/v1/auth/challenge',
  caller: 'login',
  bucket: 'challenge',
  id: 'issueChallenge',
  tag: 'Login',
  summary: 'Issues typed data to sign in with',
  description:
    'Sign `typedData` as EIP-712 data within five minutes, and post the signature to `/v1/auth/verify`. ethers and ' +
    'viem take `domain`, `types` and `message` as they are. A wallet that is called directly (EIP-1193, ' +
    '`eth_signTypedData_v4`) also needs the type of the domain: without it, the wallet signs an empty domain, and ' +
    'the signature is refused.\n\n' +
    DIRECT_CALL,
  reply: challengeSchema,
  request: challengeRequest,
  readsBody: true,
  async handle({ services, body }, write) {
    const { address } = checked(challengeRequest, body);
    return write.json(await services.auth.challenge(address));
  },
});
