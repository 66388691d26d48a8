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
const MOST_CHALLENGES = 30;

export interface SignInRace extends Repeated {
  /** Asks for more challenges from one new address than a minute may have, at all replicas. */
  probeLimit(): Promise<void>;
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

  const race = async (): Promise<void> => {
    const one = caller();
    const challenge = await unlessBroken(ask(ports[0]!, one, 'POST', '/v1/auth/challenge', { address }));
    if (challenge?.status === 200) {
      const signature = await signer.signTyped(challenge.body.typedData as LoginTypedData);
      const body = { address, signature };
      const asked = ports.flatMap((port) => Array<number>(TOGETHER).fill(port));
      const replies = await Promise.all(
        asked.map((port) => unlessBroken(ask(port, one, 'POST', '/v1/auth/verify', body))),
      );
      const sessions = replies.filter((reply) => reply?.status === 200).length;
      if (sessions > 1) onViolation('nonces', `${sessions} sessions came of one nonce`);
    }
    one.agent.destroy();
  };
  return {
    ...repeated(EVERY_MS, race),
    async probeLimit() {
      turn += 1;
      const agent = new Agent({ keepAlive: true, localAddress: addressOf(3, turn) });
      const asked = Array.from({ length: CHALLENGES }, (_none, index) => ports[index % ports.length]!);
      const replies = await Promise.all(
        asked.map((port) =>
          unlessBroken(ask(port, { agent, token: '' }, 'POST', '/v1/auth/challenge', { address })),
        ),
      );
      const served = replies.filter((reply) => reply?.status === 200).length;
      if (served > MOST_CHALLENGES)
        onViolation('limits', `${served} challenges were served to one address at once`);
      agent.destroy();
    },
  };
}
