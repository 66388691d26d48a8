/** Signs in with the same signature at all replicas at once: at most one session comes of a nonce. */

import { Agent } from 'node:http';
import type { LoginTypedData } from '../../../src/auth/index.ts';
import { ethersSigner } from '../../auth/signers.ts';
import { type Repeated, repeated } from './repeated.ts';
import { addressOf, ask, unlessBroken } from './wallet.ts';

const EVERY_MS = 1_500;
/** Verifications of one signature at each replica. */
const TOGETHER = 3;
const ADDRESSES = 200;
/** Sign-ins of one address, so that none is refused by its limit. */
const CHALLENGES = 40;
const MAX_CHALLENGES = 30;

export interface SignInRace extends Repeated {
  /**
   * While every process answers: one nonce gives exactly one session, and one new address is served as many challenges
   * as a minute may have, over all replicas.
   */
  probe(): Promise<void>;
}

export function openSignInRace(
  ports: readonly number[],
  onViolation: (invariant: string, detail: string) => void,
): SignInRace {
  const signer = ethersSigner();
  const { address } = signer;
  let turn = 0;
  const caller = (): { agent: Agent; token: string } => {
    turn += 1;
    return { agent: new Agent({ keepAlive: true, localAddress: addressOf(2, turn % ADDRESSES) }), token: '' };
  };

  /** @returns the sessions that came of one nonce; undefined when no challenge came */
  const race = async (): Promise<number | undefined> => {
    const one = caller();
    let sessions: number | undefined;
    const port = ports[turn % ports.length]!;
    const challenge = await unlessBroken(ask(port, one, 'POST', '/v1/auth/challenge', { address }));
    if (challenge?.status === 200) {
      const signature = await signer.signTyped(challenge.body.typedData as LoginTypedData);
      const body = { address, signature };
      const asked = ports.flatMap((port) => Array<number>(TOGETHER).fill(port));
      const replies = await Promise.all(
        asked.map((port) => unlessBroken(ask(port, one, 'POST', '/v1/auth/verify', body))),
      );
      sessions = replies.filter((reply) => reply?.status === 200).length;
      if (sessions > 1) onViolation('nonces', `${sessions} sessions came of one nonce`);
    }
    one.agent.destroy();
    return sessions;
  };
  return {
    ...repeated(EVERY_MS, async () => void (await race())),
    async probe() {
      const sessions = await race();
      if (sessions !== 1) onViolation('nonces', `${sessions} sessions came of one nonce while all was well`);
      turn += 1;
      const agent = new Agent({ keepAlive: true, localAddress: addressOf(3, turn) });
      const asked = Array.from({ length: CHALLENGES }, (_none, index) => ports[index % ports.length]!);
      const replies = await Promise.all(
        asked.map((port) =>
          unlessBroken(ask(port, { agent, token: '' }, 'POST', '/v1/auth/challenge', { address })),
        ),
      );
      const served = replies.filter((reply) => reply?.status === 200).length;
      if (served !== MAX_CHALLENGES)
        onViolation('limits', `${served} challenges were served to one address at once`);
      agent.destroy();
    },
  };
}
