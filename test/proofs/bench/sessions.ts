/** Sessions of wallets, which every release accepts. */

import { openSessions } from '../../../src/auth/session.ts';

export const SECRET = 'a secret of the bench, and of nothing else';

const sessions = openSessions({
  issuer: 'Redbook',
  secret: SECRET,
  previousSecret: undefined,
  nowMs: Date.now,
});

/** Authorization header with a session of the wallet. */
export const bearerOf = (wallet: string): string => `Bearer ${sessions.issue(wallet)}`;
