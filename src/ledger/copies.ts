/**
 * The row of the engine's copies: Postgres alone decides which server is the primary and which ones count as copies.
 * Every change names the version that it changes, and adds 1 to it. Its commit waits for the disk, as of every session: a
 * copy that counts again after it left may lack answered orders.
 */

import type { BegunEpoch } from '../domain/event.ts';
import type { Pools } from './pools.ts';
import { askOnce, prepared } from './queries.ts';

export interface CopiesRow {
  /** Name of the primary. */
  readonly server: string;
  /** Run id under which a keeper found it fit to lead; null before that. No epoch begins under another one. */
  readonly runId: string | null;
  readonly version: number;
  /** Random text that tells this version from another one of the same number, after Postgres was put back. */
  readonly mark: string;
  /** The last epoch that began; 0 before the first. */
  readonly epoch: number;
  /** Name of the server of that epoch. */
  readonly begunOn: string;
  /** Names of the servers that have every answered order. */
  readonly members: readonly string[];
  /** Names of the servers that answers wait for already, and that may not be named yet. */
  readonly joining: readonly string[];
  /** Names of the servers that left as too few remained for an answer. They have every answered order too. */
  readonly former: readonly string[];
  /** Time of the last naming; null before the first. */
  readonly namedAt: Date | null;
}

/** A list of copies as a server has it. */
interface SeenList {
  /** 0 without a list. */
  readonly version: number;
  readonly mark: string;
}

export interface ReadCopiesRow extends CopiesRow {
  /** Marks of the lists asked about that Postgres never had, or has no more: it was put back to before them. */
  readonly foreign: readonly string[];
}

/** Returns true for a server with a list or an epoch that Postgres lacks, because it was put back. */
export const isAheadOf = (
  { foreign, epoch }: ReadCopiesRow,
  seen: Pick<SeenList, 'mark'> & { readonly epoch: number },
): boolean => foreign.includes(seen.mark) || seen.epoch > epoch;

const COLUMNS = `server, run_id as "runId", version, mark, epoch, begun_on as "begunOn", members, joining, former,
  named_at as "namedAt"`;

/** Lists from before the first one that is kept are of an earlier moment, or an operator has replaced them. */
const READ = prepared(`
  select ${COLUMNS}, array(
    select seen.mark from unnest($1::integer[], $2::text[]) as seen (version, mark)
    where seen.version >= (select min(version) from public.engine_lists)
      and not exists (
        select from public.engine_lists as kept where kept.version = seen.version and kept.mark = seen.mark
      )
  ) as foreign
  from public.engine_copies where shard = 0`);

/** Versions that are kept to compare lists of servers with. */
const KEPT_LISTS = 10_000;

/** Changes the row to its next version. */
export const NEXT_VERSION = `update public.engine_copies set version = version + 1, mark = gen_random_uuid()`;
/** Keeps the version that a statement gives the row. */
export const keepList = (changed: string): string =>
  `insert into public.engine_lists (version, mark) select version, mark from ${changed}`;

/** An engine that had no copies goes on with its last epoch, on the same server. */
const BEGIN = prepared(`
  with begun as (
    insert into public.engine_copies (server, members, epoch, begun_on)
    select $1::text, array[$1::text], greatest($2, (select max(epoch) from public.engine_epochs)), $1
    on conflict do nothing returning version, mark
  )
  ${keepList('begun')}`);

const change = (changes: string, where: string) =>
  prepared(`
    with changed as (
      ${NEXT_VERSION}, ${changes}
      where shard = 0 and version = $1 and ${where} returning *
    ),
    kept as (${keepList('changed')})
    select ${COLUMNS} from changed`);

const NAME = change(
  `server = $2, run_id = $3, joining = '{}', former = array_remove(former, $2),
    members = case when $2 = any (members) then members else members || array[$2::text] end,
    named_at = case when server = $2 then named_at else clock_timestamp() end`,
  `$2 = any (members || former) and (server <> $2 or run_id is distinct from $3)`,
);
const LEAVE = change(
  `members = array_remove(members, $2), joining = array_remove(joining, $2),
    former = case when $2 = any (members) and cardinality(members) <= $3 then former || array[$2::text]
      else former end`,
  `server <> $2 and $2 = any (members || joining)`,
);
const START_JOINING = change(`joining = array[$2]`, `joining = '{}' and not $2 = any (members)`);
const JOIN = change(`members = members || joining, joining = '{}'`, `joining = array[$2]`);
const ADMIT = change(
  `members = members || array[$2::text],
    former = case when cardinality(members) + 1 < $3 then array_remove(former, $2) else '{}' end`,
  `joining = '{}' and not $2 = any (members) and cardinality(members) < $3`,
);
const FORGET_FORMER = change(`former = '{}'`, `former <> '{}' and server = $2`);
/** Servers that join and leave without end fill no disk. */
const FORGET_LISTS = prepared(`delete from public.engine_lists where version <= $1 - ${KEPT_LISTS}`);

/** Epochs that Postgres lacks, because it was put back, are noted as the servers have them: none begins again. */
const RESET = prepared(`
  with seen as (
    select distinct on (epoch) epoch, server
    from unnest($3::integer[], $4::text[]) with ordinality as one (epoch, server, place)
    where epoch > coalesce((select max(epoch) from public.engine_epochs), 0)
    order by epoch, place
  ),
  added as (insert into public.engine_epochs (epoch, server) select epoch, server from seen),
  forgotten as (delete from public.engine_lists),
  reset as (
    insert into public.engine_copies (server, version, epoch, begun_on, run_id, members, named_at)
    select $1, $2 + 1, greatest((select max(epoch) from seen), (select max(epoch) from public.engine_epochs), 0), $1,
      $5, array[$1::text], clock_timestamp()
    on conflict (shard) do update set server = excluded.server, version = excluded.version, mark = excluded.mark,
      epoch = excluded.epoch, begun_on = excluded.begun_on, run_id = excluded.run_id, members = excluded.members,
      joining = '{}', former = '{}', named_at = excluded.named_at
    returning version, mark
  )
  ${keepList('reset')}`);

/**
 * Notes an epoch and its server at once. The server of the epoch before stops being a copy: it may have events that
 * nobody was told of. Where too few remain for an answer, it may be named as before.
 */
const NOTE = prepared(`
  with begun as (
    ${NEXT_VERSION}, epoch = $1, begun_on = server, joining = '{}',
      members = remaining,
      former = case
        when cardinality(remaining) >= $5 then '{}'
        when begun_on = any (remaining) then former
        else former || begun_on
      end
    from (
      select case when begun_on = server then members else array_remove(members, begun_on) end as remaining
      from public.engine_copies where shard = 0
    ) as after
    where shard = 0 and server = $3 and run_id = $2 and server = any (members) and version = $4 and epoch < $1
      and not exists (select from public.engine_epochs where engine_epochs.epoch >= $1)
    returning version, mark
  ),
  kept as (${keepList('begun')}),
  added as (insert into public.engine_epochs (epoch, server) select $1, $2 from begun returning server)
  select server from added union all select server from public.engine_epochs where epoch = $1`);

interface ResetTo extends Pick<CopiesRow, 'server' | 'version'> {
  readonly runId: string;
}

/** The last epoch that opened on a server. */
interface SeenEpoch {
  /** 0 without an engine. */
  readonly epoch: number;
  /** Run id under which that epoch runs. */
  readonly begunAs: string;
}

export type CopyRegister = ReturnType<typeof copyRegister>;

/** The register of copies. Methods throw `Refusal` SERVICE_UNAVAILABLE when Postgres is unavailable. */
export function copyRegister({ public: pool }: Pick<Pools, 'public'>) {
  const read = async (seen: readonly SeenList[] = []): Promise<ReadCopiesRow | undefined> => {
    const values = [seen.map(({ version }) => version), seen.map(({ mark }) => mark)];
    return (await askOnce<ReadCopiesRow>(pool, READ, values))[0];
  };
  const changed = async (
    statement: ReturnType<typeof change>,
    { version }: Pick<CopiesRow, 'version'>,
    ...values: readonly unknown[]
  ): Promise<CopiesRow | undefined> => (await askOnce<CopiesRow>(pool, statement, [version, ...values]))[0];
  return {
    /** @param seen lists of servers, of which the row tells those that Postgres lacks */
    read,

    /**
     * Begins the row with a server as the only copy, unless there is one.
     * @param epoch the last epoch that the server has
     */
    async begin(server: string, epoch: number): Promise<void> {
      await askOnce(pool, BEGIN, [server, epoch]);
    },

    /**
     * Notes that an epoch began on a server, whose list has the version of the row.
     * @param least number of copies that an answer needs
     * @returns the run id under which the epoch is noted; undefined where the row does not allow the epoch
     */
    async note(begun: BegunEpoch, { server, version }: Pick<CopiesRow, 'server' | 'version'>, least: number) {
      const values = [begun.epoch, begun.server, server, version, least];
      return (await askOnce<{ server: string }>(pool, NOTE, values))[0]?.server;
    },

    /**
     * Makes a server the only copy, whatever the row says. It is for operators, who know what may be lost. Later lists
     * are compared with this one and those that follow it.
     * @param to.version the highest version of the row and of any server
     * @param seen epochs of all servers that answer, that of the server first
     */
    async reset({ server, version, runId }: ResetTo, seen: readonly SeenEpoch[]): Promise<void> {
      const epochs = [seen.map(({ epoch }) => epoch), seen.map(({ begunAs }) => begunAs)];
      await askOnce(pool, RESET, [server, version, ...epochs, runId]);
    },

    // Each of these returns the changed row, or undefined when the row is another one by now.

    /**
     * Names a server that has every answered order as the primary.
     * @param runId under which it was found fit to lead; null leaves that to the keepers
     */
    name: (row: CopiesRow, server: string, runId: string | null) => changed(NAME, row, server, runId),
    /**
     * Answers stop waiting for a server after this.
     * @param least number of copies that an answer needs: a server that leaves fewer stays a candidate
     */
    leave: (row: CopiesRow, server: string, least: number) => changed(LEAVE, row, server, least),
    /** Answers begin to wait for a server after this. */
    async startJoining(row: CopiesRow, server: string) {
      await askOnce(pool, FORGET_LISTS, [row.version]);
      return changed(START_JOINING, row, server);
    },
    /** Makes the joining server a member, after a whole round that waited for it. */
    join: (row: CopiesRow, server: string) => changed(JOIN, row, server),
    /** Makes a server a member that has everything, while there are too few for an answer. */
    admit: (row: CopiesRow, server: string, least: number) => changed(ADMIT, row, server, least),
    /** Fewer copies than before may answer from now on. */
    forgetFormer: (row: CopiesRow) => changed(FORGET_FORMER, row, row.server),
  };
}
