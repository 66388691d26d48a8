/** Sends logins that the contract makes invalid. None may open a session, and the valid login must work afterwards. */

import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { LoginTypedData } from '../../../src/auth/index.ts';
import { challengeKey, type Flow } from '../../../src/auth/keys.ts';
import { ethersSigner, type Signer } from '../../auth/signers.ts';
import { type Random, random } from '../../support/seed.ts';
import { addressOf, ask, bodyOf } from './client.ts';
import {
  type Candidate,
  goodSiwe,
  goodTyped,
  type Mutation,
  SIWE_MUTATIONS,
  TYPED_MUTATIONS,
} from './login-forms.ts';
import type { Scene } from './target.ts';
import { Line, type WireReply } from './wire.ts';

export interface LoginCounts {
  invalid: number;
  /** Sessions that an invalid login opened. */
  sessions: number;
  /** Valid logins that worked. */
  valid: number;
}

/** One flow: how it hands out a challenge, and how it takes a login. */
interface Way<Challenge> {
  readonly flow: Flow;
  readonly path: string;
  readonly mutations: readonly Mutation<Challenge>[];
  challenge(line: Line, address: string, from: string): Promise<Challenge>;
  nonceOf(challenge: Challenge): string;
  good(candidate: Candidate<Challenge>): Promise<Readonly<Record<string, unknown>>>;
}

const AT_ONCE = 12;

const TYPED: Way<LoginTypedData> = {
  flow: 'eip712',
  path: '/v1/auth/verify',
  mutations: TYPED_MUTATIONS,
  async challenge(line, address, from) {
    const reply = await ask(line, { method: 'POST', path: '/v1/auth/challenge', body: { address }, from });
    return bodyOf(reply).typedData as LoginTypedData;
  },
  nonceOf: ({ message }) => message.nonce,
  good: goodTyped,
};

const SIWE: Way<string> = {
  flow: 'siwe',
  path: '/api/auth/verify',
  mutations: SIWE_MUTATIONS,
  async challenge(line, address, from) {
    return (await ask(line, { method: 'GET', path: `/api/auth/nonce?address=${address}`, from })).text;
  },
  nonceOf: (nonce) => nonce,
  good: goodSiwe,
};

/** Number of different mutations. */
const MUTATIONS = TYPED.mutations.length + SIWE.mutations.length;

/** A key of its own for each login, the same in each run of a seed. */
export const keyOf = (seed: number, index: number, whose: string): string =>
  `0x${createHash('sha256').update(`hostile ${seed} ${index} ${whose}`).digest('hex')}`;

/** Sends this many invalid logins. Fewer than there are mutations are spread over all of them. */
export async function tryLogins(scene: Scene, count: number): Promise<LoginCounts> {
  const counts: LoginCounts = { invalid: 0, sessions: 0, valid: 0 };
  const step = Math.max(1, MUTATIONS / count);
  let next = 0;
  const work = async (port: number): Promise<void> => {
    const line = new Line(port);
    while (next < count) {
      next += 1;
      await tryLogin(line, scene.seed + Math.floor(next * step), scene, counts);
    }
    line.close();
  };
  const { api } = scene;
  await Promise.all(Array.from({ length: AT_ONCE }, (_none, index) => work(api[index % api.length]!)));
  return counts;
}

async function tryLogin(line: Line, index: number, scene: Scene, counts: LoginCounts): Promise<void> {
  const place = index % MUTATIONS;
  const typed = TYPED.mutations[place];
  if (typed !== undefined) await tryMutation(line, index, TYPED, typed, scene, counts);
  else await tryMutation(line, index, SIWE, SIWE.mutations[place - TYPED.mutations.length]!, scene, counts);
}

async function tryMutation<Challenge>(
  line: Line,
  index: number,
  way: Way<Challenge>,
  mutation: Mutation<Challenge>,
  scene: Scene,
  counts: LoginCounts,
): Promise<void> {
  const { seed, findings, secrets, target, judge } = scene;
  const privateKey = keyOf(seed, index, 'own');
  const signer = ethersSigner(privateKey);
  const from = addressOf(2, index);
  const challenge = await way.challenge(line, signer.address, from);
  const stranger: Signer = ethersSigner(keyOf(seed, index, 'stranger'));
  const dice: Random = random(seed + index);
  const candidate = { signer, stranger, privateKey, challenge, dice };
  const send = async (body: object): Promise<WireReply> => {
    secrets.addSignature(String((body as { signature?: unknown }).signature));
    secrets.addNonce(way.nonceOf(challenge));
    const reply = await ask(line, { method: 'POST', path: way.path, body, from });
    judge.login(way.path, reply);
    return reply;
  };
  const body = await mutation.make(candidate);
  if (mutation.before === 'used') await send(body);
  if (mutation.before === 'replaced') await way.challenge(line, signer.address, from);
  if (mutation.before === 'expired') await expire(target.cluster.queueRedis, way.flow, signer.address);
  const reply = await send(body);
  counts.invalid += 1;
  const again = `--seed ${seed}, login ${index}: POST ${way.path} ${JSON.stringify(body).slice(0, 1_500)}`;
  if (isSession(reply)) {
    counts.sessions += 1;
    findings.add('no invalid login opens a session', `${way.flow}: ${mutation.name}`, again);
  } else if (reply.status !== 400 && reply.status !== 401)
    findings.add('an invalid login is refused', `${way.flow}: ${mutation.name}: ${reply.status}`, again);
  if (mutation.before !== undefined) return;
  const accepted = await send(await way.good(candidate));
  if (isSession(accepted)) counts.valid += 1;
  else findings.add('a refused login leaves the challenge as it is', `${way.flow}: ${mutation.name}`, again);
}

const isSession = ({ status, text }: WireReply): boolean => status === 200 || /"(sessionT|t)oken"/.test(text);

/** Makes a challenge five minutes older: Redis keeps the record, and its time to live tells its age. */
async function expire(redis: Redis, flow: Flow, address: string): Promise<void> {
  const key = challengeKey(flow, address.toLowerCase());
  const leftMs = await redis.pttl(key);
  await redis.pexpire(key, leftMs - 5 * 60_000);
}
