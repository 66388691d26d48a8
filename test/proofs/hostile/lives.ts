/** Movements that custody begins, so that hostile requests find one in each state that a next step ends. */

import { ask } from './client.ts';
import { Line, type WireReply } from './wire.ts';
import type { SignedIn } from './world.ts';

const reason = 'hostile';
const LARGE_AMOUNT = '2';
const STATES = ['pending', 'announced', 'waiting'] as const;

/** The newest reference in each state that a next step ends. */
export interface Unfinished {
  pending: string;
  announced: string;
  waiting: { readonly reference: string; readonly askedAt: string };
}

/** Begins lives whose next steps hostile requests take: withdrawals, announced deposits, movements that wait. */
export class Lives {
  readonly #port: number;
  readonly #owner: SignedIn;
  readonly #askingKey: string;

  /** @param askingKey may not make a movement of LARGE_AMOUNT alone, and sends no hostile request */
  constructor(port: number, owner: SignedIn, askingKey: string) {
    this.#port = port;
    this.#owner = owner;
    this.#askingKey = askingKey;
  }

  async first(): Promise<Unfinished> {
    const begun: Partial<Unfinished> = {};
    for (const name of STATES) await this.#begin[name](begun, 'first');
    for (const name of STATES) if (begun[name] === undefined) throw new Error(`nothing is ${name}`);
    return begun as Unfinished;
  }

  /** Begins one life. An earlier one stays the newest if this one is refused. */
  begin = (unfinished: Unfinished, turn: number): Promise<void> =>
    this.#begin[STATES[turn % STATES.length]!](unfinished, `${turn}`);

  readonly #begin: Readonly<
    Record<keyof Unfinished, (into: Partial<Unfinished>, name: string) => Promise<void>>
  > = {
    pending: async (into, name) => {
      const reference = `pending-${name}`;
      if (await this.#isMade('/withdrawals', { reference, ...this.#money('1') })) into.pending = reference;
    },
    announced: async (into, name) => {
      const reference = `announced-${name}`;
      if (await this.#isMade('/deposits', { reference, ...this.#money('1') })) into.announced = reference;
    },
    waiting: async (into, name) => {
      const reference = `waiting-${name}`;
      const movement = { reference, kind: 'deposit', ...this.#money(LARGE_AMOUNT) };
      await this.#ask('POST', '/movements', this.#askingKey, { movements: [movement] });
      const { text } = await this.#ask('GET', '/approvals?order=desc', this.#askingKey);
      const found = (JSON.parse(text).movements as Unfinished['waiting'][]).find(
        (one) => one.reference === reference,
      );
      if (found !== undefined) into.waiting = { reference, askedAt: found.askedAt };
    },
  };

  #money = (amount: string): object => ({ wallet: this.#owner.address, asset: 'USDC', amount, reason });

  async #isMade(path: string, body: object): Promise<boolean> {
    const { status } = await this.#ask('POST', path, this.#owner.token, body);
    return status === 201;
  }

  async #ask(method: string, path: string, token: string, body?: object): Promise<WireReply> {
    const line = new Line(this.#port);
    const reply = await ask(line, { method, path: `/operator/v1${path}`, token, body });
    line.close();
    return reply;
  }
}
