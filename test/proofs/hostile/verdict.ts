/** Judges each reply, and reach, memory, logs and the ledger at the end of a run. */

import { ALL_ERRORS, ERRORS, type ErrorCode, type OperatorCode } from '../../../src/domain/errors.ts';
import { checkReply, type Node, schemasOf } from '../../support/contract.ts';
import type { Findings } from './report.ts';
import { looksSecret } from './secrets.ts';
import type { Memory, Scene, Watched } from './target.ts';
import type { WireReply } from './wire.ts';

type AnyCode = ErrorCode | OperatorCode;

/** A request, as far as the judgement of its reply needs it. */
export interface Asked {
  readonly method: string;
  /** Path and query as sent; undefined if the message has no path that can be judged. */
  readonly path?: string | undefined;
  /** Name of the operation that it aims at, if that is counted. */
  readonly operation?: string | undefined;
  /** Tells how the request can be sent again. */
  readonly again: () => string;
}

/** The framing of a message is refused with these, before any route is known. The connection ends. */
const OF_THE_FRAMING: readonly AnyCode[] = ['BAD_REQUEST', 'EXPRESS_ERR_BODY_TOO_LARGE'];
/** Statuses of replies that the server sends before any route. A reply to HEAD has no body that names its code. */
const BEFORE_ROUTES: readonly number[] = Object.values(ERRORS)
  .filter(({ producer }) => producer === 'the server, before any route')
  .map(({ status }) => status);
const SESSION_ROUTES = ['/v1/auth/verify', '/api/auth/verify'];
const MAX_SHOWN = 300;
/** Two reports of finance are made at once, and a third is refused. */
const REPORTS_BUSY = 'other reports are under way';

export class Judge {
  /** Number of replies by status, and by operation. */
  readonly byStatus = new Map<number, number>();
  readonly byOperation = new Map<string, Map<number, number>>();
  readonly #findings: Findings;
  readonly #isError: (body: unknown) => boolean;

  constructor(document: Node, findings: Findings) {
    this.#findings = findings;
    const schemaOf = schemasOf(document);
    const { Error: plain, UnexpectedError: unexpected } = document.components.schemas;
    this.#isError = (body) => schemaOf(plain)(body) === true || schemaOf(unexpected)(body) === true;
  }

  reply(asked: Asked, reply: WireReply): void {
    const { method, again } = asked;
    const { status, headers, text } = reply;
    this.#count(asked.operation, status);
    const found = (check: string, what: string): void => {
      const shown = `${again()}\n    answered ${status}: ${text.slice(0, MAX_SHOWN)}`;
      this.#findings.add(check, what, shown);
    };
    const aim = asked.operation ?? method;
    const error = status >= 400 && method !== 'HEAD' ? this.#errorOf(reply) : undefined;
    const code = typeof error === 'object' ? error.code : undefined;
    if (status >= 500 && code !== 'OPERATIONAL_PAUSED' && !text.includes(REPORTS_BUSY))
      found('no answer is 5xx', `${aim}: ${status} ${code ?? ''}`);
    if (typeof error === 'string') found('errors have the documented shape', `${aim}: ${status} ${error}`);
    if (headers['x-request-id'] === undefined) found('each reply has its request id', `${aim}: ${status}`);
    const isOfTheServer =
      code === undefined
        ? method === 'HEAD' && BEFORE_ROUTES.includes(status)
        : isBeforeRoutes(code, headers);
    if (!isOfTheServer && asked.path !== undefined) {
      const undocumented = this.#undocumented(method, asked.path, reply);
      if (undocumented !== undefined) found('each reply is documented', `${aim}: ${undocumented}`);
    }
    const isSession = status === 200 && SESSION_ROUTES.some((route) => asked.path?.startsWith(route));
    // The replacement of a deprecated path names the path that was asked.
    const { link: _link, ...others } = headers;
    if (!isSession && looksSecret(`${text}\n${Object.values(others).join('\n')}`))
      found('no reply holds a token or a signature', aim);
  }

  /** Judges a reply of a login, which other parts of the run count. */
  login(path: string, reply: WireReply): void {
    this.reply({ method: 'POST', path, operation: `POST ${path}`, again: () => 'a login' }, reply);
  }

  #count(operation: string | undefined, status: number): void {
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    if (operation === undefined) return;
    let statuses = this.byOperation.get(operation);
    if (statuses === undefined) {
      statuses = new Map();
      this.byOperation.set(operation, statuses);
    }
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  /** @returns the error, or why it has not the documented shape */
  #errorOf({ status, headers, text }: WireReply): { readonly code: AnyCode } | string {
    if (headers['content-type'] !== 'application/json; charset=utf-8')
      // The page of an unknown market is a document.
      return status === 404 && headers['content-type'] === 'text/html; charset=utf-8'
        ? { code: 'NOT_FOUND' }
        : `has the type ${headers['content-type']}`;
    let body: { readonly code: AnyCode };
    try {
      body = JSON.parse(text);
    } catch {
      return 'is no JSON';
    }
    if (status === 503 && 'ready' in body) return { code: 'SERVICE_UNAVAILABLE' };
    if (!this.#isError(body)) return 'has another shape';
    return ALL_ERRORS[body.code].status === status ? body : `has the code ${body.code}`;
  }

  #undocumented(method: string, path: string, { status, headers, text }: WireReply): string | undefined {
    try {
      checkReply({ method, path: routed(path), status, headers, text });
      return undefined;
    } catch (error) {
      return `${status} ${(error as Error).message.split('\n')[0]!.replace(/^.* answered \d+: /, '')}`;
    }
  }
}

const isBeforeRoutes = (code: AnyCode, headers: WireReply['headers']): boolean =>
  ALL_ERRORS[code].producer === 'the server, before any route' ||
  (OF_THE_FRAMING.includes(code) && headers.connection?.toLowerCase() === 'close');

/** The path as the routes see it: without scheme, host and fragment. */
const routed = (path: string): string => path.replace(/^[a-z]+:\/\/[^/]*/i, '').replace(/#.*$/s, '') || '/';

/** MiB that a process may hold more at the end than after the first third of the rounds. */
const MAX_GROWTH_MIB = 12;
/** Sockets that may differ at two moments: connections of ordinary clients and to the servers. */
const MAX_MORE_SOCKETS = 16;

/** The least share of the requests to an operation that must be answered with 200 or 201. */
const LEAST_GOOD_SHARE = 0.01;

/** Requests to an operation. */
export interface Reach {
  readonly operation: string;
  /** Answered with 200 or 201. */
  readonly good: number;
  readonly refused: number;
}

export const reachOf = ({ operations, judge }: Pick<Scene, 'operations' | 'judge'>): Reach[] =>
  operations.map(({ name }) => {
    const statuses = [...(judge.byOperation.get(name) ?? [])];
    const count = (counts: (status: number) => boolean): number =>
      statuses.filter(([status]) => counts(status)).reduce((sum, [, replies]) => sum + replies, 0);
    return {
      operation: name,
      good: count((status) => status === 200 || status === 201),
      refused: count((status) => status >= 400),
    };
  });

/** False for a parameter that takes every text. */
const isNarrow = ({ isRequired, schema }: Scene['operations'][number]['parameters'][number]): boolean =>
  isRequired ||
  Object.keys(schema).some((key) => key !== 'type' && key !== 'description') ||
  schema.type !== 'string';

/**
 * A run that hardly reaches a handler, or none of its refusals, proves nothing.
 * @param hasTerms false if there are no terms to accept, so that the route refuses each version
 */
export function judgeReach(scene: Scene, hasTerms: boolean): void {
  for (const [at, { good, refused }] of reachOf(scene).entries()) {
    const { name, parameters, body, needsSession } = scene.operations[at]!;
    const found = (what: string): void =>
      scene.findings.add('each operation is reached', `${name}: ${what}`, `${good} good, ${refused} refused`);
    const count = good + refused;
    if (count < scene.leastJudged) continue;
    const isFew = good === 0 || good < count * LEAST_GOOD_SHARE;
    if (isFew && (hasTerms || !name.endsWith('/terms'))) found('hardly any 200 or 201');
    const refuses = parameters.some(isNarrow) || body !== undefined || needsSession;
    if (refuses && refused === 0) found('no refusal');
  }
}

/** @param measured memory of each process after each round */
export function judgeMemory({ findings }: Scene, measured: ReadonlyMap<Watched, readonly Memory[]>): void {
  for (const [{ slot }, rounds] of measured) {
    const warm = rounds[Math.floor(rounds.length / 3)]!;
    const last = rounds.at(-1)!;
    const shown = JSON.stringify(rounds);
    if (rounds.some(({ pid }) => pid !== warm.pid)) findings.add('no process ends', slot.name, shown);
    if (last.heldMib - warm.heldMib > MAX_GROWTH_MIB) findings.add('memory stays flat', slot.name, shown);
    if (last.sockets - warm.sockets > MAX_MORE_SOCKETS) findings.add('sockets are closed', slot.name, shown);
  }
}

/** @param before characters of each log that are not judged */
export function judgeErrors(
  { target: { cluster }, findings }: Pick<Scene, 'target' | 'findings'>,
  before: Scene['logsBefore'],
): void {
  for (const slot of cluster.slots)
    for (const line of cluster.processes.log(slot).slice(before.get(slot)).split('\n'))
      if (/"level":(?:[56]0|"error"|"fatal")/.test(line))
        findings.add('no process logs an error', slot.name, line);
}

/** @returns bytes of all logs */
export function judgeLogs({ target, secrets, findings, logsBefore }: Scene): number {
  const { cluster, serverLogs } = target;
  const logs = new Map(serverLogs());
  for (const slot of cluster.slots) logs.set(slot.name, cluster.processes.log(slot));
  judgeErrors({ target, findings }, logsBefore);
  let bytes = 0;
  for (const [name, log] of logs) {
    bytes += log.length;
    for (const line of secrets.linesWithSecrets(log))
      findings.add('no log holds a token, a signature or a key', name, line);
  }
  return bytes;
}

export async function judgeLedger({ target: { cluster }, findings }: Scene): Promise<void> {
  try {
    await cluster.untilSettled();
    await cluster.operate('ledger', 'reconcile');
  } catch (error) {
    findings.add('the ledger reconciles', 'afterwards', String(error));
  }
}
