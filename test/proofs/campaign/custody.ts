/**
 * A custody system: books deposits and withdrawals, several in a request, announces deposits before they arrive, and
 * takes, pays and returns withdrawals, with a key at both replicas of operator-api. It repeats much of what it asked,
 * at the other replica or at both at once.
 */

import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Reply } from '../../support/http-exchange.ts';
import { type Random, random } from '../../support/seed.ts';
import type { Cluster } from './cluster.ts';
import type { Driver } from './driver.ts';
import { type Movement, nameOf, type Outcome } from './journal.ts';
import { type Repeated, repeated } from './repeated.ts';
import { ask, unlessBroken } from './wallet.ts';

/** Names of its keys begin with it, and so do its references. */
export const CUSTODY = 'custody-';
/** So low that each round reaches it. The cap of other assets is out of reach. */
const CAPPED = { asset: 'USDC', perDay: 60 };
const RIGHTS = 'credit,debit,pay,read';
const PAUSE_MS = 60;
const MAX_TOGETHER = 8;
/** Answered movements of a round that are repeated, and read at rest. */
const MAX_RECENT = 40;
const SHY_MS = 250;
const STEP_TRIES = 20;
const REASON = 'the campaign';

const KNOWN_REFUSALS: ReadonlySet<unknown> = new Set([
  'INSUFFICIENT_BALANCE',
  'CAP_EXCEEDED',
  'UNKNOWN_WITHDRAWAL',
  'UNKNOWN_DEPOSIT',
]);
/** States after the steps of withdrawals and deposits. */
const STATES: Readonly<Partial<Record<Movement['kind'], string>>> = {
  request: 'pending',
  confirm: 'confirmed',
  return: 'returned',
  announce: 'announced',
  arrive: 'credited',
  drop: 'dropped',
};
const CONFLICT: ReadonlySet<unknown> = new Set(['REFERENCE_CONFLICT']);
/** A step that only the one who took a withdrawal may make. */
const UNDER_WAY: ReadonlySet<unknown> = new Set(['PAYMENT_UNDER_WAY']);
const TAKER = 'the payer';
const OTHER_TAKER = 'another payer';
const TAKE_MS = 3_600_000;

interface Asked {
  readonly wallet: number;
  readonly movement: Movement;
}

/** The answer of a replica for one movement. */
type Answer =
  | { readonly is: 'ok'; readonly status: number; readonly body: Record<string, unknown> }
  | { readonly is: 'refused'; readonly code: string }
  | { readonly is: 'unknown'; readonly why: string };

export interface Custody extends Omit<Repeated, 'begin'> {
  /** Makes a new key, because that of the last round has reached its cap. */
  begin(): Promise<void>;
  /** Asks for a movement of this or an earlier round once more. */
  ask(wallet: number, movement: Movement): Promise<Outcome>;
  /** Reads a path of the routes for operators at each replica. */
  read(path: string): Promise<(Reply | undefined)[]>;
  /** Movements of this round that were answered. */
  readonly recent: readonly Asked[];
  /** Answers may not hold any more. */
  forget(): void;
  close(): void;
}

/** Returns undefined in a cluster without an operator-api. */
export function openCustody(
  cluster: Cluster,
  driver: Driver,
  seed: number,
  onViolation: (invariant: string, detail: string) => void,
): Custody | undefined {
  const ports = cluster.of('operator-api').map(({ port }) => port);
  return ports.length === 0
    ? undefined
    : new Desk({ cluster, driver, ports, onViolation, dice: random(seed) });
}

interface DeskParts {
  readonly cluster: Cluster;
  readonly driver: Driver;
  readonly ports: readonly number[];
  readonly dice: Random;
  readonly onViolation: (invariant: string, detail: string) => void;
}

/** Returns the next step of a withdrawal or deposit. */
const stepOf = ({ wallet, movement }: Asked, kind: Movement['kind'], by?: string): Asked => ({
  wallet,
  movement: { ...movement, kind, by },
});

class Desk implements Custody {
  readonly recent: Asked[] = [];
  readonly #parts: DeskParts;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #tokens = new Map<string, string>();
  /** Movements that were answered as new. */
  readonly #booked = new Set<string>();
  readonly #lanes: readonly Repeated[];
  #key = '';
  #serial = 0;

  constructor(parts: DeskParts) {
    this.#parts = parts;
    this.#lanes = [
      () => this.#bookSeveral(),
      () => this.#bookSeveral(),
      () => this.#withdraw(),
      () => this.#deposit(),
    ].map((work) => repeated(PAUSE_MS, work));
  }

  async begin(): Promise<void> {
    const { cluster, driver } = this.#parts;
    const name = `${CUSTODY}${driver.model.lastIntent + 1}`;
    const caps = [`${CAPPED.asset}=${CAPPED.perDay}/day`, '*=1000000000/day'].flatMap((cap) => [
      '--cap',
      cap,
    ]);
    const made = await cluster.operate('key', 'create', name, '--may', RIGHTS, ...caps);
    this.#tokens.set(name, (made as { key: string }).key);
    this.#key = name;
    this.recent.length = 0;
    for (const lane of this.#lanes) lane.begin();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.stop()));
  }

  forget(): void {
    this.recent.length = 0;
    this.#booked.clear();
  }

  close(): void {
    this.#agent.destroy();
  }

  read(path: string): Promise<(Reply | undefined)[]> {
    return Promise.all(this.#parts.ports.map((port) => this.#call(port, this.#key, 'GET', path)));
  }

  async ask(wallet: number, movement: Movement): Promise<Outcome> {
    const [outcome] = await this.#book([{ wallet, movement }], [this.#port()]);
    return outcome!;
  }

  #port(): number {
    return this.#parts.dice.pick(this.#parts.ports);
  }

  /** Two in three requests go to one replica, and the third to both at once. */
  #someReplicas(): readonly number[] {
    return this.#parts.dice.below(3) === 0 ? this.#parts.ports : [this.#port()];
  }

  #drawn(kind: Movement['kind']): Asked {
    const { dice, driver } = this.#parts;
    this.#serial += 1;
    const reference = `${this.#key} ${this.#serial}`;
    const amount = `${1 + dice.below(9)}.${1 + dice.below(9)}`;
    const movement = { kind, reference, amount, asset: dice.pick(['USDC', 'ETH', 'BTC']), key: this.#key };
    return { wallet: dice.below(driver.wallets.length), movement };
  }

  async #bookSeveral(): Promise<void> {
    const { dice } = this.#parts;
    const isBooked = ({ movement: { kind } }: Asked): boolean => kind === 'credit' || kind === 'debit';
    const earlier = this.recent.filter(isBooked);
    const asked = Array.from({ length: 1 + dice.below(MAX_TOGETHER) }, () =>
      earlier.length > 0 && dice.below(4) === 0
        ? dice.pick(earlier)
        : this.#drawn(dice.pick(['credit', 'debit'])),
    );
    // A reference twice in one request would have two answers of one intent.
    const once = [...new Map(asked.map((one) => [one.movement.reference, one])).values()];
    await this.#book(once, this.#someReplicas());
    if (earlier.length > 0) await this.#contradict(dice.pick(earlier));
  }

  /** Begins a withdrawal or a deposit. @returns undefined if it is refused, or is one of some that never end */
  async #begin(kind: 'request' | 'announce'): Promise<Asked | undefined> {
    const { dice } = this.#parts;
    const asked = this.#drawn(kind);
    const [outcome] = await this.#book([asked], this.#someReplicas());
    if (dice.below(4) === 0) await this.#book([asked], [this.#port()]);
    // One of unknown outcome is ended as well.
    return outcome!.is === 'refused' || dice.below(5) === 0 ? undefined : asked;
  }

  async #withdraw(): Promise<void> {
    const { dice } = this.#parts;
    const request = await this.#begin('request');
    if (request === undefined) return;
    if (dice.below(2) === 0) {
      const isPaid = await this.#pay(request);
      if (isPaid !== undefined) return;
    }
    const isConfirmed = dice.below(2) === 0;
    await this.#end(request, isConfirmed ? ['confirm', 'return'] : ['return', 'confirm']);
  }

  async #deposit(): Promise<void> {
    const { dice } = this.#parts;
    const announcement = await this.#begin('announce');
    if (announcement === undefined) return;
    await this.#end(announcement, dice.below(3) === 0 ? ['drop', 'arrive'] : ['arrive', 'drop']);
  }

  /** Ends what was begun in the first way, which the second one then contradicts. */
  async #end(begun: Asked, [how, other]: readonly [Movement['kind'], Movement['kind']]): Promise<boolean> {
    const [ended] = await this.#book([stepOf(begun, how)], this.#someReplicas());
    if (ended!.is !== 'ok') return false;
    if (this.#parts.dice.below(4) === 0) await this.#book([stepOf(begun, how)], [this.#port()]);
    await this.#mustRefuse(stepOf(begun, other), CONFLICT);
    return true;
  }

  /**
   * Takes a withdrawal, which nobody else can then end, and pays it or gives it up.
   * @returns undefined if it is given up and ends otherwise
   */
  async #pay(request: Asked): Promise<true | undefined> {
    const { dice } = this.#parts;
    // The outcome of the request, or of the take, may stay unknown: such a withdrawal is left as it is.
    if (!(await this.#isDone(request, 'take', TAKER))) return true;
    await this.#mustRefuse(stepOf(request, 'return'), UNDER_WAY);
    await this.#mustRefuse(stepOf(request, 'confirm', OTHER_TAKER), UNDER_WAY);
    const foreign = await this.#step(request, 'take', OTHER_TAKER, UNDER_WAY);
    if (foreign.is === 'ok')
      this.#parts.onViolation('custody', `${request.movement.reference} is taken by two`);
    if (dice.below(3) === 0) return (await this.#isDone(request, 'release', TAKER)) ? undefined : true;
    await this.#book([stepOf(request, 'confirm', TAKER)], this.#someReplicas());
    return true;
  }

  /** Takes or gives up, again until the outcome is known, for a while. */
  async #isDone(request: Asked, step: 'take' | 'release', by: string): Promise<boolean> {
    for (let tries = 0; tries < STEP_TRIES; tries += 1) {
      const answer = await this.#step(request, step, by);
      if (answer.is !== 'unknown') return answer.is === 'ok';
      await sleep(SHY_MS);
    }
    return false;
  }

  async #step(
    { movement: { reference } }: Asked,
    step: 'take' | 'release',
    by: string,
    earned: ReadonlySet<unknown> = new Set(),
  ): Promise<Answer> {
    const path = `/withdrawals/${encodeURIComponent(reference)}/${step}`;
    const until = step === 'take' ? { until: new Date(Date.now() + TAKE_MS).toISOString() } : {};
    const reply = await this.#call(this.#port(), this.#key, 'POST', path, { by, reason: REASON, ...until });
    return this.#answerOf(`${step} ${reference}`, reply?.status, reply?.body, earned);
  }

  /** Another amount under the reference of a movement that was booked. */
  async #contradict({ wallet, movement }: Asked): Promise<void> {
    await this.#mustRefuse({ wallet, movement: { ...movement, amount: `1${movement.amount}` } }, CONFLICT);
  }

  async #mustRefuse({ wallet, movement }: Asked, codes: ReadonlySet<unknown>): Promise<void> {
    const [answer] = await this.#answersOf(this.#port(), [{ wallet, movement }], codes);
    if (answer!.is === 'ok' || (answer!.is === 'refused' && !codes.has(answer!.code)))
      this.#parts.onViolation(
        'custody',
        `${nameOf(movement)} contradicts what is booked: ${JSON.stringify(answer)}`,
      );
  }

  /** Asks each replica for the same movements at once. One answer is enough to know an outcome. */
  async #book(asked: readonly Asked[], ports: readonly number[]): Promise<Outcome[]> {
    const { driver } = this.#parts;
    const intents = asked.map(({ wallet, movement }) => driver.begun(wallet, { does: 'move', movement }));
    const answers = await Promise.all(ports.map((port) => this.#answersOf(port, asked)));
    const outcomes = asked.map((one, at) => {
      const own = answers.map((of) => of[at]!);
      for (const answer of own) if (answer.is === 'ok') this.#check(one, answer);
      const told = own.find(({ is }) => is === 'ok') ?? own.find(({ is }) => is === 'unknown') ?? own[0]!;
      const { n } = intents[at]!;
      if (told.is !== 'ok') return driver.ended({ entry: 'outcome', n, ...told });
      this.#remember(one);
      return driver.ended({ entry: 'outcome', n, is: 'ok', shown: [] });
    });
    if (outcomes.some(({ is }) => is === 'unknown')) await sleep(SHY_MS);
    return outcomes;
  }

  #remember(one: Asked): void {
    if (one.movement.key !== this.#key || this.recent.includes(one)) return;
    this.recent.push(one);
    if (this.recent.length > MAX_RECENT) this.recent.shift();
  }

  /** An answer has the content that was asked for, and one answer at most says that it is new. */
  #check({ wallet, movement }: Asked, { status, body }: Answer & { is: 'ok' }): void {
    const { driver, onViolation } = this.#parts;
    const name = nameOf(movement);
    const { reference, amount, asset } = movement;
    const same = { reference, amount, asset, wallet: driver.wallets[wallet]!.address };
    for (const [field, expected] of Object.entries(same))
      if (body[field] !== expected)
        onViolation('custody', `${name} is answered with ${field} ${body[field]}, asked for ${expected}`);
    const state = STATES[movement.kind];
    if (state !== undefined && body.state !== state)
      onViolation('custody', `${name} is answered with the state ${body.state}`);
    if (status !== 201) return;
    if (this.#booked.has(name)) onViolation('custody', `${name} is answered as new twice`);
    this.#booked.add(name);
  }

  /** Asks one replica once. @returns an answer for each */
  async #answersOf(
    port: number,
    asked: readonly Asked[],
    earned: ReadonlySet<unknown> = new Set(),
  ): Promise<Answer[]> {
    const { path, body } = this.#requestOf(asked);
    const reply = await this.#call(port, asked[0]!.movement.key!, 'POST', path, body);
    const results = reply?.body.results as Record<string, unknown>[] | undefined;
    return asked.map(({ movement }, at) => {
      const own = results === undefined ? reply?.body : results[at]!;
      const status = results === undefined ? reply?.status : Number(own!.status);
      return this.#answerOf(`${path}, ${nameOf(movement)}`, status, own, earned);
    });
  }

  /** @param status undefined without an answer */
  #answerOf(
    what: string,
    status: number | undefined,
    body: Record<string, unknown> | undefined,
    earned: ReadonlySet<unknown>,
  ): Answer {
    if (status === undefined || body === undefined) return { is: 'unknown', why: 'no answer' };
    if (status === 200 || status === 201) return { is: 'ok', status, body };
    const code = String(body.code);
    if (KNOWN_REFUSALS.has(code) || earned.has(code)) return { is: 'refused', code };
    if (status !== 503) this.#parts.onViolation('answers', `${what}: ${status} ${JSON.stringify(body)}`);
    return { is: 'unknown', why: `${status} ${code}` };
  }

  #requestOf(asked: readonly Asked[]): { readonly path: string; readonly body: object } {
    const { wallets } = this.#parts.driver;
    const [{ movement }] = asked as [Asked];
    const reason = REASON;
    const all = asked.map(({ wallet, movement: { kind, reference, asset, amount } }) => ({
      kind: kind === 'credit' ? 'deposit' : 'withdrawal',
      reference,
      asset,
      amount,
      reason,
      wallet: wallets[wallet]!.address,
    }));
    const [{ kind: _, ...one }] = all as [(typeof all)[number]];
    const { kind, reference, by } = movement;
    const stepOn = (list: string, step: string): string =>
      `/${list}/${encodeURIComponent(reference)}/${step}`;
    switch (kind) {
      case 'request':
        return { path: '/withdrawals', body: one };
      case 'confirm':
        return { path: stepOn('withdrawals', kind), body: { txid: `paid ${reference}`, by } };
      case 'return':
        return { path: stepOn('withdrawals', kind), body: { reason } };
      case 'announce':
        return { path: '/deposits', body: one };
      case 'arrive':
        return { path: stepOn('deposits', 'credit'), body: { reason } };
      case 'drop':
        return { path: stepOn('deposits', kind), body: { reason } };
      default:
        return { path: '/movements', body: { movements: all } };
    }
  }

  /** A key of a run that was killed is lost: its movements are repeated with the last one. */
  #call(port: number, key: string, method: string, path: string, body?: object): Promise<Reply | undefined> {
    const token = this.#tokens.get(key) ?? this.#tokens.get(this.#key)!;
    return unlessBroken(ask(port, { agent: this.#agent, token }, method, `/operator/v1${path}`, body));
  }
}
