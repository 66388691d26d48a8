/** Replies of the login routes and of accepting the terms: docs/api.md 2.1 and 2.2. */

import { z } from 'zod';
import { timestamp, wallet } from './values.ts';

export const nonceText = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .meta({ description: 'single use', examples: ['9f86d081884c7d659a2feaa0c55ad015'] });

const token = z
  .string()
  .regex(/^[\w-]+\.[\w-]+\.[\w-]+$/)
  .describe('bearer token, valid eight hours');

const typedField = z.strictObject({
  name: z.enum(['address', 'nonce', 'issuedAt']),
  type: z.enum(['address', 'string']),
});

export const challengeSchema = z
  .strictObject({
    typedData: z.strictObject({
      domain: z
        .strictObject({ name: z.string(), version: z.literal('1') })
        .describe('has no chain id, because sign-in does not depend on the selected network'),
      types: z.strictObject({ Login: z.array(typedField).length(3) }),
      primaryType: z.literal('Login'),
      message: z.strictObject({ address: wallet, nonce: nonceText, issuedAt: timestamp }),
    }),
    expiresIn: z.literal('5m'),
  })
  .describe('EIP-712 typed data to sign; replaces any earlier challenge of the address.');

export const verifiedSchema = z.strictObject({ verified: z.literal(true), token });

export const siweSessionSchema = z.strictObject({ sessionToken: token });

export const acceptedTermsSchema = z.strictObject({ version: z.string().min(1), accepted: z.literal(true) });
