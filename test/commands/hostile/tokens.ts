/** Sends forged tokens to protected operations. A token made by the rules proves that they fail for their fault. */

import { addressOf, ask, type Plain } from './client.ts';
import type { Scene } from './scene.ts';
import { diceOf } from './sender.ts';
import { SYMBOLS } from './target.ts';
import { FORGERY_KINDS, forgery, validForgery } from './token-forms.ts';
import { Line } from './wire.ts';
import type { SignedIn } from './world.ts';

export interface TokenCounts {
  readonly forged: number;
  readonly accepted: number;
}

/** @throws Error if a token made by the rules is refused */
export async function tryTokens(scene: Scene, victim: SignedIn, count: number): Promise<TokenCounts> {
  const { seed, api, operations, judge, findings } = scene;
  const line = new Line(api[0]!);
  const control = await ask(line, { method: 'GET', path: '/v1/orders', token: validForgery(victim) });
  if (control.status !== 200) throw new Error(`a token made by the rules is refused: ${control.text}`);
  const protectedOnes = operations.filter(({ needsSession }) => needsSession);
  // Fewer tokens than kinds are spread over all of them.
  const step = Math.max(1, FORGERY_KINDS / count);
  let accepted = 0;
  for (let number = 0; number < count; number += 1) {
    const dice = diceOf(seed, -1 - number);
    const { name, headers, query } = forgery(seed + Math.floor(number * step), victim, dice);
    const { method, path, hasBody } = dice.pick(protectedOnes);
    const place = path.replace('{address}', victim.address).replace(/\{\w+\}/, '1');
    const body = hasBody ? { market: SYMBOLS[0], side: 'buy', type: 'limit', price: 10, size: 1 } : undefined;
    const plain: Plain = { method, path: query === undefined ? place : `${place}?${query}`, headers, body };
    const reply = await ask(line, { ...plain, from: addressOf(4, number) });
    const again = (): string => `token ${number}, ${name}: ${method} ${path} ${JSON.stringify(headers)}`;
    judge.reply({ method, path: plain.path, operation: `${method} ${path}`, again }, reply);
    if (reply.status === 401) continue;
    accepted += 1;
    findings.add('no forged token is accepted', name, `${again()}: ${reply.status} ${reply.text}`);
  }
  line.close();
  return { forged: count, accepted };
}
