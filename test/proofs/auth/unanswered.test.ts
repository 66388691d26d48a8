/**
 * Proves that sign-in goes on while a million unanswered challenges lie in Redis. It prints the bytes of a challenge and
 * the time of a sign-in.
 */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { CHALLENGE_LIFETIME_MS } from '../../../src/auth/challenges.ts';
import type { Auth } from '../../../src/auth/index.ts';
import { challengeKey } from '../../../src/auth/keys.ts';
import { type AuthFixture, openSignIn } from '../../auth/fixture.ts';
import { ethersSigner, loginText } from '../../auth/signers.ts';
import { eventually } from '../../support/eventually.ts';

const CHALLENGES = 1_000_000;
const OF_SCRIPT = 20_000;
const SIGN_INS = 100;
/** Bytes that `docs/hostile-input.md` gives for a challenge, with some room for another allocator. */
const MAX_BYTES = 300;

/** Leaves records of wallets in the form that `issueChallenge` writes. */
const ISSUE = `
  for index = tonumber(ARGV[2]), tonumber(ARGV[3]) - 1 do
    redis.call('SET', string.format('%s0x%040x', ARGV[1], index), ARGV[4], 'PX', ARGV[5])
  end`;

describe('a million unanswered challenges', function () {
  this.timeout(300_000);
  let fixture: AuthFixture;
  let auth: Auth;

  before(async () => {
    fixture = await openSignIn();
    auth = fixture.open();
  });
  after(() => fixture.close());

  const usedBytes = async (): Promise<number> =>
    Number(/^used_memory:(\d+)/m.exec(await fixture.redis.info('memory'))![1]);

  const issue = async (lifetimeMs: number): Promise<void> => {
    const record = `${randomBytes(16).toString('hex')} ${new Date().toISOString()}`;
    for (let from = 0; from < CHALLENGES; from += OF_SCRIPT)
      await fixture.redis.eval(
        ISSUE,
        0,
        challengeKey('eip712', ''),
        from,
        from + OF_SCRIPT,
        record,
        lifetimeMs,
      );
  };

  /** Signs new wallets in by both flows, and tells the times of the first one with the client's signature. */
  const signIn = async (): Promise<string> => {
    const times: number[] = [];
    for (let index = 0; index < SIGN_INS; index += 1) {
      const signer = ethersSigner();
      const { address } = signer;
      const beganMs = performance.now();
      const { typedData } = await auth.challenge(address);
      const { token } = await auth.verify(address, await signer.signTyped(typedData));
      times.push(performance.now() - beganMs);
      expect(auth.session(`Bearer ${token}`).wallet).to.equal(address.toLowerCase());
      const message = loginText({ address, nonce: await auth.nonce(address) });
      const { sessionToken } = await auth.verifySiwe(address, message, await signer.signText(message));
      expect(auth.session(`Bearer ${sessionToken}`).wallet).to.equal(address.toLowerCase());
    }
    times.sort((one, other) => one - other);
    return `p50 ${times[SIGN_INS / 2]!.toFixed(1)} ms, slowest ${times.at(-1)!.toFixed(1)} ms`;
  };

  it('cost some hundred bytes each for five minutes, and delay no sign-in', async () => {
    await auth.challenge(ethersSigner().address);
    const [issued] = await fixture.redis.keys(challengeKey('eip712', '*'));
    expect(await fixture.redis.pttl(issued!)).to.be.within(1, CHALLENGE_LIFETIME_MS);
    const alone = await signIn();
    const before = await usedBytes();
    await issue(CHALLENGE_LIFETIME_MS);
    const bytes = ((await usedBytes()) - before) / CHALLENGES;
    const beside = await signIn();
    console.log(`      ${bytes.toFixed(0)} bytes a challenge`);
    console.log(`      a sign-in alone: ${alone}; beside ${CHALLENGES} challenges: ${beside}`);
    expect(bytes).to.be.at.most(MAX_BYTES);
    expect(await fixture.redis.dbsize()).to.be.at.least(CHALLENGES);
  });

  it('go on their own, while sign-in goes on', async () => {
    await issue(1);
    console.log(`      a sign-in while they expire: ${await signIn()}`);
    const left = async (): Promise<number> => fixture.redis.dbsize();
    await eventually('all have expired', async () => (await left()) < CHALLENGES / 1_000, 120_000, 200);
  });
});
