/**
 * A custody system: books deposits and withdrawals in batches, and withdrawals in two steps, with a key at both replicas
 * of operator-api. It repeats much of what it asked, at the other replica or at both at once.
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
const MAX_BATCH = 8;
/** Answered movements of a round that are repeated, and read at rest. */
const MAX_RECENT = 40;
const SHY_MS = 250;

const KNOWN_REFUSALS: ReadonlySet<unknown> = new Set([
  'INSUFFICIENT_BALANCE',
  'CAP_EXCEEDED',
  'UNKNOWN_WITHDRAWAL',
]);

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
    this.#lanes = [() => this.#batch(), () => this.#batch(), () => this.#withdraw()].map((work) =>
      repeated(PAUSE_MS, work),
    );
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

  async #batch(): Promise<void> {
    const { dice } = this.#parts;
    const isOfBatch = ({ movement: { kind } }: Asked): boolean => kind === 'credit' || kind === 'debit';
    const earlier = this.recent.filter(isOfBatch);
    const asked = Array.from({ length: 1 + dice.below(MAX_BATCH) }, () =>
      earlier.length > 0 && dice.below(4) === 0
        ? dice.pick(earlier)
        : this.#drawn(dice.pick(['credit', 'debit'])),
    );
    // A reference twice in one batch would have two answers of one intent.
    const once = [...new Map(asked.map((one) => [one.movement.reference, one])).values()];
    await this.#book(once, this.#someReplicas());
    if (earlier.length > 0) await this.#contradict(dice.pick(earlier));
  }

  async #withdraw(): Promise<void> {
    const { dice } = this.#parts;
    const request = this.#drawn('request');
    const [requested] = await this.#book([request], this.#someReplicas());
    if (dice.below(4) === 0) await this.#book([request], [this.#port()]);
    // Some stay pending. One of unknown outcome is ended as well.
    if (requested!.is === 'refused' || dice.below(5) === 0) return;
    const [how, other] =
      dice.below(2) === 0 ? (['confirm', 'return'] as const) : (['return', 'confirm'] as const);
    const step = (kind: Movement['kind']): Asked => ({ ...request, movement: { ...request.movement, kind } });
    const [ended] = await this.#book([step(how)], this.#someReplicas());
    if (ended!.is !== 'ok') return;
    if (dice.below(4) === 0) await this.#book([step(how)], [this.#port()]);
    await this.#mustConflict(step(other));
  }

  /** Another amount under the reference of a movement that was booked. */
  async #contradict({ wallet, movement }: Asked): Promise<void> {
    await this.#mustConflict({ wallet, movement: { ...movement, amount: `1${movement.amount}` } });
  }

  async #mustConflict({ wallet, movement }: Asked): Promise<void> {
    const [answer] = await this.#answersOf(
      this.#port(),
      [{ wallet, movement }],
      new Set(['REFERENCE_CONFLICT']),
    );
    if (answer!.is === 'ok' || (answer!.is === 'refused' && answer!.code !== 'REFERENCE_CONFLICT'))
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
    const state = { confirm: 'confirmed', return: 'returned' }[movement.kind as string];
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
    return asked.map(({ movement }, at): Answer => {
      if (reply === undefined) return { is: 'unknown', why: 'no answer' };
      const own = results === undefined ? reply.body : results[at]!;
      const status = results === undefined ? reply.status : Number(own.status);
      if (status === 200 || status === 201) return { is: 'ok', status, body: own };
      const code = String(own.code);
      if (KNOWN_REFUSALS.has(code) || earned.has(code)) return { is: 'refused', code };
      if (status !== 503)
        this.#parts.onViolation('answers', `${path}, ${nameOf(movement)}: ${status} ${JSON.stringify(own)}`);
      return { is: 'unknown', why: `${status} ${code}` };
    });
  }

  #requestOf(asked: readonly Asked[]): { readonly path: string; readonly body: object } {
    const { wallets } = this.#parts.driver;
    const [{ movement }] = asked as [Asked];
    const reason = 'the campaign';
    const all = asked.map(({ wallet, movement: { kind, reference, asset, amount } }) => ({
      kind: kind === 'credit' ? 'deposit' : 'withdrawal',
      reference,
      asset,
      amount,
      reason,
      wallet: wallets[wallet]!.address,
    }));
    const [{ kind: _, ...one }] = all as [(typeof all)[number]];
    const step = `/withdrawals/${encodeURIComponent(movement.reference)}/${movement.kind}`;
    switch (movement.kind) {
      case 'request':
        return { path: '/withdrawals', body: one };
      case 'confirm':
        return { path: step, body: { txid: `paid ${movement.reference}` } };
      case 'return':
        return { path: step, body: { reason } };
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
