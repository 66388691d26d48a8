/** A run: hostile requests in rounds beside ordinary traffic, then logins, tokens and foreign ids, then the verdict. */

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Planted } from '../../planted/planted.ts';
import { withPlanted } from '../../planted/release.ts';
import { type Random, random } from '../../support/seed.ts';
import { playAttacks } from './attacks.ts';
import { addressOf, ask, bodyOf, placeResting, signIn } from './client.ts';
import { probeForeign } from './foreign.ts';
import { type LoginCounts, tryLogins } from './logins.ts';
import { operationsOf } from './operations.ts';
import { openOperators } from './operators.ts';
import { type Ordinary, openOrdinary } from './ordinary.ts';
import { type Finding, Findings } from './report.ts';
import { Secrets } from './secrets.ts';
import { Sender } from './sender.ts';
import { floodHandshakes, holdSockets } from './sockets.ts';
import {
  LIMITED_STREAM,
  MAX_SCREENS_OF_ADDRESS,
  type Memory,
  measure,
  type Scene,
  type Stock,
  SYMBOLS,
  startTarget,
  type Target,
  type Watched,
} from './target.ts';
import { type TokenCounts, tryTokens } from './tokens.ts';
import { Judge, judgeLedger, judgeLogs, judgeMemory, judgeReach, type Reach, reachOf } from './verdict.ts';
import { Line } from './wire.ts';
import { type SignedIn, World } from './world.ts';

/** A run that is long enough for each fault. */
const SHORT = { requests: 1_200, logins: 90, tokens: 60, rounds: 4, held: 30, operates: false, attacks: '' };

interface ProofOptions {
  readonly folder: string;
  readonly seed: number;
  readonly say: (line: string) => void;
}

/**
 * The cluster has no settlement, so other promises break too. The options of a fault name the promise that must be
 * reported as broken, and a text of the report.
 * @returns the reports of the promise that the fault breaks; none if the run missed the fault
 */
export const prove = (fault: Planted, { folder, seed, say }: ProofOptions): Promise<string[]> =>
  withPlanted(fault, async (release) => {
    const target = await startTarget({
      folder,
      replicas: { api: 1, stream: 1, settlement: 0, snapshot: 1, 'operator-api': 1 },
      releaseOf: ({ role }) => (role === 'snapshot' ? undefined : release),
    });
    try {
      const { findings } = await runHostile({ ...SHORT, target, seed, say });
      const check = fault.options.get('check');
      const kind = fault.options.get('kind')!;
      return findings
        .filter((found) => found.check === check && found.kind.includes(kind))
        .map((found) => found.kind);
    } finally {
      await target.stop();
    }
  });

export interface HostileOptions {
  readonly target: Target;
  readonly seed: number;
  readonly requests: number;
  readonly logins: number;
  readonly tokens: number;
  readonly rounds: number;
  /** Connections held open in each round, and handshakes of its flood. */
  readonly held: number;
  /** Ports of the API replicas, those of the cluster unless given. */
  readonly api?: readonly number[];
  /** True to pause trading for a part of the requests, to play attacks, and to reconcile at the end. */
  readonly operates: boolean;
  /** Text in the names of the attacks that are played. */
  readonly attacks: string;
  readonly say: (line: string) => void;
}

/** A process at the end of each round. */
interface MemoryOfProcess {
  readonly name: string;
  readonly rounds: readonly Memory[];
}

export interface Report {
  readonly seed: number;
  readonly requests: number;
  readonly heldSockets: number;
  readonly handshakes: number;
  readonly byKind: Readonly<Record<string, number>>;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly reach: readonly Reach[];
  readonly logins: LoginCounts;
  readonly tokens: TokenCounts;
  readonly foreign: number;
  /** Attacks of the table that were played. */
  readonly attacks: number;
  readonly ordinary: { readonly requests: number; readonly frames: number };
  readonly memory: readonly MemoryOfProcess[];
  readonly secrets: number;
  readonly logBytes: number;
  readonly findings: readonly Finding[];
}

const WALLETS = 13;
/** Wallets that no hostile request has the session of: of orders that operators void, a foreigner, a victim, a trader. */
const OTHERS = 4;
const OWNER_AT = -4;
const PATIENCE_MS = 20_000;
/** Time in which a process notices the end of its connections. */
const SETTLING_MS = 300;
/** Part of the requests that is sent once more while trading is paused. */
const PAUSED_PART = 50;
const TERMS = '1';
/** Codes with which an ordinary order may be refused while operators act. */
const WHILE_OPERATED = ['OPERATIONAL_PAUSED', 'STALE_TERMS_VERSION'];

const isOperators = ({ slot }: Watched): boolean => slot.role === 'operator-api';

function sumOf(counts: readonly (readonly (readonly [string | number, number])[])[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, count] of counts.flat()) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

export async function runHostile(options: HostileOptions): Promise<Report> {
  const scene = await openScene(options);
  return new Run(options, scene).all();
}

/** Sends one request of a run again, and tells what is sent and what comes. */
export async function sendAgain(
  options: HostileOptions,
  number: number,
  isToOperators: boolean,
): Promise<readonly Finding[]> {
  const given = await openScene(options);
  const scene = isToOperators ? (await openOperators(given, given.clients.at(OWNER_AT)!))! : given;
  options.say(await new Sender(scene).one(number, undefined, true));
  return scene.findings.all();
}

async function openScene({ target, seed, api: given, operates }: HostileOptions): Promise<Scene> {
  const { cluster } = target;
  const api = given ?? cluster.of('api').map(({ port }) => port);
  await cluster.untilReady();
  const logsBefore = new Map(cluster.slots.map((slot) => [slot, cluster.processes.log(slot).length]));
  const line = new Line(api[0]!);
  const findings = new Findings();
  const secrets = new Secrets();
  const clients: SignedIn[] = [];
  for (let index = 0; index < WALLETS; index += 1) {
    const key = createHash('sha256').update(`hostile ${seed} wallet ${index}`).digest('hex');
    clients.push(await signIn(line, `0x${key}`, addressOf(1, index)));
  }
  await target.fund(clients.map(({ address }) => address));
  if (operates) {
    await cluster.operate('terms', 'require', TERMS);
    for (const { token } of clients)
      await ask(line, { method: 'POST', path: '/v1/account/terms', token, body: { version: TERMS } });
  }
  const document = bodyOf(await ask(line, { method: 'GET', path: '/v1/openapi.json' }));
  line.close();
  for (const { token } of clients) secrets.addToken(token);
  const others = cluster.slots.filter(({ role, name }) => role !== 'api' && name !== LIMITED_STREAM);
  const world = new World(clients.slice(0, -OTHERS), SYMBOLS);
  return {
    seed,
    target,
    api,
    clients,
    findings,
    secrets,
    logsBefore,
    world,
    streams: others.filter(({ role }) => role === 'stream').map(({ port }) => port),
    everyPort: [...api, ...others.map(({ port }) => port)],
    operations: operationsOf(document),
    stock: restingOrdersOf(world, api[0]!),
    judge: new Judge(document, findings),
    option: '',
    leastJudged: 0,
  };
}

/** Places an order that rests for the next wallet in turn. It is refused while trading is paused. */
const restingOrdersOf =
  (world: World, port: number): Stock =>
  async (turn) => {
    const wallet = world.wallets[turn % world.wallets.length]!;
    const line = new Line(port);
    const reply = await placeResting(line, wallet.token, `stock-${turn}`);
    line.close();
    world.learn(wallet, reply, random(turn));
  };

class Run {
  readonly #options: HostileOptions;
  readonly #scene: Scene;
  readonly #sender: Sender;
  readonly #memory = new Map<Watched, Memory[]>();
  /** Senders whose requests are counted. */
  readonly #sent: Sender[];
  #requests: number;
  #heldSockets = 0;
  #handshakes = 0;

  constructor(options: HostileOptions, scene: Scene) {
    this.#options = options;
    this.#scene = scene;
    this.#sender = new Sender(scene);
    this.#sent = [this.#sender];
    this.#requests = options.requests;
  }

  async all(): Promise<Report> {
    const { requests, rounds, seed, say, operates } = this.#options;
    const { clients, findings, secrets } = this.#scene;
    const [foreigner, victim, trader] = clients.slice(-3) as [SignedIn, SignedIn, SignedIn];
    const ordinary = openOrdinary(this.#scene, trader, findings);
    const first = await this.#sender.sendFirst();
    for (let round = 0; round < rounds; round += 1) {
      const edge = (number: number): number => first + Math.floor(((requests - first) * number) / rounds);
      await this.#round(edge(round), edge(round + 1), random(seed + round));
      say(`round ${round + 1} of ${rounds}: ${edge(round + 1)} requests`);
    }
    if (operates) await this.#whilePaused(ordinary);
    const logins = await tryLogins(this.#scene, this.#options.logins);
    say(`${logins.invalid} invalid logins`);
    const tokens = await tryTokens(this.#scene, victim, this.#options.tokens);
    const foreign = await probeForeign(this.#scene, foreigner, victim);
    const operators = await this.#toOperators(ordinary);
    const scenes = operators === undefined ? [this.#scene] : [this.#scene, operators];
    for (const scene of scenes) judgeReach(scene, operates);
    judgeMemory(this.#scene, this.#memory);
    const logBytes = judgeLogs(this.#scene);
    const attacks = operates ? await playAttacks(this.#scene, this.#options.attacks, say) : 0;
    await ordinary.stop();
    if (operates) await judgeLedger(this.#scene);
    return {
      seed,
      requests: this.#requests,
      heldSockets: this.#heldSockets,
      handshakes: this.#handshakes + (this.#sender.byKind.handshake ?? 0),
      byKind: sumOf(this.#sent.map(({ byKind }) => Object.entries(byKind))),
      byStatus: sumOf(scenes.map(({ judge }) => [...judge.byStatus])),
      reach: scenes.flatMap(reachOf),
      logins,
      tokens,
      foreign,
      attacks,
      ordinary: { requests: ordinary.requests, frames: ordinary.frames },
      memory: [...this.#memory].map(([{ slot }, measured]) => ({ name: slot.name, rounds: measured })),
      secrets: secrets.count,
      logBytes,
      findings: findings.all(),
    };
  }

  async #round(from: number, to: number, dice: Random): Promise<void> {
    const { world, judge, target } = this.#scene;
    const held = holdSockets(this.#scene, world, dice, this.#options.held);
    this.#heldSockets += held.count;
    await this.#flood(dice);
    await this.#sender.send(from, to);
    for (const { name, reply } of held.end())
      if (reply.status !== 101)
        judge.reply({ method: 'GET', again: () => `a connection held open: ${name}` }, reply);
    await sleep(SETTLING_MS);
    for (const watched of target.watched) if (!isOperators(watched)) await this.#measure(watched);
  }

  async #flood(dice: Random): Promise<void> {
    const { streams, judge, findings } = this.#scene;
    const count = MAX_SCREENS_OF_ADDRESS + Math.floor(this.#options.held / 2);
    const from = `192.0.2.${dice.below(256)}`;
    const { opened, replies } = await floodHandshakes(dice.pick(streams), from, count, PATIENCE_MS);
    this.#handshakes += count;
    if (opened > MAX_SCREENS_OF_ADDRESS || replies.length !== count)
      findings.add('a flood is held to its limit', 'handshakes', `${opened} of ${count} were accepted`);
    for (const reply of replies)
      if (reply.status !== 101) judge.reply({ method: 'GET', again: () => 'a flood of handshakes' }, reply);
  }

  async #measure(watched: Watched): Promise<void> {
    try {
      const memory = await measure(watched.inspectorPort);
      this.#memory.set(watched, [...(this.#memory.get(watched) ?? []), memory]);
    } catch (error) {
      this.#scene.findings.add('no process ends', watched.slot.name, String(error));
    }
  }

  async #whilePaused(ordinary: Ordinary): Promise<void> {
    const { requests, target, say } = this.#options;
    ordinary.mayRefuse = ['OPERATIONAL_PAUSED'];
    await target.cluster.operate('trading', 'pause', '--reason', 'a test');
    const end = requests + Math.floor(requests / PAUSED_PART);
    await this.#sender.send(requests, end);
    this.#requests = end;
    await target.cluster.operate('trading', 'resume', '--reason', 'a test');
    await sleep(SETTLING_MS);
    ordinary.mayRefuse = [];
    say('requests while trading was paused');
  }

  /** Sends the requests to operator-api, each of whose operations gets the share of the others. */
  async #toOperators(ordinary: Ordinary): Promise<Scene | undefined> {
    const { requests, rounds, operates, target, say } = this.#options;
    const scene = await openOperators(this.#scene, this.#scene.clients.at(OWNER_AT)!);
    if (scene === undefined) return undefined;
    if (operates) await target.cluster.operate('ledger', 'reconcile');
    ordinary.mayRefuse = WHILE_OPERATED;
    const sender = new Sender(scene);
    const first = await sender.sendFirst();
    const end = Math.max(
      first,
      Math.floor((requests * scene.operations.length) / this.#scene.operations.length),
    );
    for (let round = 0; round < rounds; round += 1) {
      const edge = (number: number): number => first + Math.floor(((end - first) * number) / rounds);
      await sender.send(edge(round), edge(round + 1));
      await sleep(SETTLING_MS);
      for (const watched of target.watched) if (isOperators(watched)) await this.#measure(watched);
    }
    await target.cluster.operate('trading', 'resume', '--reason', 'a test');
    await target.cluster.operate('terms', ...(operates ? ['require', TERMS] : ['off']));
    await sleep(SETTLING_MS);
    ordinary.mayRefuse = [];
    this.#sent.push(sender);
    this.#requests += end;
    say(`${end} requests to operator-api`);
    return scene;
  }
}
