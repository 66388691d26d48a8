/** Sends the numbered requests of a run and judges what comes. The seed and a number decide a request. */

import { createHash } from 'node:crypto';
import { checkFrame } from '../../support/contract.ts';
import { type Random, random } from '../../support/seed.ts';
import { type Attack, drawAttack } from './framing.ts';
import { type Drawn, drawRequest, FIRST_TURNS } from './requests.ts';
import { closeCodeOf, drawHandshake, type Handshake, isAlive, LAST_PING, readFrames } from './sockets.ts';
import type { Scene } from './target.ts';
import { Line, type Pieces, readReplies, type WireReply } from './wire.ts';

const AT_ONCE = 12;
/** Longer than `GET /v1/orders/changes` may wait. */
const PATIENCE_MS = 45_000;
/** Numbers below the first bound are requests, those below the second attack the framing; the rest are handshakes. */
const REQUESTS = 80;
const FRAMINGS = 90;
/** Heads and bodies beyond this may be cut off by the refusal, before it can be read. */
const LIMIT_BYTES = 16 * 1_024;
const MAX_SHOWN = 3_000;
/** One of so many requests follows a call of the scene's `stock`. */
const STOCKED_EVERY = 25;

/** Choices of one number of a run, whatever was chosen before. */
export const diceOf = (seed: number, index: number): Random =>
  random(createHash('sha256').update(`${seed} ${index}`).digest().readUInt32BE());

export class Sender {
  /** Number of requests by kind of attack. */
  readonly byKind: Record<string, number> = {};
  readonly #scene: Scene;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Sends valid requests to each operation, one after another. @returns the next number */
  async sendFirst(): Promise<number> {
    const end = FIRST_TURNS * this.#scene.operations.length;
    await this.send(0, end, 1);
    return end;
  }

  /** Sends the requests from one number to before another, several at once. */
  async send(from: number, to: number, atOnce = AT_ONCE): Promise<void> {
    let next = from;
    const work = async (): Promise<void> => {
      const lines = new Map<number, Line>();
      while (next < to) {
        next += 1;
        await this.one(next - 1, lines);
      }
      for (const line of lines.values()) line.close();
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }

  /** Sends the request of a number. @returns what was sent and what came, if it is to be told */
  async one(index: number, lines = new Map<number, Line>(), isTold = false): Promise<string> {
    const { seed, operations, world, api, streams, everyPort } = this.#scene;
    const hasStreams = streams.length > 0;
    const dice = diceOf(seed, index);
    const isFirst = index < FIRST_TURNS * operations.length;
    if (!isFirst && index % STOCKED_EVERY === 0) await this.#scene.stock(index / STOCKED_EVERY);
    const roll = isFirst ? 0 : dice.below(100);
    if (roll < REQUESTS || (roll >= FRAMINGS && !hasStreams)) {
      const port = isFirst || dice.chance(0.9) ? dice.pick(api) : dice.pick(everyPort);
      const drawn = drawRequest(operations, world, dice, index);
      return this.#request(index, drawn, port, lines, isTold, dice);
    }
    if (roll < FRAMINGS) return this.#framing(index, drawAttack(world, dice), dice.pick(everyPort), isTold);
    return this.#handshake(index, drawHandshake(dice), dice.pick(streams), isTold);
  }

  #countKind(kind: string): void {
    this.byKind[kind] = (this.byKind[kind] ?? 0) + 1;
  }

  /** Tells how a request can be sent again: by its number, or by its bytes. */
  #again(index: number, pieces: Pieces): string {
    const bytes = Buffer.concat(pieces.filter((piece) => typeof piece !== 'number'));
    let text = bytes.toString('latin1');
    for (const [number, { token }] of this.#scene.clients.entries())
      text = text.replaceAll(token, `<token of wallet ${number}>`);
    text = JSON.stringify(text.replaceAll(REPEATED, shortened).slice(0, MAX_SHOWN));
    return `npm run hostile -- --seed ${this.#scene.seed} ${this.#scene.option}--only ${index}\n    sent ${text}`;
  }

  async #request(
    index: number,
    drawn: Drawn,
    port: number,
    lines: Map<number, Line>,
    isTold: boolean,
    dice: Random,
  ): Promise<string> {
    const { findings, judge, world, api } = this.#scene;
    const { kind, method, path, pieces, operation } = drawn;
    this.#countKind(kind);
    const line = lines.get(port) ?? new Line(port);
    lines.set(port, line);
    const isHead = method === 'HEAD';
    const { replies, rest, isClosed } = await line.exchange(pieces, {
      replies: 1,
      isHead,
      patienceMs: PATIENCE_MS,
    });
    const again = (): string => this.#again(index, pieces);
    const [reply] = replies;
    const size = pieces.reduce<number>(
      (sum, piece) => sum + (typeof piece === 'number' ? 0 : piece.length),
      0,
    );
    if (reply === undefined && !(isClosed && size > LIMIT_BYTES))
      findings.add('each request is answered', `${operation}: ${isClosed ? 'closed' : 'no reply'}`, again());
    // A refusal before the method is known has a body, and ends the connection.
    if (replies.length > 1 || (rest.length > 0 && !(isHead && isClosed)))
      findings.add('one reply for a request', operation, again());
    if (reply !== undefined) {
      const isAimed = api.includes(port) && (kind === 'valid' || kind === 'body' || kind === 'query');
      judge.reply({ method, path, operation: isAimed ? operation : undefined, again }, reply);
      world.learn(drawn.wallet, reply, dice);
    }
    return isTold ? `${again()}\n${replies.map(shown).join('\n')}` : '';
  }

  async #framing(index: number, attack: Attack, port: number, isTold: boolean): Promise<string> {
    this.#countKind('framing');
    const line = new Line(port);
    const { replies, isClosed } = await line.exchange(attack.pieces, {
      replies: attack.replies ?? 1,
      closes: attack.mustClose === true,
      endsSending: attack.endsSending === true,
      patienceMs: PATIENCE_MS,
    });
    line.close();
    const again = (): string => this.#again(index, attack.pieces);
    const found = (check: string): void =>
      this.#scene.findings.add(check, attack.name, `${again()}\n${replies.map(shown).join('\n')}`);
    if (replies.length > (attack.replies ?? 1)) found('no part of a message is taken for a request');
    if (replies.length < (attack.replies ?? 0)) found('each pipelined request is answered');
    const numbers = replies.flatMap(
      ({ headers }) => /^pipelined-(\d+)$/.exec(headers['x-request-id'] ?? '') ?? [],
    );
    if (numbers.some((number, place) => place % 2 === 1 && Number(number) !== (place - 1) / 2))
      found('pipelined replies come in order');
    if (attack.mustClose && !isClosed) found('a broken message ends its connection');
    if (attack.mustClose && (replies.at(-1)?.status ?? 400) < 400) found('a broken message is refused');
    for (const reply of replies) this.#scene.judge.reply({ method: 'GET', again }, reply);
    return isTold ? `${again()}\n${replies.map(shown).join('\n')}` : '';
  }

  async #handshake(index: number, handshake: Handshake, port: number, isTold: boolean): Promise<string> {
    const { name, head, frames, mustOpen } = handshake;
    this.#countKind('handshake');
    const again = (): string => `${name}: ${this.#again(index, [head, ...frames])}`;
    const line = new Line(port);
    await line.send([head]);
    const opened = await line.until(
      (received, ended) => ended || readReplies(received, false, ended).replies.length > 0,
      PATIENCE_MS,
    );
    const { replies } = readReplies(opened.received, false, opened.isClosed);
    const [reply] = replies;
    const found = (check: string): void => this.#scene.findings.add(check, name, again());
    let told = '';
    if (reply?.status !== 101) {
      if (reply === undefined || mustOpen) found('handshakes are answered');
      else this.#scene.judge.reply({ method: 'GET', again }, reply);
    } else told = await this.#exchangeFrames(line, handshake, found);
    line.close();
    return isTold ? `${again()}\n${replies.map(shown).join('\n')}\n${told}` : '';
  }

  /** Sends frames on an open stream and judges what comes: documented frames, then the right end or a pong. */
  async #exchangeFrames(
    line: Line,
    { frames, mustOpen, closeCodes }: Handshake,
    found: (check: string) => void,
  ): Promise<string> {
    const mustClose = closeCodes.length > 0;
    await line.write(mustClose ? frames : [...frames, LAST_PING]);
    const { received, isClosed } = await line.until((bytes, ended) => {
      const seen = readFrames(afterHead(bytes));
      return ended || closeCodeOf(seen) !== undefined || (!mustClose && isAlive(seen));
    }, PATIENCE_MS);
    const seen = readFrames(afterHead(received));
    for (const { opcode, payload } of seen) if (opcode === 1) judgeFrame(payload.toString(), found);
    const code = closeCodeOf(seen);
    if (mustOpen && mustClose && !(code === undefined ? isClosed : closeCodes.includes(code)))
      found(`a bad stream ends with ${closeCodes.join(' or ')}, not ${code}`);
    if (mustOpen && !mustClose && !isAlive(seen)) found('a stream stays open after harmless frames');
    return seen.map(({ opcode, payload }) => `${opcode} ${payload.toString().slice(0, 200)}`).join('\n');
  }
}

const shown = ({ status, text }: WireReply): string => `    ${status} ${text.slice(0, 500)}`;

/** A text that repeats a hundred times and more. */
const REPEATED = /([\s\S]{1,40}?)\1{100,}/g;
const shortened = (all: string, piece: string): string => `${piece}<${all.length / piece.length} times>`;

/** The bytes behind the head of a reply. */
const afterHead = (received: Buffer): Buffer => received.subarray(received.indexOf('\r\n\r\n') + 4);

function judgeFrame(text: string, found: (check: string) => void): void {
  try {
    checkFrame(text);
  } catch (error) {
    found(`each frame is documented: ${(error as Error).message.slice(0, 300)}`);
  }
}
