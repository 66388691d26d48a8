/** Keys of sign-in in Redis, built here alone. */

import { TAG } from '../redis/tag.ts';

/** The two ways to sign in. Each keeps its own challenge for a wallet, so neither can replace the other's. */
export type Flow = 'eip712' | 'siwe';

/** Holds the current challenge of a wallet in one flow, a string. */
export const challengeKey = (flow: Flow, wallet: string): string => `${TAG}:login:${flow}:${wallet}`;
