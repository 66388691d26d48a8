/** Plays each attack of the table small, beside the ordinary clients, which must be answered all the while. */

import { setTimeout as sleep } from 'node:timers/promises';
import { marketRules } from '../../support/market-spec.ts';
import type { Stage } from '../attacks/ground.ts';
import { play } from '../attacks/play.ts';
import { ATTACKS } from '../attacks/table.ts';
import { JWT_SECRET } from './secrets.ts';
import { HANDSHAKES_OF_LIMITED, LIMITED_STREAM, type Scene } from './target.ts';
import { judgeErrors } from './verdict.ts';

const PLAY_MS = 4_000;
/** A market that nobody else trades on. */
const MARKET = 'ATTACK/USDC';

async function openStage({ api, target, secrets }: Scene): Promise<Stage> {
  const { cluster } = target;
  const keyOf = async (name: string): Promise<string> => {
    const asked = ['key', 'create', `${name}-${Date.now()}`, '--may', 'read,credit'];
    const { key } = (await cluster.operate(...asked)) as { key: string };
    secrets.addKey(key);
    return key;
  };
  return {
    api: api[0]!,
    stream: cluster.slots.find(({ name }) => name === LIMITED_STREAM)!.port,
    operator: cluster.of('operator-api')[0]!.port,
    engineUrl: cluster.engine.url,
    queueUrl: cluster.queue.url,
    secret: JWT_SECRET,
    keys: [await keyOf('attacks'), await keyOf('honest')],
    handshakesPerMinute: HANDSHAKES_OF_LIMITED,
    market: MARKET,
  };
}

/**
 * @param text in the names of the attacks that are played
 * @returns the number of them
 */
export async function playAttacks(scene: Scene, text: string, say: (line: string) => void): Promise<number> {
  const { target, findings } = scene;
  const { cluster } = target;
  // The wallets of attacks accept no terms.
  await cluster.operate('terms', 'off');
  await cluster.operate('market', 'create', MARKET, ...marketRules('0.01', '0.0001'), '--fee-bps', '10');
  const stage = await openStage(scene);
  const attacks = ATTACKS.filter(({ name }) => name.includes(text));
  for (const { name, isOutage } of attacks) {
    const before = new Map(cluster.slots.map((slot) => [slot, cluster.processes.log(slot).length]));
    const playing = await play({ name, stage, scale: 'small' });
    await sleep(PLAY_MS);
    for (const broken of await playing.stop())
      findings.add('an attack harms only who makes it', name, broken);
    if (isOutage === undefined) judgeErrors(scene, before);
    say(`attack: ${name}`);
  }
  return attacks.length;
}
