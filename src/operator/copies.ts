/** Shows the copies of the engine, and changes which of them count and which one is the primary. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Act } from '../domain/act.ts';
import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import { compareHistory, type SeenServer } from '../engine/index.ts';
import { type CopiesRow, isAheadOf, type ReadCopiesRow } from '../ledger/index.ts';
import { column, formatCounted, renderFacts, renderTable } from '../terminal/table.ts';
import { type ActOptions, actOf } from './act-options.ts';
import type { Noun } from './operation.ts';
import type { OperatorServices } from './services.ts';
import { type CommandResult, shortResult, type Work, type WorkingVerb } from './verb.ts';

/** Longest wait for settlement to carry out a change of the row. */
const CARRIED_OUT_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 200;

type Seen = ReadonlyMap<string, SeenServer | undefined>;

const withRow =
  (work: (row: ReadCopiesRow, seen: Seen, services: OperatorServices) => Promise<CommandResult>): Work =>
  async (services) => {
    const seen = await look(services);
    const row = await services.ledger.copies.read(answersOf(seen));
    if (row === undefined) throw refused('NO_COPIES', 'no copies have begun yet: start settlement first');
    return work(row, seen, services);
  };

interface ConfirmOptions {
  confirm?: string;
}

const VERBS: readonly WorkingVerb[] = [
  {
    verb: 'show',
    isDefault: true,
    describe: (command) => command.description('show the primary, the copies, and how far each is'),
    work: () => withRow(async (row, seen) => shownCopies(row, seen)),
  },
  {
    verb: 'name <server>',
    describe: (command) =>
      command.description('make another copy the primary; orders wait for some seconds, and none is lost'),
    work: (server: string) => withRow((row, seen, services) => name(server, row, seen, services)),
  },
  {
    verb: 'drop <server>',
    describe: (command) =>
      command.description('answer without a copy that is silent, or that REDIS_URL no longer names'),
    work: (server: string) => withRow((row, seen, services) => drop(server, row, seen, services)),
  },
  {
    verb: 'force <server>',
    isAct: true,
    needsReason: true,
    describe: (command) =>
      command
        .description('make a server the only copy, although it may lack answered orders')
        .option('--confirm <server>', 'the name of the server again'),
    work: (server: string, { confirm, ...options }: ConfirmOptions & ActOptions) =>
      withRow((row, seen, services) => force({ server, confirm, act: actOf(options) }, row, seen, services)),
  },
  {
    verb: 'adopt',
    describe: (command) =>
      command
        .description('take the primary from the servers, after Postgres was put back to an earlier moment')
        .option('--confirm <server>', 'the primary to take, although not all copies answer'),
    work:
      ({ confirm }: ConfirmOptions) =>
      async (services) =>
        adopt(confirm, await look(services), services),
  },
];

export const COPIES: Noun = {
  name: 'copies',
  description: 'show and change the copies of the engine',
  parts: VERBS,
};

const refused = (code: string, message: string): OperatorRefusal => new OperatorRefusal(code, message);

async function look({ copies }: OperatorServices): Promise<Seen> {
  if (copies === undefined) throw refused('NO_COPIES', 'REDIS_URL names no copies (redis+copies://)');
  return copies();
}

/** A server that answers. */
interface Answer extends SeenServer {
  readonly server: string;
}

const answersOf = (seen: Seen): Answer[] =>
  [...seen].flatMap(([server, one]) => (one === undefined ? [] : [{ server, ...one }]));

const latestVersion = (row: CopiesRow | undefined, answers: readonly Answer[]): number =>
  Math.max(row?.version ?? 0, ...answers.map(({ version }) => version));

/** @throws OperatorRefusal where the row is of an earlier moment than the servers */
function checkRow(row: ReadCopiesRow, seen: Seen): void {
  if (answersOf(seen).some((server) => isAheadOf(row, server)))
    throw refused('POSTGRES_OLDER', "Postgres is older than the engine's copies: run 'copies adopt' first");
}

function roleOf(name: string, { server, members, joining }: CopiesRow, seen: SeenServer | undefined): string {
  if (seen === undefined) return 'away';
  if (name === server) return seen.isPrimary ? 'primary' : 'named';
  if (members.includes(name)) return 'copy';
  return joining.includes(name) ? 'joining' : 'none';
}

function shownCopies(row: CopiesRow, seen: Seen): CommandResult {
  const newest = seen.get(row.server)?.sequence;
  const names = new Set([...seen.keys(), ...row.members]);
  const servers = [...names].map((server) => {
    const found = seen.get(server);
    const lagEvents = found === undefined || newest === undefined ? null : newest - found.sequence;
    return { server, role: roleOf(server, row, found), offset: found?.offset ?? null, lagEvents };
  });
  const { version, members, joining, namedAt } = row;
  const lastFailover = namedAt?.toISOString() ?? null;
  const counted = (value: number | null): string => (value === null ? '' : formatCounted(value));
  return {
    document: { primary: row.server, version, members, joining, servers, lastFailover },
    text: (paint) =>
      `${renderFacts(
        [
          ['primary', row.server],
          ['copies', `${members.length} of ${names.size}, version ${version}`],
          ['named', lastFailover ?? 'never'],
        ],
        paint,
      )}\n${renderTable(
        [column('server'), column('role'), column('offset', 'right'), column('lag in events', 'right')],
        servers.map((one) => [one.server, one.role, counted(one.offset), counted(one.lagEvents)]),
        paint,
      )}`,
  };
}

async function name(
  server: string,
  row: ReadCopiesRow,
  seen: Seen,
  { ledger }: OperatorServices,
): Promise<CommandResult> {
  checkRow(row, seen);
  if (server === row.server) return shortResult(`${server} is the primary`, { primary: server });
  if (!row.members.includes(server) || seen.get(server) === undefined)
    throw refused('NO_COPY', `${server} is no copy that answers; 'copies' shows them`);
  if ((await ledger.copies.name(row, server, null)) === undefined)
    throw refused('COPIES_CHANGED', 'the copies changed meanwhile, and nothing was done: try again');
  const untilMs = Date.now() + CARRIED_OUT_WITHIN_MS;
  while (Date.now() < untilMs) {
    const now = await ledger.copies.read();
    if (now !== undefined && now.epoch > row.epoch) {
      if (now.begunOn !== server) throw refused('COPIES_CHANGED', `${now.begunOn} is the primary by now`);
      return shortResult(`${server} is the primary, in epoch ${now.epoch}`, {
        primary: server,
        epoch: now.epoch,
      });
    }
    await sleep(LOOK_EVERY_MS);
  }
  throw refused(
    'NOT_YET_PRIMARY',
    `${server} is named, and no epoch has begun on it yet: does settlement run?`,
  );
}

/** A primary that still names a dropped copy could not go on alone, by a plain `redis://` address. */
async function untilPrimaryKnows({ server, version }: CopiesRow, services: OperatorServices): Promise<void> {
  const untilMs = Date.now() + CARRIED_OUT_WITHIN_MS;
  for (;;) {
    const primary = (await look(services)).get(server);
    // A primary that is away is told when it is back.
    if (primary === undefined || primary.version >= version) return;
    if (Date.now() >= untilMs)
      throw refused(
        'NOT_YET_KNOWN',
        `the copy is dropped, and the primary ${server} does not know it yet: does settlement run?`,
      );
    await sleep(LOOK_EVERY_MS);
  }
}

async function drop(
  server: string,
  row: ReadCopiesRow,
  seen: Seen,
  services: OperatorServices,
): Promise<CommandResult> {
  checkRow(row, seen);
  if (server === row.server) throw refused('IS_PRIMARY', `${server} is the primary: name another one first`);
  if (seen.get(server) !== undefined)
    throw refused(
      'WOULD_JOIN_AGAIN',
      `${server} answers and would join again: stop it, or leave it out of REDIS_URL`,
    );
  if (!row.members.includes(server) && !row.joining.includes(server))
    throw refused('NO_COPY', `${server} is no copy; 'copies' shows them`);
  // It is given up, so it is no candidate either.
  const left = await services.ledger.copies.leave(row, server, 0);
  if (left === undefined)
    throw refused('COPIES_CHANGED', 'the copies changed meanwhile, and nothing was done: try again');
  await untilPrimaryKnows(left, services);
  return shortResult(`${server} is no copy any more`, { members: left.members });
}

interface Forcing {
  readonly server: string;
  readonly confirm: string | undefined;
  readonly act: Act;
}

async function force(
  { server, confirm, act }: Forcing,
  row: CopiesRow,
  seen: Seen,
  services: OperatorServices,
): Promise<CommandResult> {
  const { ledger } = services;
  const found = seen.get(server);
  if (found === undefined || found.epoch === 0)
    throw refused('NO_COPY', `${server} does not answer, or has no engine`);
  const settled = await ledger.settlement.cursor();
  const behind = Math.max(0, settled.sequence - found.sequence);
  const epochs = row.epoch > found.epoch ? `epochs ${found.epoch + 1} to ${row.epoch}` : `epoch ${row.epoch}`;
  const loss = row.members.includes(server)
    ? 'it is a copy, so it has every answered order'
    : `answered orders of ${epochs} after event ${found.sequence} may be lost` +
      (behind > 0 ? `; Postgres has ${behind} later events, so the engine will not open on it` : '');
  if (confirm !== server)
    throw refused(
      'CONFIRM',
      `${server} becomes the only copy: ${loss}. Repeat the command with --confirm ${server}`,
    );
  const answers = answersOf(seen);
  const version = latestVersion(row, answers);
  await ledger.copies.reset({ ...found, server, version }, [found, ...answers]);
  const isNoted = await noteForced(server, row.server, act, services);
  const untold = isNoted
    ? ''
    : `. No engine leads on it yet, so no act tells that ${act.by} forced it: keep the reason`;
  return shortResult(`${server} is the only copy: ${loss}${untold}`, { primary: server, loss, isNoted });
}

/**
 * Notes that a server was forced once it leads alone: an earlier act could be among the events that are lost.
 * @returns false if it does not lead in time
 */
async function noteForced(
  server: string,
  before: string,
  act: Act,
  services: OperatorServices,
): Promise<boolean> {
  const untilMs = Date.now() + CARRIED_OUT_WITHIN_MS;
  while (Date.now() < untilMs) {
    const primaries = answersOf(await look(services)).filter(({ isPrimary }) => isPrimary);
    if (primaries.every((one) => one.server === server) && services.engine.lifecycle.isOpen())
      try {
        await services.engine.acts.note(
          { name: 'copies force', subject: server, before, after: server },
          act,
        );
        return true;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
      }
    await sleep(LOOK_EVERY_MS);
  }
  return false;
}

/**
 * Returns the server that has most, the primary among equals. Servers with lists that Postgres lacks and those without
 * may have gone on apart. An answer needs several servers, so the larger part is the one that may have answered.
 */
function bestOf(answers: readonly Answer[], ahead: readonly Answer[]): Answer {
  const others = answers.filter((one) => one.epoch > 0 && !ahead.includes(one));
  const [best] = [...(others.length > ahead.length ? others : ahead)].sort(
    (one, other) => compareHistory(other, one) || Number(other.isPrimary) - Number(one.isPrimary),
  );
  return best!;
}

/** Returns why a server may lack what another one has; undefined where it cannot. */
function whyConfirm(best: Answer, answers: readonly Answer[], ahead: readonly Answer[]): string | undefined {
  const listed = new Set([best, ...ahead].flatMap(({ names }) => names));
  const silent = [...listed].filter((name) => !answers.some(({ server }) => server === name));
  if (silent.length > 0)
    return `${silent.join(', ')} does not answer, and may know more than ${best.server}: start it, or`;
  // A restored Postgres may have begun epochs on one server while another one that had gone on was away.
  const isAhead = ahead.includes(best);
  const others = answers.filter((one) => {
    if (one.epoch === best.epoch) return one.begunAs !== best.begunAs;
    return one.epoch > best.epoch || (one.epoch > 0 && !isAhead && ahead.includes(one));
  });
  if (others.length === 0) return undefined;
  const names = others.map(({ server }) => server).join(', ');
  return `${names} may have answered orders that ${best.server} lacks, and they would be lost:`;
}

export async function adopt(
  confirm: string | undefined,
  seen: Seen,
  { ledger }: Pick<OperatorServices, 'ledger'>,
): Promise<CommandResult> {
  const answers = answersOf(seen);
  const row = await ledger.copies.read(answers);
  if (!answers.some((one) => one.version > 0)) throw refused('NO_COPIES', 'no server has a list of copies');
  const ahead = row === undefined ? answers : answers.filter((one) => isAheadOf(row, one));
  if (row !== undefined && ahead.length === 0)
    return shortResult('Postgres knows the latest list of the servers', { primary: row.server });
  const best = bestOf(answers, ahead);
  const { server } = best;
  const doubt = whyConfirm(best, answers, ahead);
  if (doubt !== undefined && confirm !== server)
    throw refused('CONFIRM', `${doubt} repeat the command with --confirm ${server}`);
  const version = latestVersion(row, answers);
  await ledger.copies.reset({ ...best, version }, [best, ...answers]);
  return shortResult(`${server} is the primary; the other copies join again`, { primary: server });
}
