/** Builds the Redis keys of sign-in. No other file builds them. */

import { TAG } from '../redis/tag.ts';

/** The two ways to sign in. Each has its own challenge per wallet, so neither replaces the other's. */
export type Flow = 'eip712' | 'siwe';

/** Key of a wallet's current challenge in one flow, a string. */
export const challengeKey = (flow: Flow, wallet: string): string => `${TAG}:login:${flow}:${wallet}`;
