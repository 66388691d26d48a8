/** Proves that every mutated login and every forged token of the command is refused, by the sign-in itself on a Redis. */

import { expect } from 'chai';
import type { LoginTypedData } from '../../../src/auth/index.ts';
import { checked } from '../../../src/contract/checked.ts';
import { siweVerifyRequest, verifyRequest } from '../../../src/contract/requests.ts';
import { type AuthFixture, openSignIn, outcome } from '../../auth/fixture.ts';
import { ethersSigner } from '../../auth/signers.ts';
import { random, runSeed } from '../../support/seed.ts';
import {
  type Candidate,
  goodSiwe,
  goodTyped,
  type Mutation,
  SIWE_MUTATIONS,
  TYPED_MUTATIONS,
} from './login-forms.ts';
import { keyOf } from './logins.ts';
import { JWT_SECRET } from './secrets.ts';
import { FORGERY_KINDS, forgery, validForgery } from './tokens.ts';

type Body = Readonly<Record<string, unknown>>;

describe('the forms of hostile logins and tokens', () => {
  let fixture: AuthFixture;
  let auth: ReturnType<AuthFixture['open']>;

  before(async () => {
    fixture = await openSignIn();
    auth = fixture.open({ jwtSecret: JWT_SECRET });
  });

  after(() => fixture.close());

  // The routes hold bodies against the same schemas before the sign-in sees them.
  const ofTyped = async (body: Body) => {
    const { address, signature } = checked(verifyRequest, body);
    return auth.verify(address, signature);
  };
  const ofSiwe = async (body: Body) => {
    const { address, message, signature } = checked(siweVerifyRequest, body);
    return auth.verifySiwe(address, message, signature);
  };

  /** Sends each mutation, and the valid login behind it. */
  async function tryAll<Challenge>(
    flow: 'eip712' | 'siwe',
    mutations: readonly Mutation<Challenge>[],
    issue: (address: string) => Promise<Challenge>,
    good: (candidate: Candidate<Challenge>) => Promise<Body>,
    verify: (body: Body) => Promise<unknown>,
  ): Promise<void> {
    for (const [index, mutation] of mutations.entries()) {
      const privateKey = keyOf(runSeed(), index, flow);
      const signer = ethersSigner(privateKey);
      const stranger = ethersSigner(keyOf(runSeed(), index, 'stranger'));
      const challenge = await issue(signer.address);
      const candidate = { signer, stranger, privateKey, challenge, dice: random(runSeed() + index) };
      const body = await mutation.make(candidate);
      if (mutation.before === 'used') expect(await outcome(verify(body))).to.equal('session');
      if (mutation.before === 'replaced') await issue(signer.address);
      if (mutation.before === 'expired') await fixture.age(flow, signer.address, 5 * 60_000);
      expect(await outcome(verify(body)), mutation.name).to.not.equal('session');
      if (mutation.before !== undefined) continue;
      const behind = await outcome(verify(await good(candidate)));
      expect(behind, `the valid login after: ${mutation.name}`).to.equal('session');
    }
  }

  it('open no session by typed data, and leave the challenge valid', () => {
    const issue = async (address: string): Promise<LoginTypedData> =>
      (await auth.challenge(address)).typedData;
    return tryAll('eip712', TYPED_MUTATIONS, issue, goodTyped, ofTyped);
  });

  it('open no session by a SIWE message, and leave the nonce valid', () =>
    tryAll('siwe', SIWE_MUTATIONS, (address) => auth.nonce(address), goodSiwe, ofSiwe));

  it('are rejected as session tokens, while a valid token is accepted', async () => {
    const { address } = ethersSigner(keyOf(runSeed(), 0, 'victim'));
    const victim = { address: address.toLowerCase(), token: '' };
    victim.token = validForgery(victim);
    expect(auth.session(`Bearer ${victim.token}`)).to.deep.equal({ wallet: victim.address });
    for (let number = 0; number < FORGERY_KINDS; number += 1) {
      const { name, headers } = forgery(number, victim, random(runSeed() + number));
      const carried = headers.find((line) => line.startsWith('Authorization: '));
      const read = async () => auth.session(carried?.slice('Authorization: '.length));
      expect(await outcome(read()), name).to.equal('UNAUTHORIZED');
    }
  });
});
